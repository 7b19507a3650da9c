// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The kernels around geev, of kernels/eig.cu. `real` is float32 or float64.
#pragma once

#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

// Matrices of `numbers` real numbers each: one with an element that is not finite is set to zero
// and marked by 1, others by 0.
void blank_not_finite(const sdk::Call& call, void* matrices, sdk::DType real, int64_t numbers,
                      int64_t count, int32_t* marks);
// info[i] = code where marks[i] is set.
void report_marked(const sdk::Call& call, const int32_t* marks, int32_t code, int32_t* info,
                   int64_t count);
// The eigenvectors of real matrices of n rows, of which LAPACK stores a conjugate pair as its real
// and its imaginary part: from columns to rows of complex numbers. The eigenvalue with a positive
// imaginary part is the first of a pair.
void write_eigenvectors(const sdk::Call& call, const void* columns, sdk::DType real,
                        const sdk::Tensor& values, const sdk::Tensor& out, int64_t n);

}  // namespace tenon::cuda
