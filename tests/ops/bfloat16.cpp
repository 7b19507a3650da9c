// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// bfloat16 products are oneDNN's where the processor offers them, and what a virtual machine offers
// may be a SIGILL. So they run in a process of their own, large enough to use them, and are
// compared with float products there.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "tenon/autograd.h"
#include "tenon/ops.h"

using namespace tenon;

namespace {

using Product = std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)>;

// Two roundings to 8 bits, of the product and of what is added to it, against the largest element.
bool near(const char* name, const Tensor& given, const Tensor& expected) {
  const float off = (given.to(kFloat) - expected).abs().max().item<float>();
  const float largest = expected.abs().max().item<float>();
  const bool ok = given.scalar_type() == kBFloat16 && largest > 1 && off <= largest / 128;
  if (!ok) std::fprintf(stderr, "%s: off by %g where the largest is %g\n", name, off, largest);
  return ok;
}

// The product and its gradients, from the same values in both types.
bool agrees(const char* name, const Product& f, const Tensor& x, const Tensor& w, const Tensor& b) {
  const auto run = [&](ScalarType t) {
    std::vector<Tensor> leaves;
    for (const Tensor& v : {x, w, b})
      leaves.push_back(v.to(kBFloat16).to(t).detach().set_requires_grad(true));
    const Tensor y = f(leaves[0], leaves[1], leaves[2]);
    y.backward(ones(y.sizes(), TensorOptions().dtype(t)));
    return std::vector<Tensor>{y.detach(), leaves[0].grad(), leaves[1].grad()};
  };
  const auto given = run(kBFloat16), expected = run(kFloat);
  bool ok = true;
  for (std::size_t i = 0; i < given.size(); ++i) ok = near(name, given[i], expected[i]) && ok;
  return ok;
}

bool all_products() {
  const auto mm_only = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return mm(x, w) + b;
  };
  const auto affine = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return linear(x, w, b);
  };
  const auto conv = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return conv2d(x, w, b, {1}, {1});
  };
  bool ok = agrees("mm", mm_only, randn({160, 192}), randn({192, 136}), randn({136}));
  ok = agrees("linear", affine, randn({160, 192}), randn({136, 192}), randn({136})) && ok;
  ok = agrees("conv2d", conv, randn({4, 16, 20, 20}), randn({32, 16, 3, 3}), randn({32})) && ok;
  return ok;
}

}  // namespace

TEST(BFloat16DeathTest, ProductsLeaveTheProcessAliveAndAgreeWithFloat) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(std::_Exit(all_products() ? 0 : 1), testing::ExitedWithCode(0), "");
}
