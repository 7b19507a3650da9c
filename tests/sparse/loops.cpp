// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The loops in host memory: against the ops that serve other devices, bit for bit, against dense
// results in double, and against themselves on more threads. Sizes reach the sort by digits and
// several blocks.
#include "tests/sparse/support.h"

namespace tenon {
namespace {

using namespace test;

// What other devices do.
Tensor composed(const Tensor& t) {
  const Tensor order = std::get<1>(keys(t).sort(std::optional<bool>(true), 0, false)),
               key = keys(t).index_select(0, order);
  const auto [runs, inverse, counts] = unique_consecutive(key, true);
  std::vector<int64_t> sizes = t._values().sizes().vec();
  sizes[0] = runs.numel();
  const Tensor sums = zeros(sizes, TensorOptions(t.scalar_type()))
                          .index_add(0, inverse, t._values().index_select(0, order));
  const Tensor first =
      full({runs.numel()}, key.numel(), TensorOptions(kLong))
          .scatter_reduce(0, inverse, arange(key.numel(), TensorOptions(kLong)), "amin");
  return _sparse_coo_tensor_unsafe(t._indices().index_select(1, order.index_select(0, first)), sums,
                                   t.sizes())
      ._coalesced_(true);
}

// The elements of one after those of the other.
Tensor together(const Tensor& a, const Tensor& b) {
  return _sparse_coo_tensor_unsafe(cat({a._indices(), b._indices()}, 1),
                                   cat({a._values(), b._values()}, 0), a.sizes());
}

Tensor dense_of(const Tensor& t) {
  std::vector<int64_t> sizes = t._values().sizes().vec();
  sizes[0] = 1;
  for (int64_t d = 0; d < t.sparse_dim(); ++d) sizes[0] *= t.size(d);
  return zeros(sizes, TensorOptions(t.scalar_type()))
      .index_add(0, keys(t), t._values())
      .reshape(t.sizes());
}

struct Case {
  int64_t n;
  std::vector<int64_t> sizes;
  int64_t sparse;
};
const Case kCases[] = {
    {0, {5, 4}, 2},      {1, {5, 4}, 2},      {300, {5, 4}, 2},  {kMany, {300, 400}, 2},
    {kMany, {1}, 1},     {900, {3, 4, 5}, 3}, {500, {20, 3}, 1}, {kMany, {1000, 2, 3}, 1},
    {2000, {7, 300}, 1}, {9, {}, 0},          {40, {3}, 0},      {500, {3, 1, 4, 1, 5, 9, 2}, 7},
    {2000, {6, 0}, 1},   {kMany, {70000}, 1}};

std::string describe_case(const Case& c, ScalarType dtype) {
  std::ostringstream out;
  out << toString(dtype) << ", nnz " << c.n << ", " << c.sparse << " sparse dimensions of";
  for (int64_t s : c.sizes) out << " " << s;
  return out.str();
}

TEST(SparseLoops, CoalesceLikeTheComposedOps) {
  manual_seed(1);
  for (const Case& c : kCases) {
    for (ScalarType dtype : kAll) {
      if (c.n == kMany && c.sizes.size() != 2 && dtype != kFloat && dtype != kInt) continue;
      const Tensor t = random_sparse(c.n, c.sizes, c.sparse, dtype);
      const bool heavy =
          c.n / 300 > 16 && (dtype == kHalf || dtype == kBFloat16);  // sums beyond what is exact
      if (!heavy) expect_same_parts(t.coalesce(), composed(t), describe_case(c, dtype));
    }
  }
}

// The order of an element's values is kept, in short lists and in those sorted by digits.
TEST(SparseLoops, SumsAreTakenInOrder) {
  for (int64_t groups : {1, 400, 30000}) {
    const Tensor at = arange(groups, TensorOptions(kLong)).repeat({3}).flip({0}).unsqueeze(0);
    const Tensor v =
        cat({full({groups}, 1e20, TensorOptions(kFloat)), ones({groups}, TensorOptions(kFloat)),
             full({groups}, -1e20, TensorOptions(kFloat))});
    EXPECT_EQ(sparse_coo_tensor(at, v, {groups}).coalesce().values().abs().max().item<float>(), 0);
    const Tensor last =
        cat({v.narrow(0, 0, groups), v.narrow(0, 2 * groups, groups), v.narrow(0, groups, groups)});
    EXPECT_EQ(sparse_coo_tensor(at, last, {groups}).coalesce().values().min().item<float>(), 1);
  }
}

TEST(SparseLoops, SixteenBitFloatsAreSummedInFloat) {
  const Tensor at = zeros({1, 5000}, TensorOptions(kLong));
  const Tensor t = sparse_coo_tensor(at, ones({5000}, TensorOptions(kHalf)), {1});
  EXPECT_EQ(t.coalesce().values().to(kFloat).item<float>(), 5000);
  EXPECT_EQ(t.to_dense().to(kFloat).item<float>(), 5000);
}

// Keys of up to 58 bits, the maximum of a tensor: they leave no room for positions of more than 6
// bits.
TEST(SparseLoops, LargeSizes) {
  constexpr int64_t most = (int64_t{1} << 58) - 1, half = int64_t{1} << 29;
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{most}, {half, half - 1}, {int64_t{1} << 52}}) {
    for (int64_t n : {2, 60, 100, 3000}) {
      std::vector<Tensor> rows;
      for (int64_t s : sizes) {
        const Tensor small = randint(0, 5, {n}, TensorOptions(kLong));
        rows.push_back(where(randint(0, 2, {n}, TensorOptions(kLong)).to(kBool), small,
                             small.neg() + (s - 1)));
      }
      const Tensor t = sparse_coo_tensor(stack(rows), whole({n}, kDouble), sizes);
      expect_same_parts(t.coalesce(), composed(t), std::to_string(n));
      const Tensor sum = t.coalesce() + t.coalesce();
      expect_same_parts(sum, composed(t + t), "sum of " + std::to_string(n));
    }
  }
}

