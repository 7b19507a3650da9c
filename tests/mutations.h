// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Damaged files, the same ones in each run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "tenon/runtime/error.h"

namespace tenon::test {

// One to four bytes are others, or the end is cut off, or both.
inline std::string damaged(std::string bytes, std::mt19937& draw) {
  const uint32_t kind = draw() % 4;
  if (kind != 0) {
    for (uint32_t k = draw() % 4 + 1; k > 0; --k)
      bytes[draw() % bytes.size()] ^= static_cast<char>(draw() % 255 + 1);
  }
  if (kind <= 1) bytes.resize(draw() % bytes.size());
  return bytes;
}

struct Readings {
  int read = 0, refused = 0;
};

// `read` either takes such a file or throws an Error; anything else goes up to the test.
inline Readings read_damaged(const std::string& whole, int times,
                             const std::function<void(const std::string&)>& read) {
  std::mt19937 draw(17);
  Readings out;
  for (int i = 0; i < times; ++i) {
    const std::string bytes = damaged(whole, draw);
    try {
      read(bytes);
      ++out.read;
    } catch (const Error&) {
      ++out.refused;
    }
  }
  return out;
}

}  // namespace tenon::test
