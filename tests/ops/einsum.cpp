// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// einsum against loops over its letters, its gradients and texts; tensordot, vector products, norms
// of linalg.
#include <gtest/gtest.h>

#include <map>

#include "tenon/ops.h"
#include "tests/gradients.h"

using namespace tenon;
using test::check_gradients;
using test::Inputs;
using test::leaf;

namespace {

// The sum over all values of all letters, one product after the other.
Tensor by_loops(const std::vector<std::string>& in, const std::string& out,
                const Inputs& operands) {
  std::map<char, int64_t> size, at;
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (std::size_t d = 0; d < in[i].size(); ++d)
      size[in[i][d]] = operands[i].size(static_cast<int64_t>(d));
  }
  int64_t total = 1;
  for (const auto& [letter, n] : size) total *= n;
  std::vector<int64_t> shape;
  for (char c : out) shape.push_back(size[c]);
  Tensor result = zeros(shape, operands[0].options());
  for (int64_t k = 0; k < total; ++k) {
    int64_t rest = k;
    for (const auto& [letter, n] : size) {
      at[letter] = rest % n;
      rest /= n;
    }
    const auto element = [&](Tensor t, const std::string& letters) {
      for (char c : letters) t = t.select(0, at[c]);
      return t;
    };
    double product = 1;
    for (std::size_t i = 0; i < in.size(); ++i)
      product *= element(operands[i], in[i]).item<double>();
    element(result, out).add_(product);
  }
  return result;
}

}  // namespace

TEST(Einsum, AgreesWithLoops) {
  const std::map<char, int64_t> size = {{'a', 2}, {'b', 3}, {'c', 1}, {'d', 4}, {'Z', 2}};
  const std::vector<std::string> left = {"ab", "bd", "abd", "aa", "dba", "c", "acZ", "bb"};
  const std::vector<std::string> right = {"bd", "b", "dab", "ca", "Zb", "dd"};
  int equations = 0;
  for (const std::string& l : left) {
    for (const std::string& r : right) {
      Inputs operands;
      std::string seen;
      for (const std::string& s : {l, r}) {
        std::vector<int64_t> shape;
        for (char c : s) {
          shape.push_back(size.at(c));
          if (seen.find(c) == std::string::npos) seen += c;
        }
        operands.push_back(randn(shape, TensorOptions().dtype(kDouble)));
      }
      const std::string outputs[] = {"", seen, std::string(seen.rbegin(), seen.rend()),
                                     seen.substr(0, 1)};
      for (const std::string& out : outputs) {
        const Tensor got = einsum(l + "," + r + "->" + out, operands),
                     want = by_loops({l, r}, out, operands);
        ASSERT_EQ(got.sizes(), want.sizes()) << l << "," << r << "->" << out;
        EXPECT_TRUE(allclose(got, want)) << l << "," << r << "->" << out;
        ++equations;
      }
    }
  }
  EXPECT_GE(equations, 100);
}

TEST(Einsum, ImplicitOutputsEllipsesAndPaths) {
  const Tensor a = randn({2, 3, 4}), b = randn({4, 5}), c = randn({5, 2});
  EXPECT_TRUE(allclose(einsum("ba", {b}), b.t()));
  EXPECT_TRUE(allclose(einsum("...ij->...ji", {a}), a.transpose(1, 2)));
  EXPECT_TRUE(allclose(einsum("...k,kj", {a, b}), matmul(a, b), 1e-4, 1e-5));
  EXPECT_EQ(einsum("...,...", {a, randn({1, 4})}).sizes(), a.sizes());
  EXPECT_TRUE(equal(einsum("ii", {ones({3, 3})}), tensor(3.F)));
  const Tensor chain = einsum("xij,jk,kl->xil", {a, b, c});
  EXPECT_TRUE(
      allclose(einsum("xij,jk,kl->xil", {a, b, c}, IntArrayRef({1, 2, 0, 1})), chain, 1e-4, 1e-5));
}

