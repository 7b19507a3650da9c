// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Packed weights: when they are kept, and that no write to the weights is missed.
#include "plugin_cpu/memory/packed.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tenon/ops.h"
#include "tests/support.h"

using namespace tenon;
namespace packed = tenon::cpu::packed;

namespace {

constexpr int64_t kBytes = 1 << 20;
const int64_t kLayout[] = {1, 2, 3};
const sdk::Ints kKey(kLayout, 3);

packed::Origin weights(uint64_t id, uint64_t writes = 0) { return {id, writes, &kLayout}; }

packed::Kept ask(const packed::Origin& from, const sdk::Ints& key = kKey) {
  packed::Found f = packed::find(from, key, kBytes);
  return f.wanted ? packed::add(from, key, cpu::Buffer(kBytes), kBytes) : f.memory;
}

class PackedTable : public testing::Test {
 protected:
  void TearDown() override {
    packed::set_limit(0);
    packed::set_limit(int64_t{128} << 20);
  }
};

TEST_F(PackedTable, CachesOnTheSecondCall) {
  EXPECT_EQ(ask(weights(11)), nullptr);
  const packed::Kept first = ask(weights(11));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(ask(weights(11)), first);
  EXPECT_EQ(packed::bytes_kept(), kBytes);
}

TEST_F(PackedTable, LastingWeightsAreCachedOnTheFirstCall) {
  packed::Origin from = weights(10);
  from.lasting = true;
  const packed::Kept first = ask(from);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(ask(from), first);
  from.writes = 1;
  EXPECT_NE(ask(from), first);
  EXPECT_EQ(packed::bytes_kept(), kBytes);
}

TEST_F(PackedTable, AWriteInvalidates) {
  ask(weights(12)), ask(weights(12));
  EXPECT_EQ(ask(weights(12, 1)), nullptr);
  EXPECT_EQ(packed::bytes_kept(), 0);
  EXPECT_NE(ask(weights(12, 1)), nullptr);
}

TEST_F(PackedTable, TellsLayoutsAndAddressesApart) {
  const int64_t other[] = {1, 2, 4};
  ask(weights(13)), ask(weights(13));
  EXPECT_EQ(ask(weights(13), sdk::Ints(other, 3)), nullptr);
  packed::Origin offset = weights(13);
  offset.data = other;
  EXPECT_EQ(ask(offset), nullptr);
}

TEST_F(PackedTable, StoragesWithUncountedWritesAreNotCached) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(packed::Origin{}), nullptr);
}

TEST_F(PackedTable, TheOldestIsEvictedAtTheLimit) {
  packed::set_limit(2 * kBytes);
  std::vector<packed::Kept> kept;
  for (uint64_t id = 20; id < 22; ++id) ask(weights(id)), kept.push_back(ask(weights(id)));
  for (int i = 0; i < 4000; ++i) ask(weights(21));  // 20 is not used any more
  ask(weights(22)), kept.push_back(ask(weights(22)));
  EXPECT_EQ(packed::bytes_kept(), 2 * kBytes);
  EXPECT_EQ(ask(weights(22)), kept[2]);
  EXPECT_EQ(ask(weights(21)), kept[1]);
  EXPECT_NE(kept[0], nullptr);  // whoever holds it, keeps it
  EXPECT_NE(ask(weights(20)), kept[0]);
}

TEST_F(PackedTable, WeightsInTurnDoNotEvictEachOther) {
  packed::set_limit(2 * kBytes);
  std::vector<packed::Kept> kept(3);
  for (int turn = 0; turn < 10; ++turn) {
    for (uint64_t id = 0; id < 3; ++id) {
      const packed::Kept now = ask(weights(30 + id));
      if (turn == 1) kept[id] = now;
      if (turn > 1 && id < 2) {
        EXPECT_EQ(now, kept[id]);
      }
    }
    EXPECT_LE(packed::bytes_kept(), 2 * kBytes);
  }
}

