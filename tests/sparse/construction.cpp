// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What sparse_coo_tensor accepts and rejects, and its error messages.
#include <chrono>
#include <random>

#include "tests/sparse/support.h"

namespace tenon {
namespace {

using namespace test;

const Tensor kIndices = ints({0, 1, 1, 0}, {2, 2});
const Tensor kValues = tensor({1., 2.}, TensorOptions(kDouble));

std::string refusal(const Tensor& indices, const Tensor& values, IntArrayRef size) {
  return text_of<ValueError>([&] { (void)sparse_coo_tensor(indices, values, size); });
}

TEST(Construction, SharesItsComponents) {
  const Tensor t = sparse_coo_tensor(kIndices, kValues, {2, 3});
  EXPECT_EQ(t.layout(), kSparse);
  EXPECT_TRUE(t.is_sparse());
  EXPECT_EQ(t.sizes(), IntArrayRef({2, 3}));
  EXPECT_EQ(t.sparse_dim(), 2);
  EXPECT_EQ(t.dense_dim(), 0);
  EXPECT_EQ(t._nnz(), 2);
  EXPECT_FALSE(t.is_coalesced());
  EXPECT_EQ(t._values().const_data_ptr(), kValues.const_data_ptr());
  EXPECT_EQ(t._indices().const_data_ptr(), kIndices.const_data_ptr());
  expect_equal(t, tensor({0., 1., 0., 2., 0., 0.}).to(kDouble).reshape({2, 3}));
}

TEST(Construction, FindsTheSize) {
  const Tensor t = sparse_coo_tensor(ints({0, 4, 1, 0}, {2, 2}), ones({2, 3}));
  EXPECT_EQ(t.sizes(), IntArrayRef({5, 2, 3}));
  EXPECT_EQ(t.dense_dim(), 1);
}

TEST(Construction, WithoutElements) {
  const Tensor t = sparse_coo_tensor({4, 0, 2}, TensorOptions(kFloat));
  EXPECT_EQ(t._nnz(), 0);
  EXPECT_EQ(t.sizes(), IntArrayRef({4, 0, 2}));
  EXPECT_TRUE(t.is_coalesced());
  EXPECT_EQ(t.to_dense().numel(), 0);
}

TEST(Construction, CastsToTheOptions) {
  const Tensor t = sparse_coo_tensor(kIndices.to(kInt), kValues, {2, 3}, TensorOptions(kFloat));
  EXPECT_EQ(t.scalar_type(), kFloat);
  EXPECT_EQ(t._indices().scalar_type(), kLong);
}

TEST(Construction, RankOfTheIndices) {
  expect_words(refusal(ints({0, 1}, {2}), kValues, {2}), {"sparse_dim x nnz"});
}

TEST(Construction, AsManyValuesAsIndices) {
  expect_words(refusal(kIndices, ones({3}), {2, 2}), {"same nnz", "2 columns", "3 values"});
}

TEST(Construction, ValuesNeedADimension) {
  expect_words(refusal(kIndices, scalar_tensor(1.), {2, 2}), {"values", "one dimension or more"});
}

TEST(Construction, IndexOutsideOfTheSize) {
  expect_words(refusal(kIndices, kValues, {2, 1}),
               {"size is inconsistent with indices", "dim 1", "size is 1", "found index 1"});
}

TEST(Construction, NegativeIndex) {
  expect_words(refusal(ints({0, -3, 1, 0}, {2, 2}), kValues, {2, 2}),
               {"negative index -3", "dim 0"});
  expect_words(text_of<ValueError>([] {
                 (void)sparse_coo_tensor(ints({0, -3, 1, 0}, {2, 2}), kValues);
               }),
               {"negative index -3"});
}

TEST(Construction, RankOfTheSize) {
  expect_words(refusal(kIndices, kValues, {2}), {"sparse_dim (2)", "dense_dim (0)", "size has 1"});
}

TEST(Construction, SizesOfTheValues) {
  expect_words(refusal(kIndices, ones({2, 3}), {2, 2, 4}), {"values", "[2, 2, 4]"});
}

TEST(Construction, NegativeSize) {
  expect_words(refusal(kIndices, kValues, {2, -2}), {"negative", "-2"});
}

TEST(Construction, ProductsThatOverflow) {
  const int64_t big = int64_t{1} << 40;
  const std::string text = text_of<Error>([&] {
    (void)sparse_coo_tensor(kIndices, kValues, {big, big});
  });
  EXPECT_FALSE(text.empty());
  expect_words(text, {"1099511627776"});
}

TEST(Construction, OneDevice) {
  const Tensor there = kIndices.to(Device("ref"));
  expect_words(text_of<Error>([&] {
                 (void)sparse_coo_tensor(there, kValues, {2, 2});
               }),
               {"ref:0", "cpu"});
}

TEST(Construction, IndicesAreIntegers) {
  const std::string text = text_of<Error>([] {
    (void)_sparse_coo_tensor(kIndices.to(kFloat), kValues, {2, 2}, true, false);
  });
  expect_words(text, {"indices", "int64"});
}

// More elements than any memory holds, at no cost to the caller.
TEST(Construction, HugeCounts) {
  const int64_t huge = int64_t{1} << 52;
  const Tensor at = zeros({2, 1}, TensorOptions(kLong)).expand({2, huge}),
               values = ones({1}).expand({huge});
  EXPECT_FALSE(text_of<OutOfMemoryError>([&] {
                 (void)sparse_coo_tensor(at, values, {2, 2});
               }).empty());
  expect_words(refusal(at, ones({3}), {2, 2}), {"same nnz", "4503599627370496 columns"});
  EXPECT_EQ(
      sparse_coo_tensor(kIndices, kValues.select(0, 0).expand({2}), {2, 2})._values().stride(0), 1)
      << "a write to one element is not one to all";
}

TEST(Construction, ARefusalChangesNothing) {
  const Tensor indices = ints({0, 9, 1, 0}, {2, 2}), before = indices.clone(),
               values = kValues.clone();
  EXPECT_FALSE(refusal(indices, values, {2, 2}).empty());
  EXPECT_TRUE(indices.equal(before));
  EXPECT_TRUE(values.equal(kValues));
  EXPECT_EQ(sparse_coo_tensor(kIndices, values, {2, 2})._nnz(), 2) << "the next call works";
}

// One fault or several, of every kind that the components can have.
TEST(Construction, SurvivesGeneratedFaults) {
  std::mt19937_64 random(20261122);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  const auto begin = std::chrono::steady_clock::now();
  int refused = 0, made = 0, tried = 0;
  for (; tried < 10000; ++tried) {
    const int64_t rows = below(4), n = below(5), dense = below(3);
    std::vector<int64_t> at(static_cast<std::size_t>(rows * n)), size,
        values{below(6) == 0 ? n + 1 : n};
    for (int64_t d = 0; d < rows; ++d) size.push_back(below(4));
    for (int64_t d = 0; d < dense; ++d) {
      size.push_back(below(3));
      values.push_back(below(8) == 0 ? size.back() + 1 : size.back());
    }
    for (int64_t& i : at) i = below(10) == 0 ? below(1000) - 500 : below(4);
    if (below(10) == 0 && !size.empty())
      size[static_cast<std::size_t>(below(static_cast<int64_t>(size.size())))] =
          below(2) ? -1 : int64_t{1} << 62;
    if (below(10) == 0) size.push_back(2);
    try {
      const Tensor t = sparse_coo_tensor(ints(at, {rows, n}), zeros(values), size);
      ++made;
      bool inside = true;
      for (int64_t k = 0; k < rows * n; ++k)
        inside &= at[static_cast<std::size_t>(k)] >= 0 &&
                  at[static_cast<std::size_t>(k)] < size[static_cast<std::size_t>(k / n)];
      ASSERT_TRUE(inside) << t;
      ASSERT_EQ(t.coalesce().sizes(), IntArrayRef(size));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_EQ(made + refused, tried);
  EXPECT_GT(refused, 5000);
  EXPECT_GT(made, 500);
  RecordProperty(
      "seconds",
      std::to_string(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()));
}

}  // namespace
}  // namespace tenon
