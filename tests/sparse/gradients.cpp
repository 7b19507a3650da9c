// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// First and second derivatives by the values of sparse tensors, against central differences, and
// the layout and elements of gradients.
#include <limits>

#include "tenon/gradcheck.h"
#include "tests/sparse/support.h"

namespace tenon {
namespace {

using autograd::gradcheck;
using autograd::gradgradcheck;
using test::expect_equal;
using test::ints;

using Function = std::function<Tensor(const Tensor& sparse, const Tensor& dense)>;

struct NamedFunction {
  const char* name;
  Function f;
};

const Tensor kPlaces = ints({2, 1, 0, 1, 0, 2, 3, 2}, {2, 4});  // (1, 2) twice

Tensor sparse_of(const Tensor& values) { return sparse_coo_tensor(kPlaces, values, {3, 4}); }
Tensor some_values() { return tensor({0.5, -0.25, 0.75, 0.625}).to(kDouble); }
Tensor some_dense() {
  return (arange(0, 12, TensorOptions(kDouble)).reshape({3, 4}) / 7 - 0.8).requires_grad_();
}
// [4, 2], with elements that make products with the one above overlap.
Tensor another() {
  return sparse_coo_tensor(ints({0, 2, 3, 2, 1, 0, 0, 1}, {2, 4}),
                           tensor({1.5, -0.5, 0.25, 2.}).to(kDouble), {4, 2});
}

struct SparseGradients : testing::TestWithParam<NamedFunction> {};

// Of the values from which a sparse tensor is made.
TEST_P(SparseGradients, ThroughValues) {
  const auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{GetParam().f(sparse_of(in[0]), in[1]).to_dense()};
  };
  const std::vector<Tensor> in = {some_values().requires_grad_(), some_dense()};
  EXPECT_TRUE(gradcheck(f, in));
  EXPECT_TRUE(gradgradcheck(f, in));
}

// Of a leaf that is sparse, coalesced or not; results stay as they are.
TEST_P(SparseGradients, OfALeaf) {
  const auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{GetParam().f(in[0], in[1])};
  };
  for (const bool coalesced : {false, true}) {
    const Tensor t = sparse_of(some_values());
    const std::vector<Tensor> in = {(coalesced ? t.coalesce() : t).requires_grad_(), some_dense()};
    EXPECT_TRUE(gradcheck(f, in)) << coalesced;
    EXPECT_TRUE(gradgradcheck(f, in)) << coalesced;
  }
}

TEST_P(SparseGradients, HaveTheElementsOfTheLeaf) {
  const Tensor leaf = sparse_of(some_values()).requires_grad_(), dense = some_dense();
  GetParam().f(leaf, dense).to_dense().sum().backward();
  ASSERT_TRUE(leaf.grad().defined());
  EXPECT_EQ(leaf.grad().layout(), kSparse);
  EXPECT_LE(leaf.grad()._nnz(), 3);
  EXPECT_EQ((leaf.grad().to_dense().ne(0) & leaf.detach().to_dense().eq(0)).sum().item<int64_t>(),
            0);
  if (dense.grad().defined()) {
    EXPECT_EQ(dense.grad().layout(), kStrided);
  }
  const Tensor once = leaf.grad().to_dense();
  GetParam().f(leaf, dense).to_dense().sum().backward();
  EXPECT_EQ(leaf.grad().layout(), kSparse);
  EXPECT_TRUE(leaf.grad().to_dense().allclose(once * 2));
}

#define CASE(name, ...)                                                                           \
  {                                                                                               \
    name, [](const Tensor& s, [[maybe_unused]] const Tensor& d) -> Tensor { return __VA_ARGS__; } \
  }

