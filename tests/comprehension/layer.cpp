// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Forward and backward definitions as a recorded function.
#include <gtest/gtest.h>

#include "tenon/gradcheck.h"
#include "tenon/jit/comprehension.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

const char* convolution = R"(
  def forward(double(N,C,H,W) I, double(M,C,KH,KW) K) -> (O) {
    O(n, m, h, w) +=! I(n, c, h + kh, w + kw) * K(m, c, kh, kw)
  }
  # I is read with a border of zeros: where k > h nothing was read by O(h - k).
  def backward(double(N,C,H,W) I, double(M,C,KH,KW) K, double(N,M,P,Q) d_O) -> (d_I, d_K) {
    d_K(m, c, kh, kw) +=! I(n, c, h + kh, w + kw) * d_O(n, m, h, w)
    d_I(n, c, y, x) +=! y - kh >= 0 && y - kh < P && x - kw >= 0 && x - kw < Q
        ? d_O(n, m, int(fmin(fmax(y - kh, 0), P - 1)), int(fmin(fmax(x - kw, 0), Q - 1)))
          * K(m, c, kh, kw) : 0.0 where exists I(n, c, y, x)
  }
)";

TEST(ComprehensionLayer, AConvolutionHasItsGradients) {
  manual_seed(1);
  auto both = tc::define_all(convolution);
  const tc::Layer layer(both.at("forward"), both.at("backward"));
  const TensorOptions options = TensorOptions().dtype(kDouble).requires_grad(true);
  const Tensor x = randn({2, 2, 5, 4}, options), k = randn({3, 2, 3, 2}, options);
  const Tensor y = layer(x, k), expected = conv2d(x, k);
  EXPECT_TRUE(allclose(y, expected));
  const Tensor weight = randn(y.sizes(), TensorOptions().dtype(kDouble));
  (expected * weight).sum().backward();
  const Tensor dx = x.grad().clone(), dk = k.grad().clone();
  x.grad().zero_();
  k.grad().zero_();
  (y * weight).sum().backward();
  EXPECT_TRUE(allclose(x.grad(), dx));
  EXPECT_TRUE(allclose(k.grad(), dk));
  EXPECT_TRUE(
      autograd::gradcheck([&](const std::vector<Tensor>& in) { return layer.run(in); }, {x, k}));
}

TEST(ComprehensionLayer, OutlivesItsHandle) {
  const Tensor x = full({3}, 2.0, TensorOptions().requires_grad(true));
  Tensor sum;
  {
    auto both = tc::define_all(
        "def f(float(N) A) -> (o, t) { t(i) = A(i) * A(i)\n o(i) = t(i) * A(i) }\n"
        "def g(float(N) t, float(N) d_o) -> (d_A) { d_A(i) = 3 * t(i) * d_o(i) }");
    const std::vector<Tensor> outputs = tc::Layer(both.at("f"), both.at("g")).run({x});
    EXPECT_FALSE(outputs[1].requires_grad());
    sum = outputs[0].sum();
  }
  sum.backward();
  EXPECT_TRUE(equal(x.grad(), full({3}, 12.0)));
}

TEST(ComprehensionLayer, NamesAreChecked) {
  auto both = tc::define_all(
      "def f(float(N) A) -> (o) { o(i) = A(i) }\n"
      "def g(float(N) d_p) -> (d_A) { d_A(i) = d_p(i) }\n"
      "def h(float(N) d_o) -> (d_B) { d_B(i) = d_o(i) }");
  const auto message = [&](const char* backward) -> std::string {
    try {
      tc::Layer(both.at("f"), both.at(backward));
    } catch (const ValueError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(message("g"),
            "tc::Layer: argument d_p of g is not an argument or output of f, nor d_ "
            "and an output");
  EXPECT_EQ(message("h"), "tc::Layer: output d_B of h is not d_ and an argument of f");
}

}  // namespace
}  // namespace tenon
