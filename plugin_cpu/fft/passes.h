// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Transforms along one dimension of a row-major tensor. All results are multiplied by `scale`.
#pragma once

#include <cstdint>

#include "plugin_cpu/fft/shape.h"
#include "tenon/sdk/complex.h"

namespace tenon::cpu::fft {

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