const NamedFunction kLinear[] = {
    CASE("mm", s.mm(d.t())),
    CASE("mm_from_the_left", d.t().mm(s)),
    CASE("mm_sparse", s.mm(another())),
    CASE("mm_with_its_transpose", s.mm(s.t())),
    CASE("matmul", matmul(s, d.t())),
    CASE("mv", s.mv(d.select(0, 1))),
    CASE("addmm", addmm(d.slice(1, 0, 3), s, d.t(), 0.5, 2)),
    CASE("smm", smm(s, d.t())),
    CASE("sspaddmm",
         sspaddmm(another().t().mm(another()), another().t(), s.t().mm(d.slice(1, 0, 2)), 0.5, 2)),
    CASE("sspaddmm_of_sparse", sspaddmm(s.mm(another()), s, d.t().slice(1, 0, 2), 3, 2)),
    CASE("hspmm", hspmm(s, d.t())),
    CASE("add", (s + s) + s * d),
    CASE("add_of_others", s.add(another().index_select(1, ints({0, 1, 1}, {3})).t(), 2)),
    CASE("sub", s.sub(s* d, 0.5)),
    CASE("add_strided", d.add(s, 3)),
    CASE("strided_added", s.add(d, 3)),
    CASE("times_strided", s* d),
    CASE("times_sparse", (s * s) * d),
    CASE("times_scalar", s * 2.5),
    CASE("times_scalar_tensor", s* d.select(0, 0).select(0, 1)),
    CASE("over_scalar", s / 2.5),
    CASE("over_scalar_tensor", s / d.select(0, 0).select(0, 1)),
    CASE("negative", -s),
    CASE("to_dense", s.to_dense() * d),
    CASE("coalesce", s.coalesce() * d),
    CASE("values", s.coalesce().values() * d.select(0, 0).slice(0, 0, 3)),
    CASE("mask_of_sparse",
         s.sparse_mask((s.detach() + 1 * s.detach()).t().coalesce().t().coalesce())),
    CASE("mask_of_strided", d.sparse_mask(s.detach()) + s),
    CASE("to_sparse", (s.to_dense() * d).to_sparse()),
    CASE("clone", s.clone() * d),
};
const NamedFunction kReductions[] = {
    CASE("sum", s.sum() * d.sum()),
    CASE("sum_of_rows", _sparse_sum(s* s, {1}).to_dense() * d.select(1, 0)),
    CASE("sum_of_columns", _sparse_sum(s, {0})),
    CASE("sum_of_both", _sparse_sum(s* d, {0, 1})),
    CASE("norm", s.norm() * d.sum()),
    CASE("norm_1", s.norm(1)),
    CASE("norm_3", s.norm(3)),
    CASE("norm_of_rows", s.norm(2, {1})),
    CASE("norm_of_columns", s.norm(3, {0}, true)),
    CASE("greatest", s.norm(std::numeric_limits<double>::infinity())),
    CASE("softmax", softmax(s, 1) * d),
    CASE("softmax_of_columns", softmax(s, 0) * d),
    CASE("log_softmax", log_softmax(s, 1) * d),
    CASE("log_softmax_of_columns", log_softmax(s, 0) * d),
};
const NamedFunction kMoves[] = {
    CASE("t", s.t() * d.t()),
    CASE("transpose", s.transpose(0, -1).mm(d)),
    CASE("permute", s.permute({1, 0}) * d.t()),
    CASE("select", s.select(0, 1)),
    CASE("select_column", s.select(1, 2) + s.select(1, 0)),
    CASE("slice", s.slice(1, 1, 4)),
    CASE("slice_with_step", s.slice(1, 0, 4, 2)),
    CASE("narrow", s.narrow(0, 0, 2)),
    CASE("index_select", s.index_select(1, ints({2, 0, 2}, {3}))),
    CASE("cat", cat({s, s* d, s}, 0)),
    CASE("cat_columns", cat({s, s* d}, 1)),
    CASE("stack", stack({s, s * 2}, 1)),
    CASE("unsqueeze", s.unsqueeze(1)),
    CASE("unsqueeze_last", s.unsqueeze(-1)),
};
#define FUNCTION(f) CASE(#f, (s.coalesce() * 0.5).f())
const NamedFunction kFunctions[] = {
    FUNCTION(abs),
    FUNCTION(asin),
    FUNCTION(asinh),
    FUNCTION(atan),
    FUNCTION(atanh),
    FUNCTION(erf),
    FUNCTION(erfinv),
    FUNCTION(sin),
    FUNCTION(sinh),
    FUNCTION(tan),
    FUNCTION(tanh),
    FUNCTION(expm1),
    FUNCTION(relu),
    FUNCTION(log1p),
    CASE("sqrt", (s * s).sqrt()),
    CASE("pow", s.pow(3)),
    CASE("square", s.pow(2) * d),
};
const auto name = [](const auto& i) { return std::string(i.param.name); };
INSTANTIATE_TEST_SUITE_P(Linear, SparseGradients, testing::ValuesIn(kLinear), name);
INSTANTIATE_TEST_SUITE_P(Reductions, SparseGradients, testing::ValuesIn(kReductions), name);
INSTANTIATE_TEST_SUITE_P(Moves, SparseGradients, testing::ValuesIn(kMoves), name);
INSTANTIATE_TEST_SUITE_P(Functions, SparseGradients, testing::ValuesIn(kFunctions), name);

