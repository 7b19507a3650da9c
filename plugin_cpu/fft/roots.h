// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>

namespace tenon::cpu::fft {

using Number = std::complex<double>;

// exp(-2 pi i k / n), or its conjugate.
Number root(int64_t k, int64_t n, bool forward);

}  // namespace tenon::cpu::fft
