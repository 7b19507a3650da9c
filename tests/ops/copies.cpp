// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Copies between all dtypes and any strides, the factories, and memory of the caller's.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace {

TEST(Copies, EveryPairOfDtypes) {
  for (ScalarType from : core::kBuiltInDtypes) {
    for (ScalarType to : core::kBuiltInDtypes) {
      Tensor x = arange(3, TensorOptions(kInt64)).to(from), y = x.to(to);
      ASSERT_EQ(y.scalar_type(), to);
      for (int64_t i = 0; i < 3; ++i) {
        int64_t expected = from == kBool || to == kBool ? i != 0 : i;
        EXPECT_EQ(y.select(0, i).item().to<int64_t>(), expected)
            << dtype_name(from) << " to " << dtype_name(to);
      }
    }
  }
}

// Sizes around the tiles of the transposing copy.
TEST(Copies, TransposedInTiles) {
  for (ScalarType t : {kUInt8, kInt16, kInt32, kInt64}) {
    for (int64_t rows : {3, 16, 61, 130}) {
      for (int64_t columns : {4, 15, 64, 70}) {
        Tensor x = arange(2 * rows * columns).view({2, rows, columns}).remainder(120).to(t);
        Tensor y = x.transpose(1, 2).clone(MemoryFormat::Contiguous);
        ASSERT_TRUE(y.is_contiguous());
        ASSERT_TRUE(equal(y, x.transpose(1, 2))) << dtype_name(t) << ' ' << rows << ' ' << columns;
        ASSERT_TRUE(equal(y.transpose(1, 2).contiguous(), x));
        for (int64_t i = 0; i < rows; i += 7) {
          ASSERT_EQ(y.select(0, 1).select(0, 1).select(0, i).item().toLong(),
                    (rows * columns + i * columns + 1) % 120);
        }
      }
    }
  }
}

TEST(Copies, BroadcastAndRefuse) {
  Tensor x = zeros({2, 3});
  x.copy_(tensor({1, 2, 3}));
  EXPECT_TRUE(equal(x, tensor({{1., 2., 3.}, {1., 2., 3.}})));
  EXPECT_THROW(x.copy_(zeros({2})), ValueError);
  EXPECT_TRUE(x.to(kFloat).is_same(x));
  EXPECT_FALSE(x.to(kFloat, false, true).is_same(x));
}

TEST(Copies, Factories) {
  EXPECT_EQ(arange(2, 6).scalar_type(), kLong);
  EXPECT_EQ(arange(0., 1., 0.25).numel(), 4);
  EXPECT_EQ(full({2}, 3).scalar_type(), kLong);
  EXPECT_EQ(full({2}, 3.5).scalar_type(), kFloat);
  EXPECT_EQ(full({2}, true).scalar_type(), kBool);
  EXPECT_TRUE(ones({2}, requires_grad()).requires_grad());
  EXPECT_FALSE(ones({2}, requires_grad()).new_zeros({1}).requires_grad());
  EXPECT_EQ(zeros_like(ones({2, 3}).t()).strides(), IntArrayRef({1, 3}));
  EXPECT_TRUE(equal(linspace(0, 1, 5), tensor({0., 0.25, 0.5, 0.75, 1.})));
  EXPECT_TRUE(equal(eye(2), tensor({{1., 0.}, {0., 1.}})));
  EXPECT_TRUE(equal(ones({2, 2}).tril(-1), tensor({{0., 0.}, {1., 0.}})));
  EXPECT_THROW(arange(0, 5, -1), ValueError);
  EXPECT_THROW(zeros({-1}), ValueError);
  EXPECT_THROW(tensor({1., 2.}).item(), ValueError);
}

TEST(Copies, PadAndRoll) {
  Tensor x = arange(4, TensorOptions(kFloat)).view({1, 1, 4});
  EXPECT_TRUE(equal(pad(x, {2, 1}, "reflect"), tensor({{{2., 1., 0., 1., 2., 3., 2.}}})));
  EXPECT_TRUE(equal(pad(x, {1, 1}, "replicate"), tensor({{{0., 0., 1., 2., 3., 3.}}})));
  EXPECT_TRUE(equal(pad(x, {1, 0}, "circular"), tensor({{{3., 0., 1., 2., 3.}}})));
  EXPECT_TRUE(equal(pad(x, {-1, 1}, "constant", 9.), tensor({{{1., 2., 3., 9.}}})));
  EXPECT_TRUE(equal(arange(4).roll(1), tensor({3, 0, 1, 2})));
  EXPECT_TRUE(equal(arange(4).flip({0}), tensor({3, 2, 1, 0})));
}

