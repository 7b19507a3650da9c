// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Philox 4x32-10 (Salmon et al., SC 2011) by counter: word w of a reserved range is lane w % 4 of
// the block at counter offset + w / 4, so that each element's random words are computed
// independently.
#pragma once

#include <cmath>
#include <cstdint>

#include "tenon/sdk/hd.h"

namespace tenon::sdk {

struct PhiloxBlock {
  uint32_t w[4];
};

// The counter is {block, 0}: 64 bits of block number, the upper 64 bits zero. The key is the seed.
TN_HD inline PhiloxBlock philox_block(uint64_t seed, uint64_t block) {
  uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32), c2 = 0,
           c3 = 0;
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0,
                   n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

TN_HD inline uint32_t philox_word(uint64_t seed, uint64_t offset, uint64_t w) {
  return philox_block(seed, offset + w / 4).w[w % 4];
}

// Reads words in order and computes each block once.
class PhiloxReader {
 public:
  TN_HD PhiloxReader(uint64_t seed, uint64_t offset, uint64_t word)
      : seed_(seed),
        block_(offset + word / 4),
        lane_(static_cast<uint32_t>(word % 4)),
        now_(philox_block(seed, block_)) {}
  TN_HD uint32_t next() {
    if (lane_ == 4) {
      now_ = philox_block(seed_, ++block_);
      lane_ = 0;
    }
    return now_.w[lane_++];
  }
  // The first word is the high half.
  TN_HD uint64_t next64() {
    const uint64_t high = next();
    return high << 32 | next();
  }

 private:
  uint64_t seed_, block_;
  uint32_t lane_;
  PhiloxBlock now_;
};

// [0, 1) from the top bits: 24 of a word, 53 of two; 11 and 8 for float16 and bfloat16.
TN_HD inline float philox_float(uint32_t w, int bits = 24) {
  return static_cast<float>(w >> (32 - bits)) * (1.0f / static_cast<float>(1u << bits));
}
TN_HD inline double philox_double(uint64_t w) { return static_cast<double>(w >> 11) * 0x1p-53; }

// Box-Muller: normals 2j and 2j + 1 from the words of elements 2j and 2j + 1. The radius uses a
// uniform value in (0, 1].
TN_HD inline void philox_normal2(uint32_t w0, uint32_t w1, float* n0, float* n1) {
  const double u = static_cast<double>((w0 >> 8) + 1) * 0x1p-24,
               v = static_cast<double>(w1 >> 8) * 0x1p-24;
  const double r = std::sqrt(-2.0 * std::log(u)), t = 6.283185307179586476925 * v;
  *n0 = static_cast<float>(r * std::cos(t));
  *n1 = static_cast<float>(r * std::sin(t));
}
TN_HD inline void philox_normal2(uint64_t w0, uint64_t w1, double* n0, double* n1) {
  const double u = static_cast<double>((w0 >> 11) + 1) * 0x1p-53, v = philox_double(w1);
  const double r = std::sqrt(-2.0 * std::log(u)), t = 6.283185307179586476925 * v;
  *n0 = r * std::cos(t);
  *n1 = r * std::sin(t);
}

}  // namespace tenon::sdk