TEST_F(PackedTable, ManyTensorsNeedNoMemory) {
  for (uint64_t id = 100; id < 1000; ++id) EXPECT_EQ(ask(weights(id)), nullptr);
  EXPECT_EQ(packed::bytes_kept(), 0);
}

// Two products whose weights are kept: a convolution by oneDNN and a linear layer of many rows.
struct Layer {
  const char* name;
  std::vector<int64_t> input, weight;
  std::function<Tensor(const Tensor&, const Tensor&)> run;
};

const std::vector<Layer> kLayers = {
    {"conv2d",
     {2, 8, 20, 20},
     {16, 8, 3, 3},
     [](const Tensor& x, const Tensor& w) { return conv2d(x, w); }},
    {"linear",
     {96, 160},
     {200, 160},
     [](const Tensor& x, const Tensor& w) { return linear(x, w); }},
};

void expect_seen(const Layer& layer, const char* how, const std::function<void(Tensor&)>& write) {
  SCOPED_TRACE(std::string(layer.name) + ", " + how);
  manual_seed(3);
  const Tensor x = randn(layer.input);
  Tensor w = randn(layer.weight).mul_(0.1);
  const auto fresh = [&] { return layer.run(x, w.clone()); };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(equal(layer.run(x, w), fresh()));
  const Tensor before = layer.run(x, w);
  write(w);
  EXPECT_TRUE(equal(layer.run(x, w), fresh()));
  EXPECT_FALSE(equal(layer.run(x, w), before));
}

TEST(PackedWeights, EveryWriteIsSeen) {
  NoGradGuard off;
  for (const Layer& layer : kLayers) {
    expect_seen(layer, "in place", [](Tensor& w) { w.mul_(2); });
    expect_seen(layer, "out=", [](Tensor& w) { mul_out(w, w.clone(), scalar_tensor(3.0)); });
    expect_seen(layer, "a view", [](Tensor& w) { w.select(0, 1).fill_(7); });
    expect_seen(layer, "data()", [](Tensor& w) { w.data().add_(1); });
    expect_seen(layer, "copy_", [](Tensor& w) { w.copy_(randn_like(w)); });
    expect_seen(layer, "set_data", [](Tensor& w) { w.set_data(randn_like(w)); });
    expect_seen(layer, "an index", [](Tensor& w) { w.index_put_({0}, 5.0); });
    expect_seen(layer, "a pointer", [](Tensor& w) { w.data_ptr<float>()[5] = 9; });
    expect_seen(layer, "the storage",
                [](Tensor& w) { static_cast<float*>(w.storage().data_ptr())[6] = 8; });
  }
}

TEST(PackedWeights, APointerThatWasTakenEarlierMayStillBeUsed) {
  NoGradGuard off;
  for (const Layer& layer : kLayers) {
    float* p = nullptr;
    Tensor w = randn(layer.weight);
    p = w.data_ptr<float>();
    const Tensor x = randn(layer.input);
    for (int i = 0; i < 3; ++i) layer.run(x, w);
    for (int i = 0; i < 3; ++i) {
      p[i] += 1;
      EXPECT_TRUE(equal(layer.run(x, w), layer.run(x, w.clone())));
    }
    std::vector<float> mine(static_cast<std::size_t>(w.numel()), 1.0f);
    const Tensor borrowed = from_blob(mine.data(), layer.weight);
    for (int i = 0; i < 3; ++i) layer.run(x, borrowed);
    mine[1] = 3;
    EXPECT_TRUE(equal(layer.run(x, borrowed), layer.run(x, borrowed.clone())));
  }
}

// The first call finds no packed weights, the third uses them.
TEST(PackedWeights, FewRowsGiveTheSameBitsBeforeAndAfter) {
  NoGradGuard off;
  manual_seed(8);
  for (const int64_t rows : {2, 5, 32, 64}) {
    for (const int64_t k : {256, 1000}) {
      const Tensor x = randn({rows, k}), w = randn({192, k}), b = randn({192});
      const Tensor first = linear(x, w, b);
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(equal(linear(x, w, b), first)) << rows << ' ' << k;
    }
  }
}

}  // namespace
