// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Views in place, views of another dtype, and overloads that programs of libtorch use.
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

Tensor make_matrix() { return arange(6, TensorOptions(kFloat)).view({2, 3}); }

TEST(InplaceViews, ChangeTheTensorItself) {
  Tensor x = make_matrix(), same;
  same = x;
  const void* data = x.data_ptr();
  EXPECT_TRUE(x.t_().is_same(x));
  EXPECT_EQ(same.sizes(), IntArrayRef({3, 2}));
  EXPECT_EQ(x.strides(), IntArrayRef({1, 3}));
  EXPECT_EQ(x.index({2, 1}).item<float>(), 5);
  EXPECT_EQ(x.data_ptr(), data);
  EXPECT_EQ(x.transpose_(0, 1).sizes(), IntArrayRef({2, 3}));
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_EQ(x.swapaxes_(0, -1).sizes(), IntArrayRef({3, 2}));
  EXPECT_EQ(x.swapdims_(0, 1).sizes(), IntArrayRef({2, 3}));
  EXPECT_EQ(x.unsqueeze_(0).unsqueeze_(-1).sizes(), IntArrayRef({1, 2, 3, 1}));
  EXPECT_EQ(x.squeeze_(0).sizes(), IntArrayRef({2, 3, 1}));
  EXPECT_EQ(x.squeeze_(0).sizes(), IntArrayRef({2, 3, 1}));
  EXPECT_EQ(x.unsqueeze_(0).squeeze_({0, 3}).sizes(), IntArrayRef({2, 3}));
  EXPECT_EQ(x.unsqueeze_(1).squeeze_().sizes(), IntArrayRef({2, 3}));
  EXPECT_EQ(x.as_strided_({2}, {3}, 1).index({1}).item<float>(), 4);
  EXPECT_THROW(x.transpose_(0, 1), IndexError);
}

TEST(InplaceViews, PassGradients) {
  Tensor w = make_matrix().requires_grad_(), scale = arange(6, TensorOptions(kFloat)).view({3, 2});
  Tensor y = w * 2;
  y.t_();
  EXPECT_EQ(y.grad_fn()->name(), w.mul(2).t().grad_fn()->name());
  (y * scale).sum().backward();
  EXPECT_TRUE(equal(w.grad(), scale.t() * 2));

  // Of a view: the base keeps its own history, and a write through the transposed view reaches it.
  Tensor v = make_matrix().requires_grad_();
  Tensor base = v * 1;
  Tensor part = base.slice(1, 0, 2, 1);
  part.t_().mul_(3);
  EXPECT_EQ(part.sizes(), IntArrayRef({2, 2}));
  base.sum().backward();
  EXPECT_TRUE(equal(v.grad(), tensor({{3., 3., 1.}, {3., 3., 1.}})));
}

TEST(InplaceViews, KeepHistoriesSound) {
  Tensor leaf = make_matrix().requires_grad_();
  expect_words(text_of<Error>([&] { leaf.t_(); }), {"leaf"});
  EXPECT_EQ(leaf.sizes(), IntArrayRef({2, 3}));
  {
    NoGradGuard no_grad;
    leaf.t_();
  }
  EXPECT_EQ(leaf.sizes(), IntArrayRef({3, 2}));

  Tensor x = make_matrix().requires_grad_(), y = x * 1, z = (y * y).sum();
  const int64_t before = y._version();
  y.t_();
  EXPECT_EQ(y._version(), before + 1);
  expect_words(text_of<Error>([&] { z.backward(); }), {"modified by an inplace operation"});

  // A result that is transposed while nothing records still has the gradient of its new shape.
  Tensor a = make_matrix().requires_grad_(), b = a * 2;
  {
    NoGradGuard no_grad;
    b.transpose_(0, 1);
  }
  (b * arange(6, TensorOptions(kFloat)).view({3, 2})).sum().backward();
  EXPECT_TRUE(equal(a.grad(), tensor({{0., 4., 8.}, {2., 6., 10.}})));
}

