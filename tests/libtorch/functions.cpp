// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions that libtorch has beside the operators: forms for symbolic sizes, with the result last,
// in at::native, of complex numbers, of sizes in other containers.
#include <ATen/NativeFunctions.h>
#include <c10/util/accumulate.h>
#include <c10/util/hash.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <list>

namespace {

TEST(Functions, ResultsLast) {
  const auto x = torch::tensor({1., 2.}), y = torch::tensor({10., 20.});
  auto out = torch::empty({0});
  EXPECT_EQ(&at::add_outf(x, y, 2, out), &out);
  EXPECT_TRUE(out.equal(torch::tensor({21., 42.})));
  at::cat_outf(at::TensorList{x, y}, 0, out);
  EXPECT_TRUE(out.equal(torch::tensor({1., 2., 10., 20.})));
  at::sum_outf(x, at::IntArrayRef{0}, false, c10::nullopt, out);
  EXPECT_EQ(out.item<float>(), 3);
}

TEST(Functions, ResultsOfTheCaller) {
  const auto x = torch::tensor({1., 2.});
  auto out = torch::empty({3});
  EXPECT_EQ(&at::ones_like_out(out, x), &out);
  EXPECT_TRUE(out.equal(torch::ones({2})));
  at::masked_fill_out(out, x, x > 1, 7);
  EXPECT_TRUE(out.equal(torch::tensor({1., 7.})));
  auto of_integers = torch::empty({2}, torch::kLong);
  try {
    at::clone_out(of_integers, x);
    ADD_FAILURE();
  } catch (const c10::TypeError& e) {
    EXPECT_STREQ(e.what(), "clone_out: expected out to be Float, got Long");
  }
}

TEST(Functions, SymbolicSizes) {
  const c10::SymInt two(2);
  const auto x = torch::arange(4, torch::kFloat);
  EXPECT_TRUE(at::roll_symint(x, c10::SymIntArrayRef(two), at::IntArrayRef{0})
                  .equal(torch::tensor({2., 3., 0., 1.})));
  EXPECT_EQ(at::as_strided_symint(x, std::vector<c10::SymInt>{2, 2}, std::vector<c10::SymInt>{1, 1})
                .sizes(),
            at::IntArrayRef({2, 2}));
  EXPECT_EQ(at::tensor_split_symint(x, two, 0).size(), 2U);
  EXPECT_EQ(at::layer_norm_symint(x.view({2, 2}), c10::SymIntArrayRef(two)).size(0), 2);
}

TEST(Functions, OfMethods) {
  auto x = torch::ones({2}, torch::requires_grad());
  auto y = x * 2;
  EXPECT_FALSE(at::detach_(y).requires_grad());
  EXPECT_FALSE(at::is_conj(x));
  EXPECT_FALSE(at::is_neg(x));
  EXPECT_FALSE(at::is_distributed(x));
  auto z = torch::empty({0});
  at::resize_as_(z, y);
  EXPECT_EQ(z.numel(), 2);
  torch::manual_seed(1);
  const auto drawn = at::exponential(y, 2.0);
  EXPECT_TRUE(y.equal(torch::full({2}, 2.)));
  EXPECT_TRUE((drawn > 0).all().item<bool>());
  EXPECT_TRUE(at::native::add(y, y).equal(y * 2));
  EXPECT_TRUE(at::native::cpu_equal(y, y));
}

TEST(Functions, OfComplexNumbersInBothNamespaces) {
  using C = c10::complex<double>;
  const C z(0.3, -0.7);
  EXPECT_LT(std::abs(::log(::exp(z)) - z), 1e-12);
  EXPECT_LT(std::abs(std::log2(std::pow(2.0, z)) - z), 1e-12);
  EXPECT_LT(std::abs(::asinh(::sinh(z)) - z), 1e-12);
  EXPECT_LT(std::abs(::pow(z, 2) - z * z), 1e-12);
  EXPECT_LT(std::abs(std::expm1(std::log1p(z)) - z), 1e-12);
  static_assert(std::is_same_v<decltype(std::pow(c10::complex<float>(), 0.5)), C>);
  static_assert(std::is_same_v<decltype(std::pow(0.5f, C())), C>);
}

TEST(Functions, OfSizesInAnyContainer) {
  const std::list<int> sizes = {2, 3, 5};
  EXPECT_EQ(c10::numelements_from_dim(1, sizes), 15);
  EXPECT_EQ(c10::numelements_to_dim(2, std::vector<int>{2, 3, 5}), 6);
  EXPECT_EQ(c10::numelements_between_dim(2, 1, sizes), 3);
  EXPECT_EQ(c10::numelements_from_dim(4, sizes), 1);
  EXPECT_THROW(c10::numelements_from_dim(-1, sizes), c10::IndexError);
  EXPECT_THROW(c10::numelements_to_dim(4, sizes), c10::IndexError);
  EXPECT_THROW(c10::numelements_between_dim(0, 3, sizes), c10::IndexError);
}

struct Point {
  int x, y;
  static std::size_t hash(const Point& p) { return c10::get_hash(p.x, p.y); }
};

TEST(Functions, Hashes) {
  using Key = std::tuple<int, std::vector<int64_t>>;
  EXPECT_EQ(c10::get_hash(Key(1, {2, 3})), c10::get_hash(Key(1, {2, 3})));
  EXPECT_NE(c10::get_hash(Key(1, {2, 3})), c10::get_hash(Key(1, {3, 2})));
  EXPECT_EQ(c10::hash<Point>()({1, 2}), c10::get_hash(1, 2));
  EXPECT_NE(c10::hash<c10::complex<double>>()({1, 2}), c10::hash<c10::complex<double>>()({2, 1}));
  EXPECT_EQ(c10::hash<c10::optional<int>>()(c10::nullopt), 0U);
}

TEST(Functions, OfBitsOfSmallFloats) {
  using namespace c10::detail;
  EXPECT_EQ(fp16_ieee_from_fp32_value(1.0f), 0x3c00);
  EXPECT_EQ(fp16_ieee_to_fp32_value(0xc000), -2.0f);
  EXPECT_EQ(f32_from_bits(bits_from_f32(1.0f)), 1.0f);
  const float above = fp32_from_bits(0x3f80ffffu);
  EXPECT_EQ(bits_from_f32(above), 0x3f80);
  EXPECT_EQ(round_to_nearest_even(above), 0x3f81);
  EXPECT_EQ(round_to_nearest_even(std::numeric_limits<float>::quiet_NaN()), 0x7fc0);
}

TEST(Functions, OfGenerators) {
  const auto g = torch::make_generator<torch::CPUGeneratorImpl>(7);
  EXPECT_EQ(g.current_seed(), 7u);
  EXPECT_TRUE(g.device().is_cpu());
  EXPECT_NE(c10::detail::getNonDeterministicRandom(), c10::detail::getNonDeterministicRandom());
}

TEST(Functions, ImaginaryLiterals) {
  using namespace c10::complex_literals;
  static_assert(std::is_same_v<decltype(1_if), c10::complex<float>>);
  EXPECT_EQ(2.0 + 0.5_id, c10::complex<double>(2, 0.5));
  EXPECT_LT(std::abs(c10::polar(2., 0.5) - 2. * std::exp(0.5_id)), 1e-12);
}

}  // namespace
