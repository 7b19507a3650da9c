// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Conversions of random words to float32.
#pragma once

#include <cstdint>

namespace tenon::cpu {

inline constexpr int64_t kNormalPad = 128;  // elements past n that normal_floats may read and write

// Standard normals 2j and 2j + 1 from words 2j and 2j + 1, within 4 ULP. `words` is 64-byte
// aligned.
void normal_floats(const uint32_t* words, int64_t n, float* out);

// low + u * range, u the upper 24 bits of a word as a fraction. Words are read up to kNormalPad
// past n.
void uniform_floats(const uint32_t* words, int64_t n, float low, float range, float* out);

// 1 where the upper 24 bits of a word are below limit, else 0. Words are read up to kNormalPad past
// n.
void bernoulli_floats(const uint32_t* words, int64_t n, uint32_t limit, float* out);

// keep[i] = the upper 24 bits of words[i] are below limit; out = x * scale there, else 0.
void dropout_floats(const uint32_t* words, const float* x, float* out, uint8_t* keep, int64_t n,
                    uint32_t limit, float scale);

}  // namespace tenon::cpu
