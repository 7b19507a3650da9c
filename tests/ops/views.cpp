// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Views share memory, refuse what they cannot express, and pass gradients to where they looked.
#include <gtest/gtest.h>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tests/support.h"

namespace tenon {
namespace {

using test::expect_words;
using test::text_of;

TEST(Views, ShareMemory) {
  Tensor x = arange(24, TensorOptions(kFloat)).view({2, 3, 4});
  EXPECT_EQ(x.select(0, 1).data_ptr<float>(), x.data_ptr<float>() + 12);
  EXPECT_EQ(x.slice(2, 1, 4, 2).sizes(), IntArrayRef({2, 3, 2}));
  EXPECT_EQ(x.slice(2, 1, 4, 2).strides(), IntArrayRef({12, 4, 2}));
  EXPECT_EQ(x.transpose(0, 2).strides(), IntArrayRef({1, 4, 12}));
  EXPECT_EQ(x.expand({5, 2, 3, 4}).stride(0), 0);
  // New dimensions of size 1 step over what follows them, unless a repeated one is between.
  EXPECT_EQ(x.expand({1, 1, 2, 3, 4}).strides(), IntArrayRef({24, 24, 12, 4, 1}));
  EXPECT_EQ(x.expand({1, 5, 1, 2, 3, 4}).strides(), IntArrayRef({0, 0, 24, 12, 4, 1}));
  EXPECT_TRUE(x.reshape({6, 4}).is_alias_of(x));
  EXPECT_FALSE(x.transpose(0, 1).reshape({24}).is_alias_of(x));
  EXPECT_TRUE(x.transpose(0, 1).transpose(0, 1).reshape({24}).is_alias_of(x));
  x.diagonal(0, 1, 2).fill_(-1);
  EXPECT_EQ(x.select(0, 1).select(0, 2).select(0, 2).item<float>(), -1);
}

TEST(Views, CutAndJoinRunsOfMemory) {
  Tensor x = zeros({2, 3, 8}).slice(2, 0, 4, 1);
  EXPECT_EQ(x.view({6, 2, 2}).strides(), IntArrayRef({8, 2, 1}));
  EXPECT_EQ(x.view({2, 1, 3, 4}).size(1), 1);
  expect_words(text_of<ValueError>([&] { x.view({24}); }), {"view is incompatible with strides"});
  EXPECT_EQ(zeros({0, 3}).view({3, 0}).numel(), 0);
}

TEST(Views, SayWhatIsWrong) {
  Tensor x = zeros({2, 3});
  expect_words(text_of<IndexError>([&] { x.select(1, 3); }),
               {"index 3 is out of bounds for dimension 1 of size 3"});
  expect_words(text_of<IndexError>([&] { x.transpose(0, 2); }),
               {"dimension out of range: allowed [-2, 1], got 2"});
  expect_words(text_of<IndexError>([&] { x.sum().select(0, 0); }), {"item()"});
  expect_words(text_of<ValueError>([&] {
                 x.expand({2, 4});
               }),
               {"cannot expand size 3 to 4 at dimension 1"});
  expect_words(text_of<ValueError>([&] { x.slice(0, 0, 2, 0); }), {"slice step must be positive"});
  EXPECT_THROW(x.view({-1, -1}), ValueError);
  EXPECT_THROW(x.view({4}), ValueError);
  EXPECT_THROW(x.permute({0, 0}), ValueError);
  EXPECT_THROW(x.as_strided({7}, {1}), ValueError);
}

TEST(Views, GradientsGoWhereTheyLooked) {
  Tensor x = rand({3, 4}, TensorOptions(kDouble)).requires_grad_();
  Tensor y =
      x.t().slice(0, 1, 4, 2).select(1, 2).sum() + 2 * x.diagonal().sum() + x.unfold(1, 2, 1).sum();
  y.backward();
  Tensor expected = tensor({{3., 2., 2., 1.}, {1., 4., 2., 1.}, {1., 3., 4., 2.}}, kDouble);
  EXPECT_TRUE(equal(x.grad(), expected)) << x.grad();
}

TEST(Views, AsStridedCountsSharedElementsOnce) {
  Tensor x = arange(6, TensorOptions(kDouble)).requires_grad_();
  x.as_strided({3, 2}, {1, 1}, 1).sum().backward();
  EXPECT_TRUE(equal(x.grad(), tensor({0., 1., 2., 2., 1., 0.}, kDouble))) << x.grad();
}

TEST(Views, WritesThroughAViewReachTheBaseAndItsGradient) {
  Tensor x = ones({2, 2}, TensorOptions(kDouble)).requires_grad_();
  Tensor y = x * 2;
  y.select(0, 1).mul_(3);
  y.sum().backward();
  EXPECT_TRUE(equal(x.grad(), tensor({{2., 2.}, {6., 6.}}, kDouble))) << x.grad();
}

TEST(Views, SplitsAreViews) {
  Tensor x = arange(10);
  EXPECT_EQ(x.split(4)[2].sizes(), IntArrayRef({2}));
  EXPECT_EQ(x.chunk(3)[0].size(0), 4);
  EXPECT_EQ(x.tensor_split(3)[0].size(0), 4);
  EXPECT_TRUE(x.unbind()[3].is_alias_of(x));
  EXPECT_THROW(x.split_with_sizes({3, 3}), ValueError);
}

}  // namespace
}  // namespace tenon
