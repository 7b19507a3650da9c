// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Transforms along one dimension of a row-major tensor, which is seen as [outer, n, inner]. All
// results are multiplied by `scale`.
#pragma once

#include <cstdint>

#include "tenon/sdk/complex.h"

namespace tenon::cpu::fft {

struct Shape {
  int64_t outer, n, inner;
};

// T is float or double. `in` may be `out`.
template <class T>
void complex_pass(const sdk::complex<T>* in, sdk::complex<T>* out, const Shape& s, bool forward,
                  double scale);
// To n / 2 + 1 numbers, or to all of them.
template <class T>
void real_to_complex(const T* in, sdk::complex<T>* out, const Shape& s, bool half, double scale);
// From n / 2 + 1 numbers, of a line that has `given` of them.
template <class T>
void complex_to_real(const sdk::complex<T>* in, T* out, const Shape& s, int64_t given,
                     double scale);

}  // namespace tenon::cpu::fft
