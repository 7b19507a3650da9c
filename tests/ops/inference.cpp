// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Inference tensors, and what may be written: writes to them are not counted, so they take no part
// in a recording.
#include <gtest/gtest.h>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon {
namespace {

using test::expect_words;
using test::text_of;

Tensor inference_ones() {
  InferenceMode mode;
  return ones({3});
}
Tensor leaf() { return ones({3}).requires_grad_(); }

TEST(Inference, TensorsAreNotSavedForBackward) {
  const Tensor s = inference_ones(), c = leaf();
  expect_words(text_of([&] { c.mul(s); }), {"MulTensorBackward", "nference", "clone()"});
  expect_words(text_of([&] { (c * 1).mul_(s); }), {"MulTensorBackward", "nference"});
  expect_words(text_of([&] {
                 addmm(leaf().view({1, 3}), ones({1, 3}).requires_grad_(), s.expand({3, 3}));
               }),
               {"nference"});
  // What saves nothing of it, and calls that are not recorded.
  EXPECT_TRUE((c + s).requires_grad());
  EXPECT_TRUE((c * s.clone()).requires_grad());
  EXPECT_FALSE((ones({3}) * s).is_inference());
  NoGradGuard no_grad;
  EXPECT_TRUE(equal(c * s, ones({3})));
}

struct Product : autograd::Function<Product> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x, const Tensor& y) {
    ctx->save_for_backward({y});
    return x * y;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx,
                                          const autograd::variable_list& g) {
    return {g[0] * ctx->get_saved_variables()[0], Tensor()};
  }
};

TEST(Inference, TensorsAreNotSavedByAFunction) {
  expect_words(text_of([] { Product::apply(leaf(), inference_ones()); }), {"Product", "nference"});
}

TEST(Inference, TensorsAreWrittenInInferenceModeAlone) {
  const Tensor s = inference_ones();
  Tensor out = s;
  expect_words(text_of([&] { s.mul_(2); }), {"mul.Scalar_", "inference tensor", "clone()"});
  expect_words(text_of([&] { s.copy_(zeros({3})); }), {"copy_", "inference tensor"});
  expect_words(text_of([&] { s.square_(); }), {"square_", "inference tensor"});
  expect_words(text_of([&] { s.index_put_({0}, 5); }), {"inference tensor"});
  expect_words(text_of([&] { add_out(out, ones({3}), ones({3})); }),
               {"add.Tensor", "out", "inference tensor"});
  expect_words(text_of([&] { s.resize_({5}); }), {"resize_", "inference tensor"});
  expect_words(text_of([&] { s.unsqueeze_(0); }), {"unsqueeze_", "inference tensor"});
  {
    NoGradGuard no_grad;
    EXPECT_THROW(s.zero_(), Error);
  }
  EXPECT_TRUE(equal(s, ones({3})));
  InferenceMode mode;
  s.mul_(2);
  add_out(out, s, s);
  EXPECT_TRUE(equal(s, full({3}, 4.)));
}

// As in torch 2.15.
TEST(Inference, ViewsAreWhatTheirSourceIs) {
  const Tensor s = inference_ones(), a = leaf() * 1;
  EXPECT_TRUE(s.view({3, 1}).is_inference());
  EXPECT_FALSE(s.view({3, 1}).is_view());
  EXPECT_TRUE(s.detach().is_inference());
  EXPECT_TRUE(s.data().is_inference());
  EXPECT_FALSE(s.clone().is_inference());
  Tensor v;
  {
    InferenceMode mode;
    v = a.view({3, 1});
    EXPECT_FALSE(v.is_inference());
    EXPECT_TRUE(v.is_view());
    EXPECT_FALSE(a.detach().is_inference());
    EXPECT_FALSE(s.view({3, 1}).is_view());
    EXPECT_TRUE((a + 1).is_inference());
    EnableGradGuard on;  // says nothing here
    EXPECT_FALSE((a + 1).requires_grad());
  }
  EXPECT_THROW(v.mul_(2), Error);
  expect_words(text_of([&] { s.requires_grad_(); }), {"requires_grad", "inference"});
}

TEST(Versions, CountWritesThatAProgramMade) {
  EXPECT_EQ(ones({2})._version(), 0);
  EXPECT_EQ(zeros({2})._version(), 0);
  EXPECT_EQ(full({2}, 3)._version(), 0);
  EXPECT_EQ(tensor({1., 2.})._version(), 0);
  EXPECT_EQ(arange(3)._version(), 0);
  EXPECT_EQ(eye(3)._version(), 0);
  EXPECT_EQ(linspace(0, 1, 3)._version(), 0);
  EXPECT_EQ(rand({2})._version(), 0);
  EXPECT_EQ(randn({2})._version(), 0);
  EXPECT_EQ(randint(0, 3, {2})._version(), 0);
  EXPECT_EQ(randperm(3)._version(), 0);
  EXPECT_EQ(ones_like(rand({2}))._version(), 0);
  EXPECT_EQ(tril_indices(3, 3)._version(), 0);
  EXPECT_EQ((ones({2}) * 2)._version(), 0);
  EXPECT_EQ(cat({ones({2}), ones({2})})._version(), 0);
  EXPECT_EQ(ones({2}).zero_()._version(), 1);
}

TEST(Backward, PutsGradientsIntoTheInputsAlone) {
  const Tensor x = leaf(), y = leaf();
  const Tensor z = x * 2, w = (z * z + y).sum();
  w.backward({}, true, false, TensorList({z}));
  EXPECT_TRUE(equal(z.grad(), full({3}, 4.)));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(y.grad().defined());
  const Tensor both[] = {z, x};
  w.backward({}, true, false, TensorList(both));
  EXPECT_TRUE(equal(z.grad(), full({3}, 8.)));
  EXPECT_TRUE(equal(x.grad(), full({3}, 8.)));
  expect_words(text_of<ValueError>([&] { w.backward({}, true, false, TensorList()); }),
               {"backward", "inputs", "empty"});
}

// Constant between jumps, also in place; torch lets logical_not_ pass the gradient on.
TEST(InPlaceComparisons, HaveAGradientOfZero) {
  const auto gradient = [](void (*write)(const Tensor&)) {
    const Tensor x = leaf();
    Tensor y = x * 1;
    write(y);
    EXPECT_TRUE(y.requires_grad());
    Tensor z = x * 1;
    write(z.slice(0, 0, 2, 1));
    return autograd::grad({y.sum() + z.sum()}, {x})[0];
  };
  const Tensor wanted = tensor({0., 0., 1.}, TensorOptions(kFloat));
  for (auto write : {+[](const Tensor& t) { t.gt_(0); }, +[](const Tensor& t) { t.le_(t + 1); },
                     +[](const Tensor& t) { t.eq_(1); }, +[](const Tensor& t) { t.not_equal_(1); },
                     +[](const Tensor& t) { t.logical_not_(); },
                     +[](const Tensor& t) { t.logical_xor_(t.detach()); }}) {
    EXPECT_TRUE(equal(gradient(write), wanted));
  }
}

}  // namespace
}  // namespace tenon
