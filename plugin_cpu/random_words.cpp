// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Philox 4x32-10, one block a lane.
#include "plugin_cpu/random_words.h"

#include "tenon/sdk/philox.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/random_words.cpp"
#include "plugin_cpu/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// The high and low halves of x * k.
template <class D, class V>
HWY_INLINE void multiply(D d, V x, V k, V& high, V& low) {
  const hn::RepartitionToWide<D> wide;
  const auto even = hn::MulEven(x, k);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, x))), k);
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  low = hn::Mul(x, k);
}

// Blocks done in whole vectors; the rest is left to the scalar loop.
int64_t VectorBlocks(uint64_t seed, uint64_t first, int64_t blocks, uint32_t* HWY_RESTRICT out) {
  const hn::ScalableTag<uint32_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto m0 = hn::Set(d, 0xD2511F53u), m1 = hn::Set(d, 0xCD9E8D57u);
  int64_t i = 0;
  // So is a carry into the upper half of the block number.
  for (; i + lanes <= blocks; i += lanes) {
    const uint64_t block = first + static_cast<uint64_t>(i);
    if (static_cast<uint32_t>(block) > 0xFFFFFF00u) break;
    auto c0 = hn::Iota(d, static_cast<uint32_t>(block)), c1 = hn::Set(d, static_cast<uint32_t>(block >> 32));
    auto c2 = hn::Zero(d), c3 = hn::Zero(d);
    uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      auto h0 = c0, l0 = c0, h1 = c0, l1 = c0;
      multiply(d, c0, m0, h0, l0);
      multiply(d, c2, m1, h1, l1);
      c0 = hn::Xor(hn::Xor(h1, c1), hn::Set(d, k0));
      c2 = hn::Xor(hn::Xor(h0, c3), hn::Set(d, k1));
      c1 = l1;
      c3 = l0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    hn::StoreInterleaved4(c0, c1, c2, c3, d, out + 4 * i);
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
