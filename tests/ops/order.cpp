// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sorting and selecting: stability, NaN, strides, gradients.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

TEST(Order, StableInBothDirections) {
  Tensor x = arange(3000).remainder(7);
  for (bool descending : {false, true}) {
    auto [values, indices] = sort(x, std::optional<bool>(true), 0, descending);
    Tensor key = (descending ? values.neg() : values) * 10000 + indices;
    EXPECT_TRUE(key.slice(0, 1, 3000).gt(key.slice(0, 0, 2999)).all().item<bool>());
    EXPECT_TRUE(equal(x.index_select(0, indices), values));
  }
}

TEST(Order, NanIsTheGreatest) {
  Tensor x = tensor({2., std::nan(""), -1., 0., -0.});
  EXPECT_TRUE(equal(std::get<1>(x.sort()), tensor({2, 3, 4, 0, 1})));
  EXPECT_TRUE(equal(std::get<1>(x.sort(0, true)), tensor({1, 0, 3, 4, 2})));
  EXPECT_TRUE(equal(std::get<1>(x.topk(2)), tensor({1, 0})));
}

TEST(Order, TopkAgreesWithSort) {
  manual_seed(1);
  Tensor x = randn({5000, 3});
  auto [top, at] = x.topk(70, 0);
  auto [sorted, order] = x.sort(0, true);
  EXPECT_TRUE(equal(top, sorted.slice(0, 0, 70)));
  EXPECT_TRUE(equal(x.gather(0, at), top));
  auto [value, place] = x.kthvalue(10, 0);
  EXPECT_TRUE(equal(value, std::get<0>(x.sort(0)).select(0, 9)));
  EXPECT_TRUE(equal(x.gather(0, place.unsqueeze(0)).squeeze(0), value));
}

TEST(Order, GradientsFollowTheElements) {
  Tensor x = tensor({3., 1., 2.}).requires_grad_();
  std::get<0>(x.sort()).mul(tensor({10., 20., 30.})).sum().backward();
  EXPECT_TRUE(equal(x.grad(), tensor({30., 10., 20.})));
}

TEST(Order, UniqueAndSearch) {
  Tensor x = tensor({3, 1, 3, 2, 1});
  auto [values, inverse, counts] = _unique2(x, true, true, true);
  EXPECT_TRUE(equal(values, tensor({1, 2, 3})));
  EXPECT_TRUE(equal(values.index_select(0, inverse), x));
  EXPECT_TRUE(equal(counts, tensor({2, 1, 2})));
  EXPECT_TRUE(equal(searchsorted(values, tensor({0, 2, 9})), tensor({0, 1, 3})));
  EXPECT_TRUE(equal(bincount(x), tensor({0, 2, 1, 2})));
}

}  // namespace
}  // namespace tenon
