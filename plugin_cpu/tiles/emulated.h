// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The tile instructions as the manual gives them, TDPBF16PS among them: for each sum, the even and
// the odd elements of k are multiplied and added in two chains, the chains are added to each other
// and then to the sum. Every step rounds to nearest even; denormals count as zeros on the way in
// and out.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "plugin_cpu/memory/per_thread.h"
#include "tenon/sdk/half.h"

namespace tenon::cpu::emulated {

inline float flushed(float x) { return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x; }
inline float add(float a, float b) { return flushed(flushed(a) + flushed(b)); }

// A result is a denormal if 24 bits without a bound to the exponent round it below the smallest
// normal number, even where a denormal's fewer bits round it up to that.
inline float multiply_add(float a, float b, float c) {
  const float r = std::fma(a, b, c);
  if (std::fabs(r) != FLT_MIN) return flushed(r);
  const double exact = static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c);
  return std::fabs(exact) < static_cast<double>(FLT_MIN) * (1 - 0x1p-25) ? std::copysign(0.0f, r)
                                                                         : r;
}

// 32 elements of k, added to `sum`.
inline float dot(const sdk::BFloat16 (&a)[32], const sdk::BFloat16 (&b)[32], float sum) {
  float even = 0, odd = 0;
  for (int k = 0; k < 32; k += 2) {
    even = multiply_add(flushed(a[k]), flushed(b[k]), even);
    odd = multiply_add(flushed(a[k + 1]), flushed(b[k + 1]), odd);
  }
  return add(sum, add(even, odd));
}

struct Tile {
  alignas(64) char line[16][64];
};

inline void multiply(Tile& sum, const Tile& a, const Tile& b) {
  for (int n = 0; n < 16; ++n) {
    sdk::BFloat16 column[32], row[32];
    for (int k = 0; k < 16; ++k) std::memcpy(column + 2 * k, b.line[k] + 4 * n, 4);
    for (int m = 0; m < 16; ++m) {
      std::memcpy(row, a.line[m], 64);
      float x;
      std::memcpy(&x, sum.line[m] + 4 * n, 4);
      x = dot(row, column, x);
      std::memcpy(sum.line[m] + 4 * n, &x, 4);
    }
  }
}

// The eight tiles of a thread. Without a configuration the instructions trap, as they do there.
class Tiles {
 public:
  template <int T>
  static void zero() {
    std::memset(&at(T), 0, sizeof(Tile));
  }
  template <int T>
  static void load(const void* from, int64_t row) {
    for (int i = 0; i < 16; ++i)
      std::memcpy(at(T).line[i], static_cast<const char*>(from) + i * row, 64);
  }
  template <int T>
  static void store(void* to, int64_t row) {
    for (int i = 0; i < 16; ++i) std::memcpy(static_cast<char*>(to) + i * row, at(T).line[i], 64);
  }
  template <int C, int A, int B>
  static void multiply() {
    emulated::multiply(at(C), at(A), at(B));
  }
  static void configure() {
    state() = {};
    state().configured = true;
  }
  static void release() { state() = {}; }

 private:
  struct State {
    bool configured;
    Tile tile[8];
  };
  static State& state() { return of_this_thread<State>(); }
  static Tile& at(int t) {
    if (!state().configured) __builtin_trap();
    return state().tile[t];
  }
};

}  // namespace tenon::cpu::emulated
