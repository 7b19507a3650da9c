// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace open_spiel {
[[noreturn]] inline void SpielFatalError(const std::string& text) {
  throw std::runtime_error(text);
}
}  // namespace open_spiel

#define SPIEL_CHECK_TRUE(condition) \
  ((condition) ? void() : ::open_spiel::SpielFatalError("failed: " #condition))
#define SPIEL_CHECK_FALSE(condition) SPIEL_CHECK_TRUE(!(condition))
#define SPIEL_CHECK_EQ(a, b) SPIEL_CHECK_TRUE((a) == (b))
#define SPIEL_CHECK_GT(a, b) SPIEL_CHECK_TRUE((a) > (b))
#define SPIEL_CHECK_GE(a, b) SPIEL_CHECK_TRUE((a) >= (b))
#define SPIEL_CHECK_LT(a, b) SPIEL_CHECK_TRUE((a) < (b))
#define SPIEL_CHECK_LE(a, b) SPIEL_CHECK_TRUE((a) <= (b))
