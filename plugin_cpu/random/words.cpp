// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Philox 4x32-10, one block per lane.
#include "plugin_cpu/random/words.h"

#include "tenon/sdk/philox.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/random/words.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// Vectors at a time: a round depends on the one before.
constexpr int kChains = HWY_TARGET == HWY_AVX3 ? 2 : 1;
constexpr int kRounds = 10;

// The high and low halves of x * k.
template <class D, class V>
HWY_INLINE void multiply(D d, V x, V k, V& high, V& low) {
  const hn::RepartitionToWide<D> wide;
  const auto even = hn::MulEven(x, k);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, x))), k);
#if HWY_TARGET == HWY_AVX3
  high = V{_mm512_mask_shuffle_epi32(odd.raw, 0x5555, even.raw, _MM_PERM_DDBB)};
#else
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
#endif
  low = hn::Mul(x, k);
}

template <class D>
struct Keys {
  hn::Vec<D> k0[kRounds], k1[kRounds];
  HWY_INLINE Keys(D d, uint64_t seed) {
    uint32_t low = static_cast<uint32_t>(seed), high = static_cast<uint32_t>(seed >> 32);
    for (int r = 0; r < kRounds; ++r, low += 0x9E3779B9u, high += 0xBB67AE85u) {
      k0[r] = hn::Set(d, low);
      k1[r] = hn::Set(d, high);
    }
  }
};

// kChains vectors of blocks from `block` on; their numbers have the upper half in common.
template <class D>
HWY_INLINE void chains(D d, const Keys<D>& keys, uint64_t block, uint32_t* HWY_RESTRICT out) {
  using V = hn::Vec<D>;
  const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d));
  const V m0 = hn::Set(d, 0xD2511F53u), m1 = hn::Set(d, 0xCD9E8D57u);
  V c0[kChains], c1[kChains], c2[kChains], c3[kChains];
  for (uint32_t n = 0; n < kChains; ++n) {
    c0[n] = hn::Iota(d, static_cast<uint32_t>(block) + n * lanes);
    c1[n] = hn::Set(d, static_cast<uint32_t>(block >> 32));
    c2[n] = c3[n] = hn::Zero(d);
  }
  for (int r = 0; r < kRounds; ++r) {
    for (int n = 0; n < kChains; ++n) {
      V h0, l0, h1, l1;
      multiply(d, c0[n], m0, h0, l0);
      multiply(d, c2[n], m1, h1, l1);
      c0[n] = hn::Xor3(h1, c1[n], keys.k0[r]);
      c2[n] = hn::Xor3(h0, c3[n], keys.k1[r]);
      c1[n] = l1;
      c3[n] = l0;
    }
  }
  for (uint32_t n = 0; n < kChains; ++n)
    hn::StoreInterleaved4(c0[n], c1[n], c2[n], c3[n], d, out + 4 * n * lanes);
}

// Blocks done in whole vectors; the rest is left to the scalar loop.
int64_t VectorBlocks(uint64_t seed, uint64_t first, int64_t blocks, uint32_t* HWY_RESTRICT out) {
  const hn::ScalableTag<uint32_t> d;
  const Keys<hn::ScalableTag<uint32_t>> keys(d, seed);
  const int64_t step = kChains * static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + step <= blocks; i += step) {
    const uint64_t block = first + static_cast<uint64_t>(i);
    if (static_cast<uint32_t>(block) > 0xFFFFFF00u) break;  // a carry into the upper half
    chains(d, keys, block, out + 4 * i);
  }
  return i;
}
#else
int64_t VectorBlocks(uint64_t, uint64_t, int64_t, uint32_t*) { return 0; }
#endif

void PhiloxBlocks(uint64_t seed, uint64_t first, int64_t blocks, uint32_t* HWY_RESTRICT out) {
  for (int64_t i = VectorBlocks(seed, first, blocks, out); i < blocks; ++i) {
    const sdk::PhiloxBlock b = sdk::philox_block(seed, first + static_cast<uint64_t>(i));
    for (int k = 0; k < 4; ++k) out[4 * i + k] = b.w[k];
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
TENON_EXPORT(PhiloxBlocks);
void philox_blocks(uint64_t seed, uint64_t first, int64_t blocks, uint32_t* out) {
  TENON_DISPATCH(PhiloxBlocks)(seed, first, blocks, out);
}
}  // namespace tenon::cpu
#endif
