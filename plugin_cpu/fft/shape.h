// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tenon::cpu::fft {

// A row-major tensor of which the dimension n is transformed.
struct Shape {
  int64_t outer, n, inner;
};

}  // namespace tenon::cpu::fft
