// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/saved_tensors_hooks.h"

#include <gtest/gtest.h>

#include <thread>

#include "tenon/tenon.h"
#include "tests/support.h"

namespace tenon {
namespace {

using autograd::graph::disable_saved_tensors_hooks;
using autograd::graph::saved_tensors_hooks;
using test::expect_words;
using test::text_of;

Tensor leaf(IntArrayRef sizes) { return randn(sizes, TensorOptions(kDouble)).requires_grad_(); }
Tensor same(const Tensor& t) { return t; }

TEST(SavedTensorsHooks, PackWhatIsSavedAndUnpackWhatIsRead) {
  const Tensor x = leaf({3}), y = leaf({3});
  int packed = 0, unpacked = 0;
  Tensor product;
  {
    const saved_tensors_hooks hooks(
        [&](const Tensor& t) {
          EXPECT_FALSE(t.requires_grad());
          EXPECT_FALSE(GradMode::is_enabled());
          ++packed;
          return std::make_pair(t.clone(), 7);
        },
        [&](const std::pair<Tensor, int>& p) {
          EXPECT_EQ(p.second, 7);
          ++unpacked;
          return p.first;
        });
    product = x * y;
  }
  EXPECT_EQ(packed, 2);
  EXPECT_EQ(unpacked, 0);
  const Tensor z = product.exp();  // not packed
  autograd::grad({z.sum()}, {x}, {}, /*retain_graph=*/true);
  EXPECT_EQ(packed, 2);
  const int once = unpacked;
  EXPECT_GE(once, 1);
  const Tensor g = autograd::grad({z.sum()}, {x})[0];
  EXPECT_EQ(unpacked, 2 * once);
  EXPECT_TRUE(allclose(g, y.detach() * (x * y).exp().detach()));
  EXPECT_THROW(autograd::grad({product.sum()}, {x}), Error);  // its buffers are freed
}

TEST(SavedTensorsHooks, TheGradientSeesWhatUnpackReturns) {
  const Tensor x = leaf({4});
  Tensor out;
  {
    const saved_tensors_hooks hooks([](const Tensor& t) { return t.to(kBFloat16); },
                                    [](const Tensor& t) { return t.to(kDouble) * 2; });
    out = x.square().sum();
  }
  out.backward();
  EXPECT_TRUE(allclose(x.grad(), x.detach().to(kBFloat16).to(kDouble) * 4));
}

TEST(SavedTensorsHooks, GradientsOfGradientsReachTheSavedTensors) {
  const Tensor x = leaf({3});
  const auto second = [&](const Tensor& y) {
    const Tensor first = autograd::grad({y}, {x}, {}, std::nullopt, /*create_graph=*/true)[0];
    return autograd::grad({first.sum()}, {x})[0];
  };
  const auto f = [&] { return (x.exp() * x).tanh().sum(); };
  const Tensor want = second(f());
  const saved_tensors_hooks hooks(same, same);
  EXPECT_TRUE(allclose(second(f()), want));
  const auto through_view = [&] {
    const Tensor base = x * 2;
    base.slice(0, 0, 2).exp_();
    return base.square().sum();
  };
  Tensor plain;
  {
    const Tensor s = second(through_view());
    plain = (4 * x * (4 * x).exp() * 0).detach();  // of the shape of x
    plain.slice(0, 0, 2).copy_((16 * (4 * x).exp()).detach().slice(0, 0, 2));
    plain.slice(0, 2, 3).fill_(8);
    EXPECT_TRUE(allclose(s, plain));
  }
}

TEST(SavedTensorsHooks, OfNestedOnesTheInnermostIsCalled) {
  const Tensor x = leaf({3});
  int outer = 0, inner = 0;
  const saved_tensors_hooks a([&](const Tensor& t) { return ++outer, t; }, same);
  const Tensor one = x.exp();
  {
    const saved_tensors_hooks b([&](const Tensor& t) { return ++inner, t; }, same);
    one.sin();
  }
  one.cos();
  EXPECT_EQ(outer, 2);
  EXPECT_EQ(inner, 1);
  std::thread([&] { x.exp(); }).join();  // hooks are those of a thread
  EXPECT_EQ(outer, 2);
}

TEST(SavedTensorsHooks, Errors) {
  const Tensor x = leaf({3});
  {
    const saved_tensors_hooks hooks([](const Tensor& t) { return t.mul_(2); }, same);
    expect_words(text_of<Error>([&] { x* x; }), {"pack hook is modifying its input in place"});
  }
  Tensor y, z;
  {
    const saved_tensors_hooks hooks(same, [](const Tensor&) { return Tensor(); });
    y = x.square().sum();
  }
  expect_words(text_of<TypeError>([&] { y.backward(); }), {"unpack_hook", "to be a Tensor"});
  {
    const saved_tensors_hooks hooks(same, [](const Tensor& t) { return t.slice(0, 0, 1); });
    z = x.square().sum();
  }
  expect_words(text_of<ValueError>([&] { z.backward(); }), {"unpack_hook", "[1]", "[3]"});
  const disable_saved_tensors_hooks off("not in this block");
  expect_words(text_of<Error>([&] { saved_tensors_hooks hooks(same, same); }),
               {"not in this block"});
}

}  // namespace
}  // namespace tenon
