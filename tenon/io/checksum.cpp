// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "checksum.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

// Eight bytes at a step. `crc` is the state: not inverted.
uint32_t by_tables(uint32_t crc, const unsigned char* p, std::size_t bytes) {
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
  return crc;
}

#if defined(__x86_64__)
#define TENON_CARRYLESS __attribute__((target("pclmul,sse4.1")))

// V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction",
// Intel, 2009: the message is a polynomial over GF(2), and what lies N bits ahead of a word is
// added to it by products with x^N modulo the polynomial. Bits are in reverse order.
constexpr long long kFold512[] = {0x154442bd4, 0x1c6e41596}, kFold128[] = {0x1751997d0, 0xccaa009e},
                    kFold64 = 0x163cd6124, kBarrett[] = {0x1db710641, 0x1f7011641};

TENON_CARRYLESS __m128i load(const unsigned char* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
TENON_CARRYLESS __m128i fold(__m128i word, __m128i by, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(word, by, 0x00),
                high = _mm_clmulepi64_si128(word, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}
TENON_CARRYLESS uint32_t reduce(__m128i word) {
  const __m128i low = _mm_setr_epi32(-1, 0, -1, 0);
  const __m128i by128 = _mm_set_epi64x(kFold128[1], kFold128[0]);
  const __m128i polynomial = _mm_set_epi64x(kBarrett[1], kBarrett[0]);
  word = _mm_xor_si128(_mm_srli_si128(word, 8), _mm_clmulepi64_si128(word, by128, 0x10));
  word = _mm_xor_si128(
      _mm_srli_si128(word, 4),
      _mm_clmulepi64_si128(_mm_and_si128(word, low), _mm_set_epi64x(0, kFold64), 0x00));
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(word, low), polynomial, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low), polynomial, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(word, quotient), 1));
}

// Of a multiple of 16 bytes, 64 at least. `crc` is the state: not inverted.
TENON_CARRYLESS uint32_t carryless(uint32_t crc, const unsigned char* p, uint64_t size) {
  const __m128i by512 = _mm_set_epi64x(kFold512[1], kFold512[0]),
                by128 = _mm_set_epi64x(kFold128[1], kFold128[0]);
  __m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128(static_cast<int>(crc))), b = load(p + 16),
          c = load(p + 32), d = load(p + 48);
  for (p += 64, size -= 64; size >= 64; p += 64, size -= 64) {
    a = fold(a, by512, load(p));
    b = fold(b, by512, load(p + 16));
    c = fold(c, by512, load(p + 32));
    d = fold(d, by512, load(p + 48));
  }
  a = fold(fold(fold(a, by128, b), by128, c), by128, d);
  for (; size >= 16; p += 16, size -= 16) a = fold(a, by128, load(p));
  return reduce(a);
}

bool has_carryless() {
  static const bool has = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return has;
}
#endif

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, std::size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(data);
  crc = ~crc;
#if defined(__x86_64__)
  if (bytes >= 64 && has_carryless()) {
    const std::size_t whole = bytes / 16 * 16;
    crc = carryless(crc, p, whole);
    p += whole;
    bytes -= whole;
  }
#endif
  return ~by_tables(crc, p, bytes);
}

}  // namespace tenon::serialize::detail
