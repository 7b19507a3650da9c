// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The device "meta": shapes, strides and dtypes of results, and no elements.
#include <gtest/gtest.h>

#include <functional>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/print.h"
#include "tenon/runtime/error.h"
#include "tests/support.h"

namespace tenon {
namespace {

const Device kOnMeta(DeviceType::Meta);

Tensor meta(IntArrayRef sizes, ScalarType dtype = kFloat) {
  return empty(sizes, TensorOptions(dtype).device(kOnMeta));
}

TEST(Meta, ResultsHaveSizesStridesAndDtype) {
  const Tensor x = meta({4, 3}), y = meta({3, 5});
  EXPECT_TRUE(x.is_meta());
  EXPECT_EQ(x.device().str(), "meta:0");
  const Tensor product = x.mm(y).t();
  EXPECT_TRUE(product.is_meta());
  EXPECT_EQ(product.sizes(), (IntArrayRef{5, 4}));
  EXPECT_EQ(product.strides(), (IntArrayRef{1, 5}));
  EXPECT_EQ((x + meta({3}, kDouble)).scalar_type(), kDouble);
  EXPECT_EQ((x > 0).scalar_type(), kBool);
  EXPECT_EQ(softmax(x, 1).sizes(), x.sizes());
  EXPECT_EQ(x.sum(0).sizes(), (IntArrayRef{3}));
  EXPECT_EQ(cat({x, x}, 1).sizes(), (IntArrayRef{4, 6}));
  EXPECT_EQ(x.index({1}).sizes(), (IntArrayRef{3}));
  EXPECT_EQ(std::get<1>(x.sort(1)).scalar_type(), kLong);
  EXPECT_EQ(std::get<1>(linalg_svd(x, false)).sizes(), (IntArrayRef{3}));
  EXPECT_EQ(linalg_inv(meta({2, 3, 3})).sizes(), (IntArrayRef{2, 3, 3}));
}

TEST(Meta, HoldsMoreThanThereIsMemory) {
  const Tensor x = zeros({1 << 20, 1 << 20}, TensorOptions(kDouble).device(kOnMeta));
  const Tensor y = (x * 2 + 1).exp();
  EXPECT_EQ(y.numel(), int64_t{1} << 40);
  EXPECT_EQ(randn({1 << 15, 1 << 15}, TensorOptions().device(kOnMeta)).dim(), 2);
}

TEST(Meta, WritesChangeNothingButTheVersion) {
  Tensor x = meta({4, 3});
  const auto before = x._version();
  x.add_(1).mul_(meta({3})).index_put_({0}, 7.0);
  x.copy_(ones({4, 3}));
  EXPECT_GT(x._version(), before);
  Tensor out = meta({0});
  add_out(out, x, x);
  EXPECT_EQ(out.sizes(), x.sizes());
  x.t().add_(meta({3, 4}, kDouble));  // through a cast and strides
  EXPECT_THROW(x.add_(meta({5})), Error);
  EXPECT_THROW(x.add_(ones({4, 3})), Error);  // of another device
}

TEST(Meta, NothingCanBeRead) {
  const Tensor x = meta({1});
  for (const auto& read : {std::function<void()>([&] { (void)x.cpu(); }),
                           std::function<void()>([&] { (void)x.item(); }),
                           std::function<void()>([&] { ones({1}).copy_(x); }),
                           std::function<void()>([&] { (void)x.equal(x.clone()); })})
    EXPECT_TRUE(test::has(test::text_of<NotImplementedError>(read),
                          "Cannot copy out of meta tensor; no data!"));
  EXPECT_TRUE(test::has(test::text_of<NotImplementedError>([&] { (void)x.nonzero(); }),
                        "depend on elements"));
  EXPECT_TRUE(test::has(test::text_of<TypeError>([&] { (void)x.data_ptr(); }), "has no elements"));
  EXPECT_THROW((void)x.to_sparse(), Error);
}

TEST(Meta, NetworksAndGradients) {
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(3, 8, 3).padding(1)), nn::BatchNorm2d(8),
                     nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(8 * 16 * 16, 10));
  net->to(kOnMeta);
  const Tensor x = meta({2, 3, 32, 32}).set_requires_grad(true);
  const Tensor loss = cross_entropy_loss(net->forward(x), meta({2}, kLong));
  EXPECT_EQ(loss.dim(), 0);
  loss.backward();
  EXPECT_EQ(x.grad().sizes(), x.sizes());
  for (const Tensor& p : net->parameters()) {
    EXPECT_TRUE(p.grad().is_meta());
    EXPECT_EQ(p.grad().sizes(), p.sizes());
  }
}

TEST(Meta, IsPrintedWithoutElements) {
  EXPECT_EQ(to_text(meta({2, 3}), PrintStyle::Tenon), "tensor(..., size=(2, 3), device='meta:0')");
  EXPECT_EQ(to_text(meta({2, 3}), PrintStyle::Libtorch), "[ MetaFloatType{2,3} ]");
}

}  // namespace
}  // namespace tenon
