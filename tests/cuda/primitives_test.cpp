// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls that a kernel declines are decomposed into the device's primitives: nothing goes through
// the host.
#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

class CudaPrimitives : public CudaAlone {
 protected:
  void SetUp() override {
    CudaAlone::SetUp();
    core::reset_fallback_counts();
  }
  static bool decomposed(const std::string& op) {
    for (const core::FallbackCount& c : core::fallback_counts()) {
      if (c.op == op && c.device == "cuda" && c.by == core::ServedBy::Decomposition) return true;
    }
    return false;
  }
};

TEST_F(CudaPrimitives, SupportMoreIndicesThanAKernel) {
  manual_seed(1);
  const Tensor self = randn({3, 2, 3, 2, 3}), values = randn({20});
  std::vector<Tensor> places;
  for (int64_t size : self.sizes()) places.push_back(randint(size, {20}, kLong));
  const auto indices = [&](auto on) {
    std::vector<std::optional<Tensor>> list;
    list.reserve(places.size());
    for (const Tensor& t : places) list.emplace_back(on(t));
    return list;
  };
  for (bool in_order : {false, true}) {
    core::set_deterministic(in_order);
    compare([&](auto on) { return on(self).index(indices(on)); });
    compare([&](auto on) {
      return on(self.to(kLong)).index_put(indices(on), on(values.to(kLong)), true);
    });
    compare([&](auto on) { return on(self).index_put(indices(on), on(full({}, 2.)), false); });
  }
  EXPECT_TRUE(decomposed("index_put"));
}

TEST_F(CudaPrimitives, SupportMasksInAFixedOrder) {
  manual_seed(2);
  core::set_deterministic(true);
  const Tensor self = randn({3, 8}), mask = rand({8}) < 0.5, selected = randint(3, {}, kLong);
  const Tensor values = randn({mask.sum().item<int64_t>()});
  compare([&](auto on) { return on(self).index_put({on(selected), on(mask)}, on(values), true); });
  EXPECT_TRUE(decomposed("index_put"));
}

// Scalars on the host, which no kernel supports.
TEST_F(CudaPrimitives, SupportScalarsOnTheHost) {
  const Tensor self = arange(12., kFloat).view({3, 4}), mask = self > 5, two = full({}, 2.),
               row = full({1}, 1, kLong);
  compare([&](auto on) { return on(self).fill(two); });
  compare([&](auto on) { return on(self).masked_fill(on(mask), two); });
  compare([&](auto on) { return on(self).index_fill(0, on(row), two); });
}

}  // namespace
}  // namespace tenon::test
