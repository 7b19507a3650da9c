// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Transforms of single signals that lie in one piece, within the first caches. Lengths are powers
// of two.
#pragma once

#include <cstdint>

#include "plugin_cpu/fft/shape.h"
#include "tenon/sdk/complex.h"

namespace tenon::cpu::fft {

// Whether this shape is served here.
bool takes_lines(const Shape& s);
// As complex_pass.
template <class T>
void lines_pass(const sdk::complex<T>* in, sdk::complex<T>* out, const Shape& s, bool forward,
                double scale);

}  // namespace tenon::cpu::fft
