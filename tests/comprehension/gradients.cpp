// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Derived gradients against those of the operators and against differences, twice.
#include <gtest/gtest.h>

#include "tenon/gradcheck.h"
#include "tenon/jit/comprehension.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Inputs = std::vector<Tensor>;
using Peer = std::function<Tensor(const Inputs&)>;

Tensor leaf(IntArrayRef sizes) {
  return randn(sizes, TensorOptions().dtype(kDouble).requires_grad(true));
}

// The first output and its gradients are those of the operators; differences agree, twice.
void check(const char* text, const Inputs& inputs, const Peer& peer) {
  SCOPED_TRACE(text);
  const tc::Function f = tc::define(text);
  const Tensor ours = f.run(inputs)[0], theirs = peer(inputs);
  ASSERT_TRUE(allclose(ours, theirs));
  Inputs leaves;
  for (const Tensor& t : inputs)
    if (t.requires_grad()) leaves.push_back(t);
  const Tensor weight = randn(ours.sizes(), TensorOptions().dtype(kDouble));
  const Inputs found = autograd::grad({(ours * weight).sum()}, leaves),
               expected = autograd::grad({(theirs * weight).sum()}, leaves);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(allclose(found[i], expected[i])) << i;
  const auto of_leaves = [&](const Inputs& values) {
    Inputs all = inputs;
    std::size_t next = 0;
    for (Tensor& t : all)
      if (t.requires_grad()) t = values[next++];
    return Inputs{f.run(all)[0]};
  };
  EXPECT_TRUE(autograd::gradcheck(of_leaves, leaves));
  EXPECT_TRUE(autograd::gradgradcheck(of_leaves, leaves));
}

TEST(ComprehensionGradients, AreThoseOfTheOperators) {
  manual_seed(1);
  check("def f(double(M,K) A, double(K,N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }",
        {leaf({3, 4}), leaf({4, 2})}, [](const Inputs& in) { return matmul(in[0], in[1]); });
  check(
      "def f(double(N,C,H,W) I, double(M,C,KH,KW) K) -> (O) {"
      "  O(n, m, h, w) +=! I(n, c, 2 * h + kh, w + kw) * K(m, c, kh, kw) }",
      {leaf({1, 2, 6, 4}), leaf({2, 2, 2, 2})}, [](const Inputs& in) {
        return conv2d(in[0], in[1], {}, IntArrayRef({2, 1}));
      });
  check(
      "def f(double(N,D) I) -> (O, top, total) {\n top(n) max=! I(n, d)\n"
      " total(n) +=! exp(I(n, d) - top(n))\n O(n, d) = exp(I(n, d) - top(n)) / total(n) }",
      {leaf({3, 5})}, [](const Inputs& in) { return softmax(in[0], 1); });
  check("def f(double(N) A) -> (O) { O(i) = A(i) > 0 ? A(i) * A(i) : 0.5 * A(i) }", {leaf({9})},
        [](const Inputs& in) { return where(in[0] > 0, in[0] * in[0], 0.5 * in[0]); });
}

TEST(ComprehensionGradients, OfIndirectReads) {
  manual_seed(2);
  const Tensor rows = tensor({2, 0, 2, 1}, TensorOptions().dtype(kInt));
  check("def f(double(E,D) table, int(N) rows) -> (O) { O(n, d) = table(rows(n), d) }",
        {leaf({3, 2}), rows},
        [&](const Inputs& in) { return in[0].index_select(0, rows.to(kLong)); });
}

// A statement reads what it writes, and what another wrote since.
TEST(ComprehensionGradients, OfTensorsThatAreWrittenSeveralTimes) {
  manual_seed(3);
  check(
      "def f(double(N) A) -> (O) {\n O(i) = A(i) * A(i)\n O(i) = O(i) * A(i)\n"
      " O(i) = sin(O(i)) + O(i) }",
      {leaf({5})}, [](const Inputs& in) {
        const Tensor cube = in[0] * in[0] * in[0];
        return cube.sin() + cube;
      });
}

TEST(ComprehensionGradients, OfOneTensorInTwoPlaces) {
  const Tensor x = full({3}, 3.0, TensorOptions().requires_grad(true));
  const tc::Function f = tc::define("def f(float(N) A, float(N) B) -> (O) { O(i) = A(i) * B(i) }");
  f(x, x).sum().backward();
  EXPECT_TRUE(equal(x.grad(), full({3}, 6.0)));
}

TEST(ComprehensionGradients, OfForwardMode) {
  const tc::Function f = tc::define("def f(float(N) A) -> (O) { O(i) = A(i) * A(i) }");
  const autograd::forward_ad::DualLevelGuard level;
  const Tensor x = arange(3, kFloat), direction = full({3}, 0.5);
  const auto [y, tangent] =
      autograd::forward_ad::unpack_dual(f(autograd::forward_ad::make_dual(x, direction)));
  EXPECT_TRUE(equal(y, x * x));
  EXPECT_TRUE(equal(tangent, x));
}

TEST(ComprehensionGradients, OnlyWhereOneIsWanted) {
  const Tensor x = ones({3}, TensorOptions().requires_grad(true)), y = ones({3});
  const tc::Function f = tc::define(
      "def f(float(N) A, float(N) B) -> (O, P, whole) {\n O(i) = A(i) * B(i)\n P(i) = B(i)\n"
      " whole(i) = int(A(i)) }");
  const std::vector<Tensor> outputs = f.run({x, y});
  EXPECT_TRUE(outputs[0].requires_grad());
  EXPECT_FALSE(outputs[2].requires_grad());
  (outputs[0].sum() + outputs[1].sum()).backward();
  EXPECT_TRUE(equal(x.grad(), ones({3})));
  EXPECT_FALSE(y.grad().defined());
  const NoGradGuard none;
  EXPECT_FALSE(f.run({x, y})[0].requires_grad());
}

}  // namespace
}  // namespace tenon
