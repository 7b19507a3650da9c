// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Transforms of several signals side by side, one in each lane of a vector. Lengths are powers of
// two.
#pragma once

#include <cstdint>

#include "plugin_cpu/fft/columns.h"
#include "plugin_cpu/fft/shape.h"
#include "tenon/sdk/complex.h"

namespace tenon::cpu::fft {

// More than n elements, so that the parts do not compete for one place in a cache.
template <class T>
constexpr int64_t lanes_apart(int64_t n) {
  return (n + 1) * kLanes<T>;
}

// Whether this shape is served here: enough lines, or lines that are long enough to be split.
template <class T>
bool takes_lanes(const Shape& s);
// As complex_pass.
template <class T>
void lanes_pass(const sdk::complex<T>* in, sdk::complex<T>* out, const Shape& s, bool forward,
                double scale);

// The forward transform of kLanes signals of n elements, element j of signal l at j * kLanes + l:
// from x to x or y, by way of the other; the address is returned. Imaginary parts are
// lanes_apart(n) behind the real ones. roots[2 k] and [2 k + 1] are the parts of exp(-2 pi i k /
// n).
template <class T>
T* transform_lanes(T* x, T* y, int64_t n, const T* roots);

}  // namespace tenon::cpu::fft
