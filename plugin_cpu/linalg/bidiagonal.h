// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Q^T A P of a matrix with at least as many rows as columns, upper bidiagonal.
#pragma once

#include <cstdint>

namespace tenon::cpu::linalg {

// The column-major `a` of m rows by n columns becomes the vectors of Q's reflectors: that of column
// j starts at row j, with zeros before. Row j of `right` (n rows of n numbers, `right_ld` apart)
// becomes the vector of P's reflector j, which starts at j + 1. d: n diagonal elements, e: n - 1
// above it; tau_left: n, tau_right: n - 1.
template <class T>
struct Bidiagonal {
  int64_t m, n;
  T* a;
  int64_t ld;
  T* right;
  int64_t right_ld;
  T *d, *e, *tau_left, *tau_right;
};
void to_bidiagonal(const Bidiagonal<float>& b);
void to_bidiagonal(const Bidiagonal<double>& b);

}  // namespace tenon::cpu::linalg