TEST(SparseLoops, AnyStrides) {
  const Tensor at = columns(2000, {30, 40}).t().contiguous().t(),
               v = whole({2000, 3, 2}, kFloat).transpose(1, 2);
  ASSERT_FALSE(at.is_contiguous() || v.is_contiguous());
  const Tensor t = sparse_coo_tensor(at, v, {30, 40, 2, 3});
  expect_same_parts(t.coalesce(), composed(t), "coalesce");
  const Tensor m = sparse_coo_tensor(at, whole({4000}, kFloat).slice(0, 0, 4000, 2), {30, 40});
  const Tensor b = whole({7, 40}, kFloat).t();
  expect_same(m.mm(b), m.to_dense().mm(b), "mm");
  Tensor out = zeros({7, 30}, TensorOptions(kFloat)).t();
  mm_out(out, m, b);
  expect_same(out, m.to_dense().mm(b), "mm_out");
  expect_same(m.mv(whole({80}, kFloat).slice(0, 0, 80, 2) * 0 + 1), m.to_dense().sum(1), "mv");
}

// Widths around those of vectors, their fours and runs.
TEST(SparseLoops, ProductsLikeDenseOnes) {
  for (ScalarType dtype : kAll) {
    if (dtype == kBool) continue;
    const Tensor t = random_sparse(200, {20, 30}, 2, dtype), ordered = t.coalesce();
    for (int64_t k : {0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 128, 200}) {
      const std::string what = std::string(toString(dtype)) + ", k " + std::to_string(k);
      const Tensor b = whole({30, k}, dtype), left = whole({k, 20}, dtype),
                   start = whole({20, k}, dtype);
      const Tensor d = t.to_dense().to(kDouble), expected = d.mm(b.to(kDouble));
      expect_same(t.mm(b).to(kDouble), expected, what);
      expect_same(ordered.mm(b).to(kDouble), expected, what + ", coalesced");
      expect_same(left.mm(t).to(kDouble), left.to(kDouble).mm(d), what + ", strided first");
      expect_same(addmm(start, ordered, b).to(kDouble), start.to(kDouble) + expected,
                  what + ", addmm");
      expect_same(addmm(start, t, b, 2, 3).to(kDouble), start.to(kDouble) * 2 + expected * 3,
                  what + ", scaled");
      expect_same(addmm(start.narrow(0, 3, 1), t, b, 0, 1).to(kDouble), expected,
                  what + ", without start");
      expect_same(hspmm(t, b).to_dense().to(kDouble), expected, what + ", hspmm");
    }
    const Tensor x = whole({30}, dtype);
    expect_same(t.mv(x).to(kDouble), t.to_dense().to(kDouble).mv(x.to(kDouble)), "mv");
  }
}

// Rounded sums: near those in double, and those of the composed ops.
TEST(SparseLoops, RoundedProducts) {
  const Tensor at = columns(kMany, {2000, 1500});
  for (ScalarType dtype : {kFloat, kDouble}) {
    const Tensor t = sparse_coo_tensor(at, randn({kMany}, TensorOptions(dtype)), {2000, 1500});
    const Tensor b = randn({1500, 37}, TensorOptions(dtype)),
                 expected = t.to_dense().to(kDouble).mm(b.to(kDouble));
    EXPECT_LT((t.mm(b).to(kDouble) - expected).abs().max().item<double>(),
              dtype == kFloat ? 1e-4 : 1e-12);
    const Tensor products = b.index_select(0, t._indices().select(0, 1)) * t._values().unsqueeze(1);
    expect_same(
        t.mm(b),
        zeros({2000, 37}, TensorOptions(dtype)).index_add(0, t._indices().select(0, 0), products),
        "the composed ops");
    expect_same_parts(t.coalesce(), composed(t), "coalesce");
  }
}

