// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The largest singular value of a weight, by power iteration. Private to libtenon.
#pragma once

#include "tenon/nn/module.h"

namespace tenon {
namespace nn {
namespace utils {

// The weight as a matrix whose rows are counted by `dim`.
Tensor weight_matrix(const Tensor& weight, int64_t dim);
// Unit vectors to start from, of a matrix's rows and columns.
std::pair<Tensor, Tensor> random_directions(const Tensor& matrix, double eps);
// Iterates u and v in place, without recording.
void iterate_power(const Tensor& matrix, Tensor& u, Tensor& v, int64_t n, double eps);
// u^T matrix v, recorded in the matrix alone.
Tensor singular_value(const Tensor& matrix, const Tensor& u, const Tensor& v);
// The dimension of outputs: 1 for transposed convolutions, else 0.
int64_t output_dimension(const Module& module);
void check_iterations(int64_t n);

}  // namespace utils
}  // namespace nn
}  // namespace tenon
