// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and vectors of a symmetric tridiagonal matrix, over all threads.
#pragma once

namespace tenon::cpu::linalg {

// d: n diagonal elements, e: n - 1 beside it; both are overwritten. The vectors become the columns
// of the column-major z. Eigenvalue i, counted from the smallest, is d[order[i]], its vector column
// order[i]. The code of LAPACK is returned.
int tridiagonal_eigenvalues(int n, float* d, float* e, float* z, int ld, int* order);
int tridiagonal_eigenvalues(int n, double* d, double* e, double* z, int ld, int* order);

}  // namespace tenon::cpu::linalg
