// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Q^T A Q of a symmetric matrix, tridiagonal.
#pragma once

#include <cstdint>

namespace tenon::cpu::linalg {

// The lower triangle of the column-major `a` is read; each column j < n - 1 becomes the vector of
// reflector j, which starts at row j + 1, with zeros before. Q = H_0 H_1 ... d: n diagonal
// elements, e: n - 1 below it, tau: n - 1.
void to_tridiagonal(int64_t n, float* a, int64_t ld, float* d, float* e, float* tau);
void to_tridiagonal(int64_t n, double* a, int64_t ld, double* d, double* e, double* tau);

}  // namespace tenon::cpu::linalg
