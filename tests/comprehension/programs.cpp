// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Definitions against the operators that they are.
#include <gtest/gtest.h>

#include "tenon/jit/comprehension.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

struct Case {
  const char* name;
  const char* text;
  Tensors (*inputs)();
  Tensors (*expected)(const Tensors&);
  tc::Constants constants = {};
};

Tensor floats(IntArrayRef sizes) { return randn(sizes); }
Tensor positive(IntArrayRef sizes) { return rand(sizes) + 0.5; }
Tensor integers(int64_t below, IntArrayRef sizes) {
  return randint(below, sizes, TensorOptions().dtype(kLong));
}

const Case cases[] = {
    {"Matmul", "def f(float(M,K) A, float(K,N) B) -> (C) { C(m, n) +=! A(m, kk) * B(kk, n) }",
     [] {
       return Tensors{floats({5, 7}), floats({7, 3})};
     },
     [](const Tensors& x) { return Tensors{x[0].mm(x[1])}; }},
    {"MatmulInTwoLines",  // sample 48: what +=! means
     "def f(float(M,K) A, float(K,N) B) -> (C) {\n"
     "  C(m, n) = 0.0 where m in 0:M, n in 0:N\n  C(m, n) += A(m, kk) * B(kk, n) }",
     [] {
       return Tensors{floats({5, 7}), floats({7, 3})};
     },
     [](const Tensors& x) { return Tensors{x[0].mm(x[1])}; }},
    {"TransposedMatmul",
     "def f(float(M,K) A, float(N,K) B) -> (C) { C(m, n) +=! A(m, k) * B(n, k) }",
     [] {
       return Tensors{floats({4, 6}), floats({5, 6})};
     },
     [](const Tensors& x) { return Tensors{x[0].mm(x[1].t())}; }},
    {"StridedInputs", "def f(float(M,K) A, float(K,N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }",
     [] {
       return Tensors{floats({7, 5}).t(), floats({7, 6}).slice(1, 0, 6, 2)};
     },
     [](const Tensors& x) { return Tensors{x[0].mm(x[1])}; }},
    {"FullyConnectedRelu",  // sample 46
     "def f(float(B,M) I, float(N,M) W, float(N) b) -> (O) {\n"
     "  O(b0, n) +=! I(b0, m) * W(n, m)\n  O(b0, n) = O(b0, n) + b(n)\n"
     "  O(b0, n) = fmax(O(b0, n), 0) }",
     [] {
       return Tensors{floats({10, 12}), floats({10, 12}), floats({10})};
     },
     [](const Tensors& x) { return Tensors{relu(x[0].mm(x[1].t()) + x[2])}; }},
    {"BatchMatmul",
     "def f(float(B,N,M) X, float(B,M,K) Y) -> (Z) { Z(b, n, k) +=! X(b, n, mm) * Y(b, mm, k) }",
     [] {
       return Tensors{floats({2, 3, 4}), floats({2, 4, 5})};
     },
     [](const Tensors& x) { return Tensors{x[0].bmm(x[1])}; }},
    {"Convolution",
     "def f(float(N,C,H,W) I, float(M,C,KH,KW) W1, float(M) B) -> (O) {\n"
     "  O(n, m, h, w) +=! I(n, c, h + kh, w + kw) * W1(m, c, kh, kw)\n"
     "  O(n, m, h, w) = O(n, m, h, w) + B(m) }",
     [] {
       return Tensors{floats({2, 3, 7, 8}), floats({4, 3, 3, 2}), floats({4})};
     },
     [](const Tensors& x) { return Tensors{conv2d(x[0], x[1], x[2])}; }},
    {"StridedConvolution",
     "def f(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) {\n"
     "  O(n, m, h, w) +=! I(n, c, sH * h + kh, sW * w + kw) * W1(m, c, kh, kw) }",
     [] {
       return Tensors{floats({2, 3, 9, 8}), floats({4, 3, 3, 2})};
     },
     [](const Tensors& x) {
       return Tensors{conv2d(x[0], x[1], {}, {2, 3})};
     },
     {{"sH", 2}, {"sW", 3}}},
    {"GroupedConvolution",
     "def f(float(N,G,C,H,W) I, float(G,F,C,KH,KW) W1) -> (O) {\n"
     "  O(n, g, o, h, w) +=! I(n, g, c, h + kh, w + kw) * W1(g, o, c, kh, kw) }",
     [] {
       return Tensors{floats({2, 3, 2, 6, 5}), floats({3, 4, 2, 3, 3})};
     },
     [](const Tensors& x) {
       return Tensors{conv2d(x[0].reshape({2, 6, 6, 5}), x[1].reshape({12, 2, 3, 3}), Tensor(),
                             IntArrayRef({1, 1}), IntArrayRef({0, 0}), IntArrayRef({1, 1}), 3)
                          .view({2, 3, 4, 4, 3})};
     }},
    {"StridedGroupedConvolution",
     "def f(float(N,G,C,H,W) I, float(G,F,C,KH,KW) W1) -> (O) {\n"
     "  O(n, g, o, h, w) +=! I(n, g, c, s * h + kh, s * w + kw) * W1(g, o, c, kh, kw) }",
     [] {
       return Tensors{floats({2, 3, 2, 7, 7}), floats({3, 4, 2, 3, 3})};
     },
     [](const Tensors& x) {
       return Tensors{conv2d(x[0].reshape({2, 6, 7, 7}), x[1].reshape({12, 2, 3, 3}), Tensor(),
                             IntArrayRef({2, 2}), IntArrayRef({0, 0}), IntArrayRef({1, 1}), 3)
                          .view({2, 3, 4, 3, 3})};
     },
     {{"s", 2}}},
    {"SumPool",  // sample 49: no division
     "def f(float(B,C,H,W) input) -> (output) {\n"
     "  output(b, c, h, w) += input(b, c, h * sH + kh, w * sW + kw) where kh in 0:kH, kw in 0:kW }",
     [] {
       return Tensors{floats({2, 3, 8, 9})};
     },
     [](const Tensors& x) {
       return Tensors{avg_pool2d(x[0], {2, 3}, {2, 3}) * 6};
     },
     {{"sH", 2}, {"sW", 3}, {"kH", 2}, {"kW", 3}}},
    {"MaxPool",
     "def f(float(B,C,H,W) x) -> (y) {\n"
     "  y(b, c, h, w) max=! x(b, c, h * 2 + kh, w * 2 + kw) where kh in 0:3, kw in 0:3 }",
     [] {
       return Tensors{floats({2, 3, 9, 9})};
     },
     [](const Tensors& x) {
       return Tensors{max_pool2d(x[0], {3, 3}, {2, 2})};
     }},
    {"Softmax",
     "def f(float(N,D) I) -> (O, m, e, s) {\n"
     "  m(n) max=! I(n, d)\n  e(n, d) = exp(I(n, d) - m(n))\n  s(n) +=! e(n, d)\n"
     "  O(n, d) = e(n, d) / s(n) }",
     [] {
       return Tensors{floats({4, 9})};
     },
     [](const Tensors& x) {
       const Tensor m = x[0].amax({1}), e = exp(x[0] - m.unsqueeze(1));
       return Tensors{softmax(x[0], 1), m, e, e.sum(1)};
     }},
    {"LayerNorm",
     "def f(float(T,C) I) -> (O) {\n"
     "  mean(t) +=! I(t, c)\n  mean(t) = mean(t) / C\n"
     "  var(t) +=! (I(t, c) - mean(t)) * (I(t, c) - mean(t))\n"
     "  O(t, c) = (I(t, c) - mean(t)) * rsqrt(var(t) / C + 1e-5) }",
     [] {
       return Tensors{floats({6, 16})};
     },
     [](const Tensors& x) { return Tensors{layer_norm(x[0], {16})}; }},
    {"BatchNorm",
     "def f(float(N,C,H,W) I) -> (O) {\n"
     "  mean(c) +=! I(nn, c, hh, ww)\n  mean(c) = mean(c) / (N * H * W)\n"
     "  var(c) +=! pow(I(nn, c, hh, ww) - mean(c), 2)\n"
     "  O(n, c, h, w) = (I(n, c, h, w) - mean(c)) * rsqrt(var(c) / (N * H * W) + 0.00001) }",
     [] {
       return Tensors{floats({3, 2, 4, 5})};
     },
     [](const Tensors& x) {
       return Tensors{batch_norm(x[0], {}, {}, {}, {}, true, 0.1, 1e-5, false)};
     }},
    {"LookupSum", "def f(float(E,D) LUT, int64(B,L) I) -> (O) { O(b, d) +=! LUT(I(b, l), d) }",
     [] {
       return Tensors{floats({20, 4}), integers(20, {3, 5})};
     },
     [](const Tensors& x) { return Tensors{embedding(x[0], x[1]).sum(1)}; }},
    {"Embedding", "def f(float(E,D) W, int64(B,L) I) -> (O) { O(b, l, d) = W(I(b, l), d) }",
     [] {
       return Tensors{floats({20, 4}), integers(20, {3, 5})};
     },
     [](const Tensors& x) { return Tensors{embedding(x[0], x[1])}; }},
    {"Indexing", "def f(float(H,W) I, int64(L) i) -> (O) { O(l, w) = I(i(l), w) }",
     [] {
       return Tensors{floats({6, 4}), integers(6, {9})};
     },
     [](const Tensors& x) { return Tensors{x[0].index_select(0, x[1])}; }},
    {"IndexingByInt32", "def f(float(N) x, int32(L) i) -> (O) { O(l) = x(i(l) + 1) }",
     [] {
       return Tensors{floats({9}), integers(8, {5}).to(kInt)};
     },
     [](const Tensors& x) { return Tensors{x[0].index_select(0, x[1].to(kLong) + 1)}; }},
    {"Kronecker",
     "def f(float(D0,N0) W0, float(D1,N1) W1, float(M,N0,N1) X) -> (Y, XW1) {\n"
     "  XW1(m, n0, d1) +=! X(m, n0, n1) * W1(d1, n1)\n"
     "  Y(m, d0, d1) +=! XW1(m, n0, d1) * W0(d0, n0) }",
     [] {
       return Tensors{floats({3, 4}), floats({2, 5}), floats({6, 4, 5})};
     },
     [](const Tensors& x) {
       return Tensors{x[0].matmul(x[2].matmul(x[1].t())), x[2].matmul(x[1].t())};
     }},
    {"Transpose", "def f(float(A,B,C) I) -> (O) { O(c, a, b) = I(a, b, c) }",
     [] {
       return Tensors{floats({2, 3, 4})};
     },
     [](const Tensors& x) {
       return Tensors{x[0].permute({2, 0, 1})};
     }},
    {"Concat",
     "def f(float(M,N) A, float(M,N) B) -> (O) {\n"
     "  O(n, i, m) = i == 0 ? A(m, n) : B(m, n) where i in 0:2 }",
     [] {
       return Tensors{floats({3, 4}), floats({3, 4})};
     },
     [](const Tensors& x) {
       return Tensors{stack({x[0].t(), x[1].t()}, 1)};
     }},
    {"Copy", "def f(float(M,N) I) -> (O) { O(m, n) = I(m, n) }",
     [] {
       return Tensors{floats({3, 4})};
     },
     [](const Tensors& x) { return x; }},
    {"CosineSimilarity",
     "def f(float(M,N) I1, float(M,N) I2) -> (O, sumI1, sumI2) {\n"
     "  sumI1(m) +=! I1(m, n) * I1(m, n)\n  sumI2(m) +=! I2(m, n) * I2(m, n)\n"
     "  O(m) +=! I1(m, n) * I2(m, n) * rsqrt(fmax(sumI1(m) * sumI2(m), 1e-16)) }",
     [] {
       return Tensors{floats({3, 8}), floats({3, 8})};
     },
     [](const Tensors& x) {
       return Tensors{cosine_similarity(x[0], x[1]), x[0].square().sum(1), x[1].square().sum(1)};
     }},
    {"Tensordot",
     "def f(float(N,C1,C2,H,W) I0, float(N,C2,C3,H,W) I1) -> (O) {\n"
     "  O(n, c1, c3, h, w) +=! I0(n, c1, c2, h, w) * I1(n, c2, c3, h, w) }",
     [] {
       return Tensors{floats({2, 3, 4, 2, 3}), floats({2, 4, 5, 2, 3})};
     },
     [](const Tensors& x) {
       return Tensors{einsum("nabhw,nbchw->nachw", {x[0], x[1]})};
     }},
    {"Relu", "def f(float(N) I) -> (O) { O(n) = fmax(I(n), 0) }",
     [] { return Tensors{floats({33})}; }, [](const Tensors& x) { return Tensors{relu(x[0])}; }},
    {"Tanh", "def f(float(N) I) -> (O) { O(n) = tanh(I(n)) }", [] { return Tensors{floats({33})}; },
     [](const Tensors& x) { return Tensors{tanh(x[0])}; }},
    {"Sigmoid", "def f(float(N) I) -> (O) { O(n) = 1 / (1 + exp(-I(n))) }",
     [] { return Tensors{floats({33})}; }, [](const Tensors& x) { return Tensors{sigmoid(x[0])}; }},
    {"Abs", "def f(float(N) I) -> (O) { O(n) = fabs(I(n)) }", [] { return Tensors{floats({33})}; },
     [](const Tensors& x) { return Tensors{abs(x[0])}; }},
    {"Cosine", "def f(float(N) I) -> (O) { O(n) = cos(I(n)) + sin(I(n)) }",
     [] { return Tensors{floats({33})}; },
     [](const Tensors& x) { return Tensors{cos(x[0]) + sin(x[0])}; }},
    {"Scale",
     "def f(float(M,N) I) -> (O) { O(m, n) = I(m, n) * s }",
     [] {
       return Tensors{floats({3, 4})};
     },
     [](const Tensors& x) { return Tensors{x[0] * 2.5}; },
     {{"s", 2.5}}},
    {"Cast", "def f(float(M,N) A) -> (O) { O(m, n) = int32(A(m, n) + 4) }",
     [] {
       return Tensors{floats({3, 4})};
     },
     [](const Tensors& x) { return Tensors{(x[0] + 4).to(kInt)}; }},
    {"DoubleAndHalf",
     "def f(double(N) A, float16(N) B) -> (O, P) { O(n) = A(n) + B(n)\n P(n) = B(n) * 2 }",
     [] {
       return Tensors{floats({9}).to(kDouble), floats({9}).to(kHalf)};
     },
     [](const Tensors& x) {
       return Tensors{x[0] + x[1], x[1] * 2};
     }},
    {"Dot", "def f(float(N) A, float(N) B) -> (o) { o +=! A(i) * B(i) }",
     [] {
       return Tensors{floats({17}), floats({17})};
     },
     [](const Tensors& x) { return Tensors{x[0].dot(x[1])}; }},
    {"Scalar", "def f(float(N) A, float a) -> (o) { o(i) = a * A(i) + a }",
     [] {
       return Tensors{floats({17}), floats({})};
     },
     [](const Tensors& x) { return Tensors{x[0] * x[1] + x[1]}; }},
    {"Product", "def f(float(M,N) A) -> (o) { o(m) *=! A(m, n) }",
     [] {
       return Tensors{positive({3, 5})};
     },
     [](const Tensors& x) { return Tensors{x[0].prod(1)}; }},
    {"Minimum", "def f(int64(M,N) A) -> (o) { o(m) min=! A(m, n) }",
     [] {
       return Tensors{integers(100, {3, 5})};
     },
     [](const Tensors& x) { return Tensors{x[0].amin({1})}; }},
    {"Stencil", "def f(float(N) A) -> (o) { o(i) = A(i) + A(i + 1) + A(i + 2) }",
     [] { return Tensors{floats({9})}; },
     [](const Tensors& x) {
       return Tensors{x[0].slice(0, 0, 7) + x[0].slice(0, 1, 8) + x[0].slice(0, 2, 9)};
     }},
    {"StencilThatBeginsLater", "def f(float(N) A) -> (o) { o(i) = A(i - 1) + A(i + 1) }",
     [] { return Tensors{floats({9})}; },
     [](const Tensors& x) {  // element 0 is never written
       return Tensors{cat({zeros({1}), x[0].slice(0, 0, 7) + x[0].slice(0, 2, 9)})};
     }},
    {"Reversed", "def f(float(N) A) -> (o) { o(i) = A(N - 1 - i) }",
     [] { return Tensors{floats({9})}; }, [](const Tensors& x) { return Tensors{x[0].flip({0})}; }},
    {"EverySecond", "def f(float(N) A) -> (o) { o(i) = A(2 * i + 1) }",
     [] { return Tensors{floats({9})}; },
     [](const Tensors& x) { return Tensors{x[0].slice(0, 1, 9, 2)}; }},
    {"ShorterOfTwo", "def f(float(N) A, float(M) B) -> (o) { o(i) = A(i) * B(i) }",
     [] {
       return Tensors{floats({9}), floats({6})};
     },
     [](const Tensors& x) { return Tensors{x[0].slice(0, 0, 6) * x[1]}; }},
    {"LowerTriangle", "def f(float(N,N) A) -> (o) { o(i, j) = j <= i && A.0 > 2 ? A(i, j) : 0.0 }",
     [] {
       return Tensors{floats({5, 5})};
     },
     [](const Tensors& x) { return Tensors{x[0].tril()}; }},
    {"Identity",
     "def f(float(N) A) -> (o) { o(i, j) = i == j ? 1.0 : 0.0 where i in 0:N, j in 0:N }",
     [] { return Tensors{floats({5})}; }, [](const Tensors&) { return Tensors{eye(5)}; }},
    {"Positions", "def f(float(N) A) -> (o) { o(i) = A(i) + i / 2 where exists A(i) }",
     [] { return Tensors{floats({5})}; },
     [](const Tensors& x) { return Tensors{x[0] + arange(5).floor_divide(2)}; }},
    {"Let", "def f(float(N) A) -> (o) { o(i) = x * x - x where x = A(i) + 1 }",
     [] { return Tensors{floats({5})}; },
     [](const Tensors& x) { return Tensors{(x[0] + 1).square() - (x[0] + 1)}; }},
    {"PartIsRewritten",
     "def f(float(M,N) A) -> (o) { o(m, n) = A(m, n)\n  o(m, n) = o(m, n) * 2 where m in 1:2 }",
     [] {
       return Tensors{floats({3, 4})};
     },
     [](const Tensors& x) {
       Tensor o = x[0].clone();
       o.select(0, 1).mul_(2);
       return Tensors{o};
     }},
    {"AccumulatesOntoItself", "def f(float(N) A) -> (o) { o(i) = A(i)\n  o(i) += o(i) * A(j) }",
     [] { return Tensors{floats({4})}; },
     [](const Tensors& x) { return Tensors{x[0] + x[0] * x[0].sum()}; }},
    {"UnrolledRecurrence",
     "def f(float(N) A) -> (h) { h0(i) = tanh(A(i))\n  h1(i) = tanh(h0(i) + A(i))\n"
     "  h(i) = tanh(h1(i) + A(i)) }",
     [] { return Tensors{floats({4})}; },
     [](const Tensors& x) { return Tensors{tanh(tanh(tanh(x[0]) + x[0]) + x[0])}; }},
    {"Logic", "def f(float(N) A) -> (o) { o(i) = !(A(i) < 0 || A(i) > 1) ? 1 : -1 }",
     [] { return Tensors{floats({40})}; },
     [](const Tensors& x) {
       return Tensors{
           where(x[0].lt(0).logical_or(x[0].gt(1)), full({40}, -1, kInt), full({40}, 1, kInt))};
     }},
    {"IntegerArithmeticOfC",
     "def f(int64(N) A) -> (q, r) { q(i) = (A(i) - 50) / 7\n  r(i) = (A(i) - 50) % 7 }",
     [] { return Tensors{integers(100, {40})}; },
     [](const Tensors& x) {
       return Tensors{(x[0] - 50).div(7, "trunc"), (x[0] - 50).fmod(7)};
     }},
    {"NoElements", "def f(float(M,K) A, float(K,N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }",
     [] {
       return Tensors{floats({2, 0}), floats({0, 3})};
     },
     [](const Tensors&) {
       return Tensors{zeros({2, 3})};
     }},
};

