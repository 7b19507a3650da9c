// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/tiles/lines.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/tiles/lines.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void CopyLine(const uint16_t* from, char* to) {
  const hn::CappedTag<uint16_t, 32> d;
  for (size_t j = 0; j < 32; j += hn::Lanes(d))
    hn::StoreU(hn::LoadU(d, from + j), d, reinterpret_cast<uint16_t*>(to) + j);
}

HWY_INLINE void PairLine(const uint16_t* even, const uint16_t* odd, char* to) {
  const hn::CappedTag<uint32_t, 16> words;
  const hn::Rebind<uint16_t, decltype(words)> halves;
  for (size_t j = 0; j < 16; j += hn::Lanes(words)) {
    const auto low = hn::PromoteTo(words, hn::LoadU(halves, even + j));
    const auto high = hn::PromoteTo(words, hn::LoadU(halves, odd + j));
    hn::StoreU(hn::Or(low, hn::ShiftLeft<16>(high)), words, reinterpret_cast<uint32_t*>(to) + j);
  }
}

void CopyLines(const uint16_t* from, int64_t step, char* to) {
  for (int i = 0; i < 16; ++i) CopyLine(from + i * step, to + i * 64);
}

void CopyLinesAt(const uint16_t* from, const int32_t* at, char* to) {
  for (int i = 0; i < 16; ++i) CopyLine(from + int64_t{at[i]} * 32, to + i * 64);
}

void PairLines(const uint16_t* from, int64_t step, char* to, char* second) {
  for (int i = 0; i < 16; ++i) {
    const uint16_t *even = from + 2 * i * step, *odd = even + step;
    PairLine(even, odd, to + i * 64);
    PairLine(even + 16, odd + 16, second + i * 64);
  }
}

void PairLinesAt(const uint16_t* from, const int32_t* at, char* to, char* second) {
  for (int i = 0; i < 16; ++i) {
    const uint16_t *even = from + int64_t{at[2 * i]} * 32,
                   *odd = from + int64_t{at[2 * i + 1]} * 32;
    PairLine(even, odd, to + i * 64);
    PairLine(even + 16, odd + 16, second + i * 64);
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(CopyLines);
TENON_EXPORT(CopyLinesAt);
TENON_EXPORT(PairLines);
TENON_EXPORT(PairLinesAt);

void copy_lines(const uint16_t* from, int64_t step, char* to) {
  TENON_DISPATCH(CopyLines)(from, step, to);
}
void copy_lines_at(const uint16_t* from, const int32_t* at, char* to) {
  TENON_DISPATCH(CopyLinesAt)(from, at, to);
}
void pair_lines(const uint16_t* from, int64_t step, char* to, char* second) {
  TENON_DISPATCH(PairLines)(from, step, to, second);
}
void pair_lines_at(const uint16_t* from, const int32_t* at, char* to, char* second) {
  TENON_DISPATCH(PairLinesAt)(from, at, to, second);
}

}  // namespace tenon::cpu
#endif
