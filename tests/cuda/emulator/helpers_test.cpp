// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The helpers of plugin_cuda/device for blocks of every size.
#include <gtest/gtest.h>

#include <vector>

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/index.cuh"

namespace {

using namespace tenon::cuda;
using tenon::emulator::Launch;
using tenon::emulator::Order;

template <class F>
void launch_blocks(unsigned grid, unsigned block, F&& f) {
  tenon::emulator::run(Launch{"helper", {grid}, {block}, 0}, f);
}

// x -> a x + b modulo 2^32: associative, not commutative, and larger than a word, so that a wrong
// order is detected.
struct Affine {
  uint32_t a, b, pad;
};
struct Compose {
  Affine operator()(const Affine& first, const Affine& then) const {
    return {first.a * then.a, first.b * then.a + then.b, 7};
  }
};
constexpr Affine kIdentity{1, 0, 7};
Affine affine(unsigned i) { return {2 * i + 1, 3 * i + 5, 7}; }

class Helpers : public testing::TestWithParam<std::tuple<unsigned, Order>> {
 protected:
  void SetUp() override { tenon::emulator::set_order(std::get<1>(GetParam())); }
  void TearDown() override { tenon::emulator::set_order(Order::Forward); }
  unsigned block() const { return std::get<0>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Blocks, Helpers,
                         testing::Combine(testing::Values(32u, 64u, 96u, 256u, 992u, 1024u),
                                          testing::Values(Order::Forward, Order::Reverse)));

TEST_P(Helpers, ReduceInTheOrderOfThreads) {
  std::vector<Affine> got(2 * block());
  launch_blocks(1, block(), [&] {
    // Twice: the second call must not race with the first in shared memory.
    got[threadIdx.x] = block_reduce(affine(threadIdx.x), kIdentity, Compose());
    got[block() + threadIdx.x] = block_reduce(affine(threadIdx.x + 9), kIdentity, Compose());
  });
  for (unsigned round = 0; round < 2; ++round) {
    Affine want = kIdentity;
    for (unsigned i = 0; i < block(); ++i) want = Compose()(want, affine(i + 9 * round));
    for (unsigned i = 0; i < block(); ++i) {
      ASSERT_EQ(got[round * block() + i].a, want.a);
      ASSERT_EQ(got[round * block() + i].b, want.b);
    }
  }
}

TEST_P(Helpers, ScanInTheOrderOfThreads) {
  std::vector<Affine> got(block()), totals(block());
  launch_blocks(1, block(), [&] {
    got[threadIdx.x] =
        block_inclusive_scan(affine(threadIdx.x), kIdentity, Compose(), &totals[threadIdx.x]);
  });
  Affine want = kIdentity;
  for (unsigned i = 0; i < block(); ++i) {
    want = Compose()(want, affine(i));
    ASSERT_EQ(got[i].a, want.a) << i;
    ASSERT_EQ(got[i].b, want.b) << i;
  }
  for (unsigned i = 0; i < block(); ++i) ASSERT_EQ(totals[i].b, want.b);
}

TEST(Divider, AgreesWithDivision) {
  for (uint32_t d : {1u, 2u, 3u, 5u, 7u, 10u, 31u, 32u, 33u, 641u, 65535u, 65537u, 1u << 30,
                     (1u << 30) + 1, 0x7fffffffu}) {
    const Divider by(d);
    for (uint32_t n : {0u, 1u, 2u, d - 1, d, d + 1, 2 * d - 1, 12345678u, (1u << 30) - 1,
                       0x7ffffffeu, 0x7fffffffu}) {
      if (n <= 0x7fffffffu) {
        ASSERT_EQ(by.divide(n), n / d) << n << " / " << d;
      }
    }
  }
}

// A tensor without data.
struct Shape {
  std::vector<int64_t> sizes, strides;
  tn_tensor view{};
  Shape(std::vector<int64_t> s, std::vector<int64_t> t)
      : sizes(std::move(s)), strides(std::move(t)) {
    view.ndim = static_cast<int32_t>(sizes.size());
    view.dtype = tenon::sdk::kFloat32;
    view.sizes = sizes.data();
    view.strides = strides.data();
  }
  tenon::sdk::Tensor tensor() const { return tenon::sdk::Tensor(&view); }
};

TEST(ForEachPiece, CoversEveryElementOnce) {
  // More dimensions than the device's index has, none of which merge.
  std::vector<int64_t> sizes, strides;
  int64_t stride = 1;
  for (int d = 0; d < kIndexDims + 3; ++d) {
    sizes.insert(sizes.begin(), 2);
    strides.insert(strides.begin(), stride);
    stride *= 3;
  }
  const Shape s(sizes, strides);
  tenon::sdk::StridedLoop loop(s.tensor().sizes());
  loop.add(s.tensor());
  loop.finish();
  std::vector<int> seen(static_cast<std::size_t>(stride));
  int pieces = 0;
  for_each_piece<1>(loop, [&](const Strided<1>& at) {
    ++pieces;
    for (uint32_t i = 0; i < at.numel; ++i) {
      int64_t offset[1];
      at.offsets(i, offset);
      ++seen[static_cast<std::size_t>((reinterpret_cast<intptr_t>(at.base[0]) + offset[0]) / 4)];
    }
  });
  EXPECT_EQ(pieces, 8);
  int64_t found = 0;
  for (int n : seen) {
    ASSERT_LE(n, 1);
    found += n;
  }
  EXPECT_EQ(found, int64_t{1} << (kIndexDims + 3));
}

TEST(ForEachPiece, CutsWhatIsLargerThanTheIndex) {
  const int64_t n = 2 * kPieceElements + 5;
  const Shape s({n}, {1});
  tenon::sdk::StridedLoop loop(s.tensor().sizes());
  loop.add(s.tensor());
  loop.finish();
  int64_t next = 0;
  for_each_piece<1>(loop, [&](const Strided<1>& at) {
    EXPECT_EQ(reinterpret_cast<intptr_t>(at.base[0]), next * 4);
    EXPECT_LE(int64_t{at.numel}, kPieceElements);
    next += at.numel;
  });
  EXPECT_EQ(next, n);
}

TEST(Element, GoesThroughEveryDtype) {
  alignas(8) char place[8];
  for (Code code : {Code::U8, Code::I8, Code::I16, Code::I32, Code::I64, Code::F16, Code::BF16,
                    Code::F32, Code::F64}) {
    store(place, code, 5.0);
    EXPECT_EQ(load<double>(place, code), 5);
    EXPECT_EQ(load<int64_t>(place, code), 5);
  }
  store(place, Code::BOOL, 0.5);
  EXPECT_EQ(load<int64_t>(place, Code::BOOL), 1);
  store(place, Code::I64, 1e30);  // as on the host: the lowest value
  EXPECT_EQ(load<int64_t>(place, Code::I64), INT64_MIN);
  store(place, Code::I8, int64_t{300});
  EXPECT_EQ(load<int64_t>(place, Code::I8), 44);
}

}  // namespace