// Two dense dimensions after a sparse one.
TEST(SparseGradient, OfHybridTensors) {
  const Tensor start = test::hybrid(kCPU).requires_grad_();
  const Function functions[] = {
      [](const Tensor& s, const Tensor&) { return s.to_dense(); },
      [](const Tensor& s, const Tensor& d) { return s * d; },
      [](const Tensor& s, const Tensor&) { return s.sum(); },
      [](const Tensor& s, const Tensor&) { return _sparse_sum(s, {0}); },
      [](const Tensor& s, const Tensor&) { return _sparse_sum(s, {1}); },
      [](const Tensor& s, const Tensor&) { return s.select(0, 2); },
      [](const Tensor& s, const Tensor&) { return s.select(2, 1); },
      [](const Tensor& s, const Tensor&) { return s.slice(1, 0, 1); },
      [](const Tensor& s, const Tensor&) {
        return s.index_select(1, ints({1, 1}, {2}));
      },
      [](const Tensor& s, const Tensor&) { return s.transpose(1, 2); },
      [](const Tensor& s, const Tensor&) {
        return cat({s, s * 2}, 2);
      },
      [](const Tensor& s, const Tensor&) { return softmax(s, 2); },
      [](const Tensor& s, const Tensor&) { return softmax(s, 0); },
      [](const Tensor& s, const Tensor&) { return log_softmax(s, 1); },
      [](const Tensor& s, const Tensor&) { return s.norm(); },
      [](const Tensor& s, const Tensor&) { return s.sin(); },
  };
  for (std::size_t i = 0; i < std::size(functions); ++i) {
    const auto f = [&](const std::vector<Tensor>& in) {
      return std::vector<Tensor>{functions[i](in[0], in[1])};
    };
    const Tensor dense =
        (arange(12, TensorOptions(kDouble)).reshape({3, 2, 2}) / 5).requires_grad_();
    EXPECT_TRUE(gradcheck(f, {start, dense})) << i;
    EXPECT_TRUE(gradgradcheck(f, {start, dense})) << i;
  }
}

TEST(SparseGradient, AddsUpWithStridedOnes) {
  const Tensor leaf = sparse_of(some_values()).requires_grad_(), table = some_dense();
  leaf.mutable_grad() = full({3, 4}, 1, TensorOptions(kDouble));
  leaf.sum().backward();
  EXPECT_TRUE(
      leaf.grad().to_dense().allclose(1 + sparse_of(some_values()).to_dense().ne(0).to(kDouble)));
  table.mutable_grad() = sparse_of(some_values());
  (table * 3).sum().backward();
  EXPECT_TRUE(table.grad().to_dense().allclose(sparse_of(some_values()).to_dense() + 3));
}

// If requested, it has all elements of the strided gradient.
TEST(SparseGradient, UnmaskedOfToDense) {
  const Tensor leaf = sparse_of(some_values()).requires_grad_();
  leaf.to_dense(std::nullopt, false).sum().backward();
  EXPECT_EQ(leaf.grad().layout(), kSparse);
  EXPECT_TRUE(leaf.grad().to_dense().equal(ones({3, 4}, TensorOptions(kDouble))));
  const Tensor hybrid = test::hybrid(kCPU).requires_grad_();
  hybrid.to_dense(std::nullopt, false).sum().backward();
  EXPECT_EQ(hybrid.grad().sparse_dim(), 1);
  EXPECT_TRUE(hybrid.grad().to_dense().equal(ones({3, 2, 2}, TensorOptions(kDouble))));
}

TEST(SparseGradient, OfGather) {
  const Tensor index = ints({0, 2, 2, 1, 0, 0}, {3, 2});
  Tensor grads[2];
  for (const bool sparse : {false, true}) {
    const Tensor table = some_dense();
    (table.gather(1, index, sparse) * arange(6, TensorOptions(kDouble)).reshape({3, 2}))
        .sum()
        .backward();
    EXPECT_EQ(table.grad().layout(), sparse ? kSparse : kStrided);
    grads[sparse] = table.grad();
  }
  EXPECT_EQ(grads[1]._nnz(), 6);
  expect_equal(grads[1], grads[0]);
}

// 20,000 x 20,000 in double would be 3.2 GB.
TEST(SparseGradient, OfMmIsComputedAtElementsAlone) {
  const int64_t n = 20000, k = 16, nnz = 5000;
  manual_seed(3);
  const Tensor at = randint(n, {2, nnz}, TensorOptions(kLong));
  const Tensor s = sparse_coo_tensor(at, rand({nnz}), {n, n}).coalesce().requires_grad_();
  const Tensor x = rand({n, k}).requires_grad_();
  const uint64_t bytes = test::more_at_peak([&] { (s.mm(x) * 0.5).sum().backward(); });
  EXPECT_LT(bytes, uint64_t{40} << 20);
  EXPECT_EQ(s.grad()._nnz(), s._nnz());
  const Tensor expected = x.detach().index_select(0, s._indices().select(0, 1)).sum(1) * 0.5;
  EXPECT_TRUE(s.grad()._values().allclose(expected));
}

TEST(SparseGradient, EmbeddingBackwardByName) {
  const Tensor rows = tensor({1, 1});
  const Tensor gradient = embedding_backward(ones({2, 3}), rows, 4, -1, false, true);
  EXPECT_EQ(gradient.layout(), kSparse);
  EXPECT_TRUE(
      gradient.to_dense().equal(embedding_dense_backward(ones({2, 3}), rows, 4, -1, false)));
}

}  // namespace
}  // namespace tenon
