// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that share their work between threads give the bits from four that they give from one,
// forward and backward. The thread sanitizer runs it, so each family has enough elements to be cut.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tests/support.h"

using namespace tenon;
using Inputs = std::vector<Tensor>;
using Computation = std::function<Inputs(const Inputs&)>;

namespace {

// Results, then the gradients of those inputs that take one.
Inputs results(const Computation& f, const Inputs& inputs) {
  Inputs leaves, wanted;
  for (const Tensor& t : inputs) {
    leaves.push_back(t.detach());
    if (t.is_floating_point()) wanted.push_back(leaves.back().set_requires_grad(true));
  }
  Inputs out = f(leaves);
  Tensor sum;
  for (const Tensor& t : out) {
    if (t.requires_grad()) sum = sum.defined() ? sum + (t * t).sum() : (t * t).sum();
  }
  if (sum.defined()) {
    for (const Tensor& g : autograd::grad({sum}, wanted, {}, false, false, true)) {
      if (g.defined()) out.push_back(g);
    }
  }
  for (Tensor& t : out) t = t.detach().contiguous();
  return out;
}

void expect_same(const char* what, const Computation& f, const Inputs& inputs) {
  test::expect_same_bits_on(
      4, [&] { return results(f, inputs); }, what);
}

Tensor indices(IntArrayRef sizes, int64_t below) {
  return randint(0, below, sizes, TensorOptions().dtype(kLong));
}

#define EXPECT_SAME(inputs, ...)                                                              \
  expect_same(                                                                                \
      #__VA_ARGS__, []([[maybe_unused]] const Inputs& x) -> Inputs { return {__VA_ARGS__}; }, \
      Inputs inputs)

}  // namespace

TEST(Parallel, Pointwise) {
  const Tensor a = randn({300, 400}), b = randn({300, 400});
  EXPECT_SAME(({a, b}), x[0] * x[1] + exp(x[0]), atan2(x[0], x[1]), x[0] > x[1]);
  EXPECT_SAME(({a, b}), x[0].t() + x[1].t(), where(x[0] > 0, x[0], x[1]));
  EXPECT_SAME(({a}), x[0].to(kBFloat16).to(kFloat), polygamma(1, abs(x[0]) + 1),
              erfinv(tanh(x[0])));
  EXPECT_SAME(({a}), x[0].t().contiguous(), cat({x[0], x[0]}, 1), flip(x[0], {0}));
}

TEST(Parallel, Reductions) {
  const Tensor a = randn({300, 400});
  EXPECT_SAME(({a}), x[0].sum(), x[0].sum(0), x[0].sum(1), x[0].mean(1), x[0].var(0), x[0].norm());
  EXPECT_SAME(({a}), amax(x[0], 0), argmax(x[0], 1), argmax(x[0]), (x[0] > 0).any(1),
              logsumexp(x[0], {1}));
  EXPECT_SAME(({a}), prod(x[0], 1), cumsum(x[0], 1), cumsum(x[0], 0), softmax(x[0], 1),
              log_softmax(x[0], 0));
}

TEST(Parallel, Products) {
  const Tensor a = randn({150, 170}), b = randn({170, 190}), c = randn({8, 60, 70}),
               d = randn({8, 70, 50});
  EXPECT_SAME(({a, b}), mm(x[0], x[1]));
  EXPECT_SAME(({a, b}), mm(x[0].to(kDouble), x[1].to(kDouble)),
              mm(x[0].to(kBFloat16), x[1].to(kBFloat16)));
  EXPECT_SAME(({c, d}), bmm(x[0], x[1]));
}

TEST(Parallel, Windows) {
  const Tensor image = randn({4, 8, 40, 40}), kernel = randn({16, 8, 3, 3});
  EXPECT_SAME(({image, kernel}), conv2d(x[0], x[1], {}, 1, 1));
  EXPECT_SAME(({image, kernel}), conv2d(x[0].to(kDouble), x[1].to(kDouble), {}, 2));
  EXPECT_SAME(({image}), max_pool2d(x[0], 3, 2), avg_pool2d(x[0], 3, 1),
              adaptive_avg_pool2d(x[0], {7, 7}));
  EXPECT_SAME(({image}), im2col(x[0], {3, 3}, {1, 1}, {0, 0}, {1, 1}));
}

TEST(Parallel, Norms) {
  const Tensor a = randn({64, 32, 20}), w = randn({32}), v = randn({20});
  EXPECT_SAME(({a, w, w}), batch_norm(x[0], x[1], x[2], {}, {}, true, 0.1, 1e-5, false));
  EXPECT_SAME(({a, v, v}), layer_norm(x[0], {20}, x[1], x[2]), group_norm(x[0], 4));
}

TEST(Parallel, Indices) {
  const Tensor a = randn({500, 60}), rows = indices({4000}, 500), at = indices({500, 60}, 500);
  EXPECT_SAME(({a, rows}), embedding(x[0], x[1]), index_select(x[0], 0, x[1]), x[0].index({x[1]}));
  EXPECT_SAME(({a, at}), gather(x[0], 0, x[1]), scatter_add(x[0], 0, x[1], x[0]), take(x[0], x[1]));
  EXPECT_SAME(({a, rows}),
              index_add(x[0], 0, x[1], cat({x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0]})));
  EXPECT_SAME(({a, rows}), index_put(x[0], {x[1]}, randn({60}).zero_(), true),
              masked_fill(x[0], x[0] > 0, 1));
  EXPECT_SAME(({a}), masked_select(x[0], x[0] > 0), nonzero(x[0] > 1));
  EXPECT_SAME(({a}), std::get<0>(sort(x[0], 0)), std::get<1>(topk(x[0], 5, 1)),
              std::get<0>(_unique2(x[0])));
}

TEST(Parallel, RandomNumbers) {
  EXPECT_SAME(({zeros({1})}), (manual_seed(7), randn({300, 400})),
              dropout(ones({300, 400}), 0.5, true), randperm(9000));
}