TEST(SparseLoops, RowsOfUnevenLengths) {
  const Tensor v = whole({kMany}, kFloat), b = whole({300, 5}, kFloat),
               column = columns(kMany, {300}).select(0, 0);
  for (int64_t row : {0, 777, 1999}) {
    const Tensor t = sparse_coo_tensor(stack({full({kMany}, row, TensorOptions(kLong)), column}), v,
                                       {2000, 300});
    expect_same(t.mm(b), t.to_dense().mm(b), "one row");
    expect_same(t.coalesce().mm(b), t.to_dense().mm(b), "one row, coalesced");
  }
  const Tensor few = random_sparse(50, {kMany, 300}, 2, kFloat);
  expect_same(few.mm(b), few.to_dense().mm(b), "few of many rows");
  expect_same(sparse_coo_tensor({4, 300}, TensorOptions(kFloat)).mm(b),
              zeros({4, 5}, TensorOptions(kFloat)), "none");
}

TEST(SparseLoops, SumsOfCoalescedTensorsAreCoalesced) {
  for (const Case& c : kCases) {
    for (ScalarType dtype : {kBool, kInt, kHalf, kFloat, kDouble}) {
      const std::string what = describe_case(c, dtype);
      const Tensor a =
          random_sparse(std::min<int64_t>(c.n, 60000), c.sizes, c.sparse, dtype).coalesce();
      const Tensor b = random_sparse(c.n, c.sizes, c.sparse, dtype).coalesce();
      const Tensor none = a.clone().zero_();
      if (c.n >= 5000 && dtype == kHalf) continue;  // beyond what is exact
      expect_same_parts(a + b, composed(together(a, b)), what);
      expect_same_parts(a + none, a, what + ", second empty");
      expect_same_parts(none + b, b, what + ", first empty");
      if (dtype == kBool) continue;
      expect_same_parts(a + a, a * 2, what + ", itself");
      expect_same_parts(a.add(b, 3), composed(together(a, b * 3)), what + ", alpha");
      expect_same_parts(a - b, composed(together(a, b.neg())), what + ", difference");
    }
  }
  EXPECT_FALSE(
      (random_sparse(9, {4}, 1, kFloat) + random_sparse(9, {4}, 1, kFloat)).is_coalesced());
}

TEST(SparseLoops, SumsWithStridedTensors) {
  for (ScalarType dtype : kAll) {
    for (const Case& c : kCases) {
      if (c.n >= 2000 && (dtype == kHalf || dtype == kBFloat16)) continue;  // beyond what is exact
      if (c.n == kMany && dtype != kFloat) continue;
      const Tensor t = random_sparse(c.n, c.sizes, c.sparse, dtype), d = whole(c.sizes, dtype),
                   full = t.to_dense();
      expect_same(full, dense_of(t), describe_case(c, dtype) + ", to_dense");
      expect_same(d + t, d + full, describe_case(c, dtype));
      expect_same(t + d, d + full, describe_case(c, dtype) + ", sparse first");
      if (dtype == kBool) continue;
      Tensor own = d.clone();
      own.add_(t, 2);
      expect_same(own, d + full * 2, describe_case(c, dtype) + ", in place");
      own.sub_(t, 2);
      expect_same(own, d, describe_case(c, dtype) + ", and back");
    }
  }
}

// Duplicates are summed first, in their order, whatever share of the strided tensor they cover.
TEST(SparseLoops, DuplicatesAreAddedToStridedTensorsInOrder) {
  for (int64_t n : {int64_t{2}, int64_t{40}, int64_t{3000}, kMany, 3 * kMany}) {
    for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{1}, {7, 3}, {300, 400}}) {
      for (ScalarType dtype : {kHalf, kFloat}) {
        const Tensor t =
            sparse_coo_tensor(columns(n, sizes), randn({n}, TensorOptions(dtype)), sizes);
        const Tensor d = randn(sizes, TensorOptions(dtype));
        expect_same(d.add(t, 0.7), d.add(t.coalesce(), 0.7), std::to_string(n) + " elements");
      }
    }
  }
  const Tensor rows =
      sparse_coo_tensor(columns(500, {30}), randn({500, 5}, TensorOptions(kDouble)), {30, 5});
  const Tensor d = randn({30, 5}, TensorOptions(kDouble));
  expect_same(d + rows, d + rows.coalesce(), "rows");
}

