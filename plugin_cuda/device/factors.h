// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The kernels around the calls of cuSOLVER, of kernels/factors.cu.
#pragma once

#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

// One triangle of square matrices, and zeros.
void copy_triangle(const sdk::Call& call, const sdk::Tensor& out, const sdk::Tensor& self,
                   bool upper);
// out[i] = base + i * bytes
void write_addresses(const sdk::Call& call, void** out, const void* base, int64_t bytes,
                     int64_t count);
// Pivots for rows of [1, rows]; others are reported, and exchange nothing.
void check_pivots(const sdk::Call& call, const int32_t* from, int32_t* to, int64_t n, int64_t k,
                  int64_t rows);
void check_pivots(const sdk::Call& call, const int32_t* from, int64_t* to, int64_t n, int64_t k,
                  int64_t rows);
// Pivots of LDL factors of n rows, where two equal negative ones in a row are a block of two rows;
// what is neither is reported, and exchanges nothing.
void check_blocks(const sdk::Call& call, const int32_t* from, int64_t* to, int64_t n,
                  int64_t count);
void narrow_pivots(const sdk::Call& call, const int64_t* from, int32_t* to, int64_t n);

}  // namespace tenon::cuda
