// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products of two sparse tensors, by elements and of matrices: the loops in host memory against the
// composed ops, which serve the reference device, against dense results in double, and against
// themselves on more threads.
#include "tests/sparse/support.h"

namespace tenon {
namespace {

using namespace test;

const Device kRef("ref");

// With random float values, whose products are rounded.
Tensor rounded(int64_t n, IntArrayRef sizes) {
  return sparse_coo_tensor(columns(n, sizes), randn({n}, TensorOptions(kFloat)), sizes);
}

TEST(BothSparse, IntersectionsLikeTheComposedOps) {
  struct Case {
    int64_t a, b;
    std::vector<int64_t> sizes;
    int64_t sparse;
  };
  const Case cases[] = {{0, 0, {5, 4}, 2},      {0, 7, {5, 4}, 2},
                        {7, 0, {5, 4}, 2},      {30, 300, {5, 4}, 2},
                        {900, 9, {3, 4, 5}, 3}, {1, 1, {1}, 1},
                        {50, 60, {20, 3}, 1},   {200, 300, {90, 2, 3}, 1},
                        {9, 5, {}, 0},          {4, 4, {3}, 0},
                        {20, 9, {6, 0}, 1},     {400, 500, {3, 1, 4, 5, 9}, 5},
                        {700, 500, {999}, 1},   {2, 3, {1 << 29, 1 << 28}, 2}};
  for (const Case& c : cases) {
    for (ScalarType dtype : kAll) {
      const Tensor a = random_sparse(c.a, c.sizes, c.sparse, dtype),
                   b = random_sparse(c.b, c.sizes, c.sparse, dtype);
      const std::string what = std::string(toString(dtype)) + ", nnz " + std::to_string(c.a) +
                               ", " + std::to_string(c.b);
      expect_same_parts(a.mul(b), a.to(kRef).mul(b.to(kRef)), what);
      expect_same_parts(a.coalesce().mul(b.coalesce()), a.to(kRef).mul(b.to(kRef)),
                        what + ", coalesced");
      if (a.numel() < 100000)
        expect_same(a.mul(b).to_dense(), a.to_dense().mul(b.to_dense()), what + ", dense");
    }
  }
}

// The same on the host.
Tensor common(const Tensor& a, const Tensor& b) {
  const Tensor wanted = keys(a), have = keys(b),
               place = searchsorted(have, wanted).clamp(0, have.numel() - 1);
  const Tensor kept = have.index_select(0, place).eq(wanted).nonzero().reshape({-1});
  const Tensor values =
      a._values().index_select(0, kept) * b._values().index_select(0, place.index_select(0, kept));
  return _sparse_coo_tensor_unsafe(a._indices().index_select(1, kept), values, a.sizes())
      ._coalesced_(true);
}

TEST(BothSparse, LargeIntersections) {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{300, 400}, {100000}, {int64_t{1} << 40}}) {
    const Tensor a = rounded(kMany, sizes).coalesce(), more = rounded(3 * kMany, sizes).coalesce();
    for (const Tensor& b : {a, more, a + more, rounded(20, sizes).coalesce()}) {
      expect_same_parts(a.mul(b), common(a, b), "first");
      expect_same_parts(b.mul(a), common(b, a), "second");
    }
  }
}

struct Shape {
  int64_t m, k, n, a, b;  // a and b: elements
};
const Shape kShapes[] = {{5, 4, 3, 8, 9},         {1, 1, 1, 1, 1},        {1, 1, 1, 5, 5},
                         {20, 30, 40, 0, 50},     {20, 30, 40, 50, 0},    {20, 30, 40, 9, 9},
                         {20, 30, 40, 200, 300},  {3, 4, 5, 0, 0},        {1, 300, 400, 200, 900},
                         {300, 1, 400, 30, 40},   {400, 300, 1, 500, 99}, {900, 70, 900, 90, 90},
                         {64, 64, 4097, 100, 900}};

