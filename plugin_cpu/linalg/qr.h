// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// QR factors of one large real matrix, and products with its reflectors, over all threads. Matrices
// are row-major without gaps; results are those of LAPACK's geqrf, orgqr and ormqr.
#pragma once

#include "plugin_cpu/linalg/batches.h"

namespace tenon::cpu::linalg {

// Whether so many reflectors are worth it.
inline bool is_large_qr(int reflectors) { return reflectors >= 128; }

template <class T>
void qr_factor(const Shape& s, const T* a, T* out, T* tau);

// The first columns of H_0 H_1 ... with `count` reflectors, as many as `a` has.
template <class T>
void qr_vectors(const Shape& s, const T* a, const T* tau, int count, T* out);

// Q C, or C Q, or with Q^T.
template <class T>
void qr_multiply(const Shape& s, const T* a, const T* tau, int count, const Shape& c,
                 const T* other, bool left, bool transposed, T* out);

}  // namespace tenon::cpu::linalg
