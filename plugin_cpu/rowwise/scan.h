// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Scans and searches of dense runs, for the instruction set at hand. The same results, to the bit,
// from each.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// to[i] = in[0] + ... + in[i], in float64: of four neighbors each adds ((0 + 1) + 2) or (0 + 1) +
// (2 + 3) to what is before them.
void running_sum(const float* in, float* to, int64_t n);

// to[0..count) = first + i for each i below n with x[i] != 0, of which there are `count`. Nothing
// after them is written.
void positions_set(const uint8_t* x, int64_t n, int64_t first, int64_t* to, int64_t count);

}  // namespace tenon::cpu
