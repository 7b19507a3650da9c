// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "checksum.h"

#include <array>
#include <cstring>

namespace tenon::serialize::detail {
namespace {

constexpr uint32_t kPolynomial = 0xedb88320;  // bit-reversed
using Tables = std::array<std::array<uint32_t, 256>, 8>;

// tables[k][b]: what byte b does to the checksum when k more bytes follow it.
constexpr Tables make_tables() {
  Tables t{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t v = b;
    for (int i = 0; i < 8; ++i) v = v >> 1 ^ (v & 1 ? kPolynomial : 0);
    t[0][b] = v;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t b = 0; b < 256; ++b) t[k][b] = t[k - 1][b] >> 8 ^ t[0][t[k - 1][b] & 0xff];
  }
  return t;
}
constexpr Tables kTables = make_tables();

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, std::size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    uint32_t lo, hi;
    std::memcpy(&lo, p, 4);
    std::memcpy(&hi, p + 4, 4);
    lo ^= crc;
    crc = kTables[7][lo & 0xff] ^ kTables[6][lo >> 8 & 0xff] ^ kTables[5][lo >> 16 & 0xff] ^
          kTables[4][lo >> 24] ^ kTables[3][hi & 0xff] ^ kTables[2][hi >> 8 & 0xff] ^
          kTables[1][hi >> 16 & 0xff] ^ kTables[0][hi >> 24];
  }
  for (; bytes > 0; --bytes, ++p) crc = crc >> 8 ^ kTables[0][(crc ^ *p) & 0xff];
  return ~crc;
}

}  // namespace tenon::serialize::detail