TEST(InplaceViews, RetainedGradientFollows) {
  Tensor x = make_matrix().requires_grad_(), y = x * 1;
  y.retain_grad();
  y.t_();
  (y * 3).sum().backward();
  EXPECT_TRUE(equal(y.grad(), full({3, 2}, 3.)));
  // The graph may outlive the tensor whose gradient was asked for.
  Tensor total;
  {
    Tensor gone = x * 5;
    gone.retain_grad();
    total = gone.sum();
  }
  x.mutable_grad().reset();
  total.backward();
  EXPECT_TRUE(equal(x.grad(), full({2, 3}, 5.)));
}

TEST(ViewDtype, ReadsTheSameBytes) {
  Tensor x = tensor({1.0f, -2.0f});
  Tensor bits = x.view(kInt);
  EXPECT_EQ(bits.scalar_type(), kInt);
  EXPECT_EQ(bits.index({0}).item<int>(), 0x3f800000);
  EXPECT_TRUE(bits.is_alias_of(x));
  bits.fill_(0x40400000);
  EXPECT_EQ(x.index({1}).item<float>(), 3);
  EXPECT_EQ(bits._version(), x._version());

  Tensor wide = zeros({2, 4}, TensorOptions(kShort));
  EXPECT_EQ(wide.view(kByte).sizes(), IntArrayRef({2, 8}));
  EXPECT_EQ(wide.view(kByte).strides(), IntArrayRef({8, 1}));
  EXPECT_EQ(wide.view(kLong).sizes(), IntArrayRef({2, 1}));
  EXPECT_EQ(wide.slice(1, 2, 4, 1).view(kInt).storage_offset(), 1);
  EXPECT_EQ(wide.t().view(kHalf).strides(), IntArrayRef({1, 4}));
  EXPECT_FALSE(x.requires_grad_().view(kInt).requires_grad());
}

TEST(ViewDtype, SaysWhatDoesNotFit) {
  Tensor x = zeros({2, 3}, TensorOptions(kShort));
  expect_words(text_of<ValueError>([&] { x.view(kInt); }), {"do not fall on elements of int32"});
  expect_words(text_of<ValueError>([&] { x.t().view(kByte); }), {"must have stride 1"});
  expect_words(text_of<ValueError>([&] { x.select(0, 0).select(0, 0).view(kByte); }), {"0-dim"});
  EXPECT_THROW(zeros({4}, TensorOptions(kShort)).slice(0, 1, 3, 1).view(kInt), ValueError);
}

TEST(Overloads, NumbersMeanWhatLibtorchMeans) {
  Tensor x = make_matrix();
  EXPECT_EQ(x.var(1).sizes(), IntArrayRef({2}));
  EXPECT_TRUE(equal(x.var(1), tensor({1., 1.})));
  EXPECT_EQ(x.std(-2).sizes(), IntArrayRef({3}));
  EXPECT_EQ(x.var(true).dim(), 0);
  EXPECT_TRUE(equal(var(x, 1), x.var(1)));
  EXPECT_TRUE(equal(tenon::std(x, 0), x.std(0)));
  EXPECT_TRUE(equal(std::get<1>(var_mean(x, 1)), x.mean(1)));
  EXPECT_TRUE(equal(std::get<0>(std_mean(x, 1)), x.std(1)));
  EXPECT_EQ(var(x, true).dim(), 0);
  EXPECT_TRUE(equal(x.var(1, false), tensor({2., 2.}) / 3));
  EXPECT_EQ(x.var({0, 1}, true, true).sizes(), IntArrayRef({1, 1}));
  EXPECT_EQ(arange(5, 0 + 7).numel(), 2);
  EXPECT_THROW(arange(0, 5, 0), ValueError);
  EXPECT_EQ(zeros({2}, "cpu").device(), Device(kCPU));
  EXPECT_TRUE(equal(tensor({7, -7}).divide(2, "floor"), tensor({3, -4})));
  EXPECT_TRUE(equal(tensor({7, -7}).divide(tensor({2, 2}), "trunc"), tensor({3, -3})));
}

}  // namespace
}  // namespace tenon
