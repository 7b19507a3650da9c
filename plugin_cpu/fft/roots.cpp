// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/fft/roots.h"

#include <cmath>

namespace tenon::cpu::fft {

Number root(int64_t k, int64_t n, bool forward) {
  constexpr double kTurn = 6.283185307179586476925;
  const double angle = kTurn * (static_cast<double>(k) / static_cast<double>(n));
  return {std::cos(angle), forward ? -std::sin(angle) : std::sin(angle)};
}

}  // namespace tenon::cpu::fft