// Runs where kernels of `device` or, if it has none, ordinary operators serve loop programs.
void expect_cases(const char* device, std::size_t step) {
  for (std::size_t i = 0; i < std::size(cases); i += step) {
    const Case& c = cases[i];
    SCOPED_TRACE(c.name);
    manual_seed(3);
    const Tensors inputs = c.inputs();
    Tensors there;
    for (const Tensor& t : inputs) there.push_back(t.to(device));
    const tc::Function f = tc::define(c.text, c.constants);
    const Tensors given = f.run(there), expected = c.expected(inputs);
    ASSERT_EQ(given.size(), expected.size());
    for (std::size_t k = 0; k < given.size(); ++k) {
      ASSERT_EQ(given[k].sizes(), expected[k].sizes());
      ASSERT_EQ(given[k].scalar_type(), expected[k].scalar_type());
      EXPECT_TRUE(allclose(given[k].to("cpu"), expected[k], 1e-4, 1e-5)) << given[k] << expected[k];
    }
  }
}

TEST(Comprehension, DefinitionsAreTheirOperators) {
  static_assert(std::size(cases) >= 50);
  expect_cases("cpu", 1);
}

TEST(Comprehension, TheProgramOfMatmul) {
  const tc::Function f = tc::define(cases[0].text);
  EXPECT_EQ(f.str({ones({2, 3}), ones({3, 4})}),
            "loops 1\n"
            "input A_0 float32 [2, 3]\n"
            "input B_1 float32 [3, 4]\n"
            "output C_2 float32 [2, 4]\n"
            "for m_v < 2, kk_v < 3, n_v < 4\n"
            "  %0 = read A_0 [m_v, kk_v]\n"
            "  %1 = read B_1 [kk_v, n_v]\n"
            "  %2 = mul %0 %1\n"
            "  C_2 [m_v, n_v] +=! %2\n");
}

TEST(Comprehension, DevicesWithoutKernelRunThem) { expect_cases("ref", 3); }

}  // namespace
}  // namespace tenon
