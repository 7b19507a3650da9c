// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and singular values of one large real matrix over all threads: reduced to condensed
// form here, solved by LAPACK's divide and conquer, and multiplied by the reflectors.
#pragma once

#include <cstdint>

#include "plugin_cpu/linalg/batches.h"

namespace tenon::cpu::linalg {

// Whether the sides are large enough for it, and near enough to each other: of a longer matrix
// LAPACK factors a QR first.
bool is_large(const Shape& s);

// Row-major; `upper`: the triangle of `a` that is read. V: null, or the eigenvectors in columns.
// The code of LAPACK is returned.
template <class T>
int symmetric_eigenvalues(int n, const T* a, bool upper, T* values, T* V);

// Row-major. U: null, or rows by rows if `full`, else by the shorter side; Vh the same.
template <class T>
int singular_values(const Shape& s, const T* a, bool full, T* values, T* U, T* Vh);

}  // namespace tenon::cpu::linalg