// Memory of the caller's: no copy, whoever writes.
TEST(FromBlob, WritesAreSeenBothWays) {
  double data[6] = {1, 2, 3, 4, 5, 6};
  const Tensor x = from_blob(data, {2, 3}, kDouble);
  EXPECT_EQ(x.data_ptr(), data);
  data[4] = -5;
  EXPECT_EQ(x[1][1].item<double>(), -5);
  x.t()[2][0].fill_(30);
  EXPECT_EQ(data[2], 30);
  const Tensor copy = x.clone();
  data[0] = 10;
  EXPECT_EQ(copy[0][0].item<double>(), 1);
}

TEST(FromBlob, StridesAreKept) {
  float data[12];
  for (int i = 0; i < 12; ++i) data[i] = float(i);
  const Tensor x = from_blob(data, {2, 3}, {1, 4}, kFloat);
  EXPECT_EQ(x.strides(), IntArrayRef({1, 4}));
  EXPECT_TRUE(equal(x, tensor({{0.f, 4.f, 8.f}, {1.f, 5.f, 9.f}})));
  const Tensor row = from_blob(data + 3, {4, 2}, {0, 2}, kFloat);
  EXPECT_EQ(row.strides(), IntArrayRef({0, 2}));
  EXPECT_TRUE(equal(row, tensor({3.f, 5.f}).expand({4, 2})));
}

TEST(FromBlob, OfNoDimensionsAndOfNoElements) {
  int64_t one = 7;
  int calls = 0;
  {
    const Tensor x = from_blob(
        &one, {}, [&](void*) { ++calls; }, kLong);
    EXPECT_EQ(x.dim(), 0);
    EXPECT_EQ(x.item<int64_t>(), 7);
    x.add_(1);
    EXPECT_EQ(one, 8);
  }
  EXPECT_EQ(calls, 1);
  from_blob(
      &one, {0, 3}, [&](void*) { ++calls; }, kLong)
      .sum();
  EXPECT_EQ(calls, 2);
}

TEST(FromBlob, TheDeleterRunsOnceAfterTheLastCopy) {
  float data[4] = {1, 2, 3, 4};
  std::vector<void*> deleted;
  Tensor last;
  {
    const Tensor x = from_blob(data, {4}, [&](void* p) { deleted.push_back(p); });
    const Tensor same = x, row = x.view({2, 2})[1];
    std::thread([copy = x] { EXPECT_EQ(copy.numel(), 4); }).join();
    last = row.detach();
    EXPECT_FALSE(x.clone().is_same(same));
  }
  EXPECT_TRUE(deleted.empty()) << "a view of a view is left";
  EXPECT_TRUE(equal(last, tensor({3.f, 4.f})));
  last = {};
  EXPECT_EQ(deleted, std::vector<void*>{data});
}

TEST(FromBlob, ARefusedOneDropsItsDeleter) {
  int calls = 0;
  const auto owned = std::make_shared<int>(0);
  const auto deleter = [owned, &calls](void*) { ++calls; };
  float data[4] = {1, 2, 3, 4};
  EXPECT_THROW(from_blob(data, {-1}, deleter), ValueError);
  EXPECT_THROW(from_blob(nullptr, {2}, deleter), ValueError);
  EXPECT_THROW(from_blob(data, {2}, {1, 1}, deleter), ValueError);
  EXPECT_EQ(calls, 0);
  { EXPECT_TRUE(equal(from_blob(data, {2}, {3}, deleter), tensor({1.f, 4.f}))); }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(owned.use_count(), 2) << "beside the one in `deleter`";
}

// What backward reads lives as long as the graph.
TEST(FromBlob, TheDeleterWaitsForTheGraph) {
  float data[2] = {3, 4};
  int calls = 0;
  Tensor w = ones({2}, requires_grad());
  {
    const Tensor y = (w * from_blob(data, {2}, [&](void*) { ++calls; })).sum();
    EXPECT_EQ(calls, 0);
    y.backward();
  }
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(equal(w.grad(), tensor({3.f, 4.f})));
}

}  // namespace
}  // namespace tenon
