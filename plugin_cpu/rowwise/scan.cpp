// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/rowwise/scan.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/rowwise/scan.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void sum_run(const float* in, float* to, int64_t n) {
  double a = 0;
  int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  const hn::FixedTag<double, 4> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const auto zero = hn::Zero(d);
  auto before = zero;
  for (; i + 4 <= n; i += 4) {
    const auto x = hn::PromoteTo(d, hn::LoadU(narrow, in + i));
    const auto pairs = hn::Add(x, hn::ShiftLeftLanes<1>(d, x));  // 0, 0 + 1, 2, 2 + 3
    const auto sums = hn::Add(pairs, hn::ConcatLowerLower(d, hn::DupOdd(pairs), zero));
    hn::StoreU(hn::DemoteTo(narrow, hn::Add(before, sums)), narrow, to + i);
    const auto odd = hn::DupOdd(sums);
    before = hn::Add(before, hn::ConcatUpperUpper(d, odd, odd));
  }
  a = hn::GetLane(before);
#else
  for (; i + 4 <= n; i += 4) {
    const double first = in[i], second = first + in[i + 1], next = in[i + 2];
    const double third = second + next, all = second + (next + in[i + 3]);
    to[i] = static_cast<float>(a + first);
    to[i + 1] = static_cast<float>(a + second);
    to[i + 2] = static_cast<float>(a + third);
    a += all;
    to[i + 3] = static_cast<float>(a);
  }
#endif
  for (; i < n; ++i) {
    a += in[i];
    to[i] = static_cast<float>(a);
  }
}

// Where the set bits of a byte are, the lowest first; what follows has no meaning.
struct SetBits {
  uint8_t at[256][8];
  constexpr SetBits() : at{} {
    for (int m = 0; m < 256; ++m) {
      for (int bit = 0, k = 0; bit < 8; ++bit) {
        if (m >> bit & 1) at[m][k++] = static_cast<uint8_t>(bit);
      }
    }
  }
};
constexpr SetBits kSetBits;

// A bit for each of eight bytes that is not 0.
HWY_INLINE unsigned set_bytes(const uint8_t* x) {
  constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  uint64_t v;
  std::memcpy(&v, x, sizeof v);
  const uint64_t high = ((v & kLow) + kLow) | v;
  return static_cast<unsigned>(((high & ~kLow) >> 7) * 0x0102040810204080 >> 56);
}

void set_run(const uint8_t* x, int64_t n, int64_t first, int64_t* to, int64_t count) {
  constexpr int64_t kStep = 8;  // all are stored; only the count of valid ones advances
  const hn::CappedTag<int64_t, kStep> d;
  const hn::Rebind<int32_t, decltype(d)> words;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0, k = 0;
  for (; i + kStep <= n && k + kStep <= count; i += kStep) {
    const unsigned set = set_bytes(x + i);
    const auto start = hn::Set(d, first + i);
    for (int64_t j = 0; j < kStep; j += lanes) {
      const auto at =
          hn::PromoteTo(d, hn::PromoteTo(words, hn::LoadU(bytes, kSetBits.at[set] + j)));
      hn::StoreU(hn::Add(start, at), d, to + k + j);
    }
    k += __builtin_popcount(set);
  }
  for (; k < count; ++i) {
    to[k] = first + i;
    k += x[i] != 0;
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(sum_run);
TENON_EXPORT(set_run);
void running_sum(const float* in, float* to, int64_t n) { TENON_DISPATCH(sum_run)(in, to, n); }
void positions_set(const uint8_t* x, int64_t n, int64_t first, int64_t* to, int64_t count) {
  TENON_DISPATCH(set_run)(x, n, first, to, count);
}

}  // namespace tenon::cpu
#endif