std::string describe_shape(const Shape& s) {
  std::ostringstream out;
  out << "[" << s.m << ", " << s.k << "] of " << s.a << " by [" << s.k << ", " << s.n << "] of "
      << s.b;
  return out.str();
}

TEST(BothSparse, MatricesLikeTheComposedOpsAndDenseOnes) {
  for (const Shape& s : kShapes) {
    for (ScalarType dtype : kAll) {
      if (dtype == kBool) continue;
      const Tensor a = random_sparse(s.a, {s.m, s.k}, 2, dtype),
                   b = random_sparse(s.b, {s.k, s.n}, 2, dtype);
      const std::string what = std::string(toString(dtype)) + ", " + describe_shape(s);
      const Tensor got = a.mm(b);
      expect_same_parts(got, a.to(kRef).mm(b.to(kRef)), what);
      expect_same_parts(a.coalesce().mm(b.coalesce()), got, what + ", coalesced");
      if (dtype == kByte || dtype == kChar) continue;  // wrap
      expect_same(got.to_dense().to(kDouble), a.to_dense().to(kDouble).mm(b.to_dense().to(kDouble)),
                  what + ", dense");
    }
  }
}

// More rows and columns than a table can hold.
TEST(BothSparse, HugeSizes) {
  constexpr int64_t huge = int64_t{1} << 45;
  for (int64_t n : {3, 60, 300}) {
    const Tensor far = randint(0, 40, {n}, TensorOptions(kLong)) * (huge / 40 - 1) + 5;
    const Tensor a = sparse_coo_tensor(stack({columns(n, {50}).select(0, 0), far}),
                                       whole({n}, kFloat), {50, huge});
    const Tensor b = a.t(), small = random_sparse(n, {8, 50}, 2, kFloat),
                 once = random_sparse(n, {50, huge}, 2, kFloat);
    const std::string what = std::to_string(n) + " elements";
    expect_same_parts(a.mm(b), a.to(kRef).mm(b.to(kRef)), what + ", huge k");
    expect_same_parts(small.mm(a), small.to(kRef).mm(a.to(kRef)), what + ", huge n");
    expect_same_parts(b.mm(small.t()), b.to(kRef).mm(small.t().to(kRef)), what + ", huge m");
    expect_same_parts(small.mm(once), small.to(kRef).mm(once.to(kRef)),
                      what + ", columns once each");
  }
}

// One row of a takes most of the work, or one row of b.
TEST(BothSparse, RowsOfUnevenLengths) {
  const Tensor v = whole({kMany}, kFloat), k = columns(kMany, {300}).select(0, 0);
  const Tensor b = random_sparse(9000, {300, 900}, 2, kFloat),
               few = random_sparse(50, {kMany, 300}, 2, kFloat);
  for (int64_t row : {0, 777, 1999}) {
    const Tensor full_row = full({kMany}, row, TensorOptions(kLong));
    const Tensor a = sparse_coo_tensor(stack({full_row, k}), v, {2000, 300});
    expect_same(a.mm(b).to_dense(), a.to_dense().mm(b.to_dense()), "of a");
    const Tensor c = sparse_coo_tensor(stack({full_row, k}), v, {2000, 300}),
                 picks = random_sparse(90, {40, 2000}, 2, kFloat);
    expect_same(picks.mm(c).to_dense(), picks.to_dense().mm(c.to_dense()), "of b");
  }
  const Tensor one = random_sparse(12, {5, 300}, 2, kFloat);
  expect_same(one.mm(b).to_dense(), one.to_dense().mm(b.to_dense()), "few rows of b");
  const Tensor tail = random_sparse(900, {9, 40}, 2, kFloat).coalesce(),
               last = ints({0, 9}, {2, 1});
  const Tensor beyond = sparse_coo_tensor(tail.indices(), tail.values(), {10, 40});
  EXPECT_EQ(sparse_coo_tensor(last, ones({1}, TensorOptions(kFloat)), {1, 10}).mm(beyond)._nnz(),
            0);
  const Tensor slim = b.narrow(1, 0, 40);
  expect_same(few.mm(slim).to_dense(), few.mm(slim.to_dense()), "few of many rows");
  const auto none = [](int64_t m, int64_t n) {
    return sparse_coo_tensor({m, n}, TensorOptions(kFloat));
  };
  for (const auto& [m, k, n] : {std::tuple(0, 3, 4), {3, 0, 4}, {3, 4, 0}, {0, 0, 0}})
    EXPECT_EQ(none(m, k).mm(none(k, n)).sizes(), IntArrayRef({m, n}));
}

