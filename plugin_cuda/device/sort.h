// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// CUB's radix sort; tests/cuda/reference replaces it where kernels are emulated.
#pragma once

#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

struct Pairs {
  uint64_t *keys, *keys_out;
  uint32_t *values, *values_out;
  int64_t n;
};

// Bytes of scratch that sort_pairs() needs for n pairs.
std::size_t sort_scratch(int64_t n);

// Ascending by the lowest `bits` bits of the keys, stable.
void sort_pairs(const sdk::Call& call, const Pairs& pairs, int bits, void* scratch,
                std::size_t scratch_bytes);

}  // namespace tenon::cuda