// As of sum: what only one operand has is summed before the product.
TEST(Einsum, SumsOfNarrowIntegersAreOfInt64) {
  const Tensor a = arange(6, kInt).view({2, 3}), b = arange(3, kInt), c = full({2, 3}, 100, kByte);
  EXPECT_EQ(einsum("ij->i", {a}).scalar_type(), kLong);
  EXPECT_EQ(einsum("ij,j->i", {a, b}).scalar_type(), kInt);
  EXPECT_EQ(einsum("ij,k->k", {a, b}).scalar_type(), kLong);
  EXPECT_TRUE(equal(einsum("ij,j->", {c, b.to(kByte)}), tensor(int64_t{600})));
  EXPECT_TRUE(equal(einsum("ij,jk->k", {c, ones({3, 1}, kByte)}), tensor({int64_t{600}})));
}

TEST(Einsum, Gradients) {
  check_gradients([](const Inputs& v) { return Inputs{einsum("aij,jk->aik", v)}; },
                  {leaf({2, 2, 3}), leaf({3, 2})});
  check_gradients([](const Inputs& v) { return Inputs{einsum("ii,i->", v)}; },
                  {leaf({3, 3}), leaf({3})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{tensordot(v[0], v[1], {0, 2}, {1, 0})};
      },
      {leaf({2, 3, 2}), leaf({2, 2, 2})});
}

TEST(Einsum, Texts) {
  const Tensor m = ones({2, 3});
  EXPECT_TEXT(einsum("ij,jk", {m}), "fewer operands");
  EXPECT_TEXT(einsum("ij", {m, m}), "more operands");
  EXPECT_TEXT(einsum("i", {m}), "does not match the number of dimensions");
  EXPECT_TEXT(einsum("ij->ii", {m}), "more than once");
  EXPECT_TEXT(einsum("ij->k", {m}), "does not appear");
  EXPECT_TEXT(einsum("i$->i", {m}), "invalid subscript");
  EXPECT_TEXT(einsum("ij,ij", {m, ones({2, 4})}), "does not broadcast");
  EXPECT_TEXT(tensordot(m, m, {0}, {1}), "contracted dimensions need to match");
}

TEST(Linalg, Gradients) {
  check_gradients([](const Inputs& v) { return Inputs{cross(v[0], v[1])}; },
                  {leaf({2, 3}), leaf({2, 3})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{linalg_matrix_norm(v[0], 1), linalg_matrix_norm(v[0], "fro")};
      },
      {leaf({2, 2, 3})});
  check_gradients([](const Inputs& v) { return Inputs{renorm(v[0], 2, 0, 0.5)}; }, {leaf({3, 4})});
  check_gradients(
      [](const Inputs& v) { return Inputs{linalg_vector_norm(v[0], 3, IntArrayRef({0}))}; },
      {leaf({3, 2})});
}

TEST(Linalg, RefusesWhatHasNoMeaning) {
  EXPECT_TEXT(linalg_cross(ones({2, 2}), ones({2, 2})), "must have length 3");
  EXPECT_THROW(linalg_vector_norm(ones({2}, TensorOptions(kLong))), TypeError);
}

TEST(Statistics, Gradients) {
  const Tensor q = tensor({0.1, 0.6}).to(kDouble);
  for (const char* how : {"linear", "lower", "midpoint"}) {
    check_gradients([=](const Inputs& v) { return Inputs{quantile(v[0], q, 1, false, how)}; },
                    {leaf({2, 5})});
  }
  check_gradients([](const Inputs& v) { return Inputs{quantile(v[0], v[1], std::nullopt, true)}; },
                  {leaf({7}), tensor({0.3}).to(kDouble).set_requires_grad(true)});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{cov(v[0]), corrcoef(v[0])};
      },
      {leaf({3, 5})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{trapezoid(v[0], v[1]), cumulative_trapezoid(v[0], v[1])};
      },
      {leaf({2, 4}), leaf({4})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{igamma(v[0], v[1]), igammac(v[0], v[1])};
      },
      {tensor({0.5, 2., 9.}).to(kDouble),
       tensor({0.7, 3., 5.}).to(kDouble).set_requires_grad(true)});
}

TEST(Statistics, RefusesADerivativeThatItLacks) {
  EXPECT_TEXT(histc(leaf({4})).sum().backward(), "not implemented");
  EXPECT_TEXT(igamma(leaf({2}), ones({2})).sum().backward(), "not implemented");
}