// Sums that are 0 stay elements; terms are added in the order of a's elements, and none to a 0 of
// the kernel's.
TEST(BothSparse, SumsInOrder) {
  const Tensor at = ints({0, 0, 0, 0, 1, 2}, {2, 3}), down = ints({0, 1, 2, 0, 0, 0}, {2, 3});
  const auto sum = [&](const Tensor& v) {
    return sparse_coo_tensor(at, v.to(kFloat), {1, 3})
        .mm(sparse_coo_tensor(down, ones({3}, TensorOptions(kFloat)), {3, 1}));
  };
  EXPECT_EQ(sum(tensor({1e20, 1., -1e20})).values().item<float>(), 0);
  EXPECT_EQ(sum(tensor({1e20, -1e20, 1.})).values().item<float>(), 1);
  EXPECT_EQ(sum(tensor({1., -1., 0.}))._nnz(), 1);
  EXPECT_TRUE(sum(tensor({-0., -0., -0.})).values().signbit().item<bool>());
  const Tensor many = sparse_coo_tensor(
      stack({zeros({3000}, TensorOptions(kLong)), arange(3000, TensorOptions(kLong))}),
      ones({3000}, TensorOptions(kHalf)), {1, 3000});
  EXPECT_EQ(many.mm(many.t()).to_dense().to(kFloat).item<float>(), 3000);  // 16-bit floats in float
  const Tensor a = rounded(4000, {30, 500}).coalesce(), b = rounded(6000, {500, 40});
  expect_same(a.mm(b).to_dense(), a.mm(b.to_dense()), "as by a strided one");
}

TEST(BothSparse, UncheckedIndices) {
  const Tensor good = random_sparse(9, {4, 4}, 2, kFloat);
  for (const Tensor& bad : out_of_range()) {
    for (const auto& [a, b] : {std::pair(bad, good), {good, bad}, {bad, bad}}) {
      expect_words(text_of<IndexError>([&, &a = a, &b = b] { (void)a.mm(b); }),
                   {"mm", "out of bounds"});
      expect_words(text_of<IndexError>([&, &a = a, &b = b] { (void)a.mul(b); }),
                   {"mul", "out of bounds"});
    }
  }
  // If the flag coalesced is wrong, products are right, or at least valid tensors.
  const Tensor t = random_sparse(kMany, {500, 400}, 2, kFloat), liar = t.clone()._coalesced_(true);
  const Tensor x = random_sparse(900, {400, 60}, 2, kFloat);
  expect_same(liar.mm(x).to_dense(), t.to_dense().mm(x.to_dense()), "mm");
  EXPECT_LE(liar.mul(t)._nnz(), kMany);
}

TEST(BothSparse, AnyNumberOfThreads) {
  manual_seed(3);
  const Tensor a = rounded(2 * kMany, {3000, 4000}), b = rounded(3 * kMany, {4000, 5000});
  const Tensor other = rounded(2 * kMany, {3000, 4000}).coalesce() + a.coalesce();
  const auto all = [&] {
    const Tensor product = a.mm(b), both = a.mul(other);
    return std::vector<Tensor>{product.indices(), product.values(), both.indices(), both.values()};
  };
  for (int threads : {2, 3, 8})
    test::expect_same_bits_on(threads, all, std::to_string(threads) + " threads");
}

}  // namespace
}  // namespace tenon