TEST(SparseLoops, SharedMemoryIsReadBeforeItIsWritten) {
  const Tensor at = ints({1, 2, 3}, {1, 3});
  Tensor d = arange(1, 5, TensorOptions(kDouble));
  d.add_(sparse_coo_tensor(at, d.narrow(0, 0, 3), {4}));
  expect_same(d, tensor({1., 3., 5., 7.}).to(kDouble), "add_");
  Tensor out = arange(1, 10, TensorOptions(kDouble)).reshape({3, 3});
  const Tensor t = sparse_coo_tensor(ints({0, 1, 2, 1, 2, 0}, {2, 3}), out.select(0, 0), {3, 3});
  const Tensor b = eye(3, TensorOptions(kDouble)), expected = t.to_dense();
  mm_out(out, t, b);
  expect_same(out, expected, "mm_out");
}

TEST(SparseLoops, ValuesAtIndices) {
  for (ScalarType dtype : kAll) {
    const Tensor t = random_sparse(400, {30, 40, 2}, 2, dtype),
                 mask = random_sparse(3000, {30, 40, 2}, 2, dtype);
    const Tensor masked = t.sparse_mask(mask), at = columns(kMany, {30, 40});
    expect_same(masked._indices(), mask.coalesce().indices(), "indices");
    expect_same(masked._values(), _values_at(t.to_dense(), masked._indices()),
                std::string(toString(dtype)));
    expect_same(_values_at(t, at), _values_at(t.to_dense(), at), std::string(toString(dtype)));
  }
}

// Faults that an unchecked construction accepts are found here, or sorted.
TEST(SparseLoops, UncheckedIndices) {
  const Tensor b = ones({4, 8}, TensorOptions(kFloat));
  for (const Tensor& t : out_of_range()) {
    expect_words(text_of<IndexError>([&] { (void)t.mm(b); }), {"mm", "out of bounds"});
    expect_words(text_of<IndexError>([&] { (void)b.t().mm(t); }), {"mm", "out of bounds"});
    expect_words(text_of<IndexError>([&] { (void)t.mv(b.select(1, 0)); }), {"mv", "out of bounds"});
    expect_words(text_of<IndexError>([&] { (void)t.to_dense(); }), {"out of bounds", "size 4"});
    expect_words(text_of<IndexError>([&] { (void)(b.narrow(1, 0, 4) + t); }),
                 {"add", "out of bounds"});
    if (t.is_coalesced())
      expect_words(text_of<IndexError>([&] { (void)(t + t); }), {"add", "out of bounds"});
    if (!t.is_coalesced())
      expect_words(text_of<IndexError>([&] { (void)t.coalesce(); }), {"out of bounds", "size 4"});
  }
  const Tensor t = random_sparse(kMany, {500, 400}, 2, kFloat), d = t.to_dense(),
               x = whole({400, 6}, kFloat);
  const Tensor liar = t.clone()._coalesced_(true);
  expect_same(liar.mm(x), d.mm(x), "mm");
  expect_same(liar.to_dense(), d, "to_dense");
  expect_same((liar + liar).to_dense(), d * 2, "sum");
  expect_same(d + liar, d * 2, "sum with a strided one");
}

TEST(SparseLoops, AnyNumberOfThreads) {
  manual_seed(2);
  const Tensor at = columns(kMany, {3000, 200}), v = randn({kMany}, TensorOptions(kFloat));
  const Tensor t = sparse_coo_tensor(at, v, {3000, 200}),
               b = randn({200, 70}, TensorOptions(kFloat));
  const Tensor other =
      sparse_coo_tensor(columns(kMany, {3000, 200}), v * 3, {3000, 200}).coalesce();
  const Tensor rows =
      sparse_coo_tensor(at, randn({kMany, 5}, TensorOptions(kHalf)), {3000, 200, 5});
  const auto all = [&] {
    const Tensor own = t.coalesce(), sum = own + other, wide = rows.coalesce();
    return std::vector<Tensor>{own.indices(),
                               own.values(),
                               sum.indices(),
                               sum.values(),
                               wide.values(),
                               t.mm(b),
                               own.mm(b),
                               t.to_dense(),
                               zeros({3000, 200}) + own,
                               ones({3000, 200}) + t,
                               ones({3000, 200, 5}, TensorOptions(kHalf)) + rows,
                               b.t().mm(t.t()).contiguous(),
                               t.mv(b.select(1, 0).contiguous())};
  };
  for (int threads : {2, 3, 8})
    test::expect_same_bits_on(threads, all, std::to_string(threads) + " threads");
}

}  // namespace
}  // namespace tenon
