// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "damage.h"

#include <algorithm>
#include <cstring>

namespace tenon::fuzz {
namespace {

void randomize(Random& random, std::string& s, std::size_t at, std::size_t n) {
  for (std::size_t i = at; i < std::min(at + n, s.size()); ++i)
    s[i] = static_cast<char>(random.below(256));
}

void flip_bits(Random& random, std::string& s) {
  for (uint64_t n = 1 + random.below(8); n > 0; --n)
    s[random.below(s.size())] ^= static_cast<char>(1 << random.below(8));
}

void swap_blocks(Random& random, std::string& s) {
  const std::size_t n = std::min<std::size_t>(std::size_t{8} << random.below(7), s.size() / 2);
  const std::size_t a = random.below(s.size() - n), b = random.below(s.size() - n);
  const std::string kept = s.substr(a, n);
  s.replace(a, n, s.substr(b, n));
  s.replace(b, n, kept);
}

// Addresses, sizes and indices that are wrong by a little pass more checks than random ones.
void move_numbers(Random& random, std::string& s) {
  for (uint64_t n = 1 + random.below(3); n > 0; --n) {
    const std::size_t at = random.below(s.size() / 4 - 1) * 4;
    uint32_t word;
    std::memcpy(&word, s.data() + at, sizeof word);
    word += static_cast<uint32_t>(random.between(-4, 4)) * (random.chance(0.5) ? 1 : 8);
    std::memcpy(s.data() + at, &word, sizeof word);
  }
}

}  // namespace

std::string damaged_library(Random& random, const std::string& good) {
  constexpr std::size_t kHead = 64, kHeader = 56, kHeaders = 9;
  std::string out = good;
  switch (random.below(12)) {
    case 0:
      flip_bits(random, out);
      break;
    case 1:
      out.resize(random.below(out.size()));
      break;
    case 2:
      swap_blocks(random, out);
      break;
    case 3:
      randomize(random, out, 4 + random.below(kHead - 4), 1 + random.below(8));
      break;
    case 4:
      randomize(random, out, kHead + kHeader * random.below(kHeaders), 8 * (1 + random.below(14)));
      break;
    case 5:
      for (int i = 0; i < 64; ++i) randomize(random, out, random.below(out.size()), 1);
      break;
    case 6:
      for (int i = 0; i < 8; ++i) randomize(random, out, random.below(4096), 1);
      break;
    case 7:
      std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(random.below(out.size() - 64)), 64,
                  '\0');
      break;
    case 8:  // an ELF file up to somewhere, then anything
      randomize(random, out, random.chance(0.5) ? kHead : random.below(out.size()),
                random.below(out.size()));
      break;
    case 9:
    case 10:
      move_numbers(random, out);
      break;
    default:
      randomize(random, out, random.below(out.size()), 1 + random.below(256));
  }
  return out;
}

std::string damaged_manifest(Random& random, const std::string& good) {
  static const std::vector<std::string> tokens = {"1e400",       "-1",
                                                  "99999999999", "2147483648",
                                                  "1.5",         "true",
                                                  "null",        "[]",
                                                  "{}",          "\"\"",
                                                  "\"/\"",       "\"",
                                                  "{\"a\":",     "[[[[[[[[",
                                                  ",",           "}",
                                                  ":",           "\\u0000",
                                                  "\xff",        "\"../x.so\"",
                                                  "0x10",        "-0",
                                                  "\"\\ud800\"", "//",
                                                  "NaN",         "1e-5",
                                                  "\n",          "\"name\": \"x\",",
                                                  "[1,2",        "\"digest\": \"\","};
  std::string out = good;
  for (uint64_t n = 1 + random.below(4); n > 0 && !out.empty(); --n) {
    const std::size_t at = random.below(out.size()),
                      length = random.below(std::min<std::size_t>(out.size() - at, 40) + 1);
    switch (random.below(6)) {
      case 0:
        flip_bits(random, out);
        break;
      case 1:
        out.erase(at, length);
        break;
      case 2:
        out.insert(at, out.substr(random.below(out.size()), length));
        break;
      case 3:
        out.replace(at, length, random.pick(tokens));
        break;
      case 4:
        if (const std::size_t colon = out.find(": ", at); colon != std::string::npos) {
          out.replace(colon + 2, out.find_first_of(",\n", colon) - colon - 2, random.pick(tokens));
        }
        break;
      default:
        if (random.chance(0.1))
          out.insert(at,
                     std::string(1 + random.below(5000), random.pick({'[', '{', ' ', '9', 'a'})));
    }
  }
  return out;
}

}  // namespace tenon::fuzz
