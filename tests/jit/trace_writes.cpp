// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes under trace: in place, through views, to captured tensors, with out=.
#include "tests/jit/trace_support.h"

namespace tenon::jit {
namespace {

using namespace trace_test;

// The same on inputs of another shape, and what the function writes to its arguments, too.
template <class F>
void expect_same(F f, const Tensor& example, const Tensor& x) {
  const Tensor kept = example.clone();
  const auto traced = trace(f, {example});
  expect_equal(example, kept);  // examples are not written
  const Tensor a = x.clone(), b = x.clone();
  const Tensor expected = f(a);
  expect_equal(traced(b), expected);
  expect_equal(b, a);
}

TEST(JitTraceWrites, InPlace) {
  expect_same(
      [](const Tensor& x) {
        x.add_(1);
        x.mul_(x);
        return x;
      },
      randn({3}), randn({2, 3}));
}

TEST(JitTraceWrites, ThroughViews) {
  expect_same(
      [](const Tensor& x) {
        Tensor y = x.clone();
        y.select(0, 1).fill_(7);
        y.index_put_({indexing::Slice(), 0}, y.index({indexing::Slice(), 1}) * 2);
        Tensor column = y.t()[2];
        column += 1;
        y[0] = x[1];
        return y;
      },
      randn({3, 3}), randn({4, 3}));
}

TEST(JitTraceWrites, MasksAndIndices) {
  expect_same(
      [](const Tensor& x) {
        Tensor y = x.clone();
        y.index_put_({y > 0}, 0.0);
        y.masked_fill_(y < -1, 1.0);
        return y;
      },
      randn({8}), randn({5}));
}

TEST(JitTraceWrites, Out) {
  expect_same(
      [](const Tensor& x) {
        Tensor out = empty({0});
        add_out(out, x, x, 2);
        Tensor same = zeros_like(x);
        exp_out(same, out);
        return same + out;
      },
      randn({3}), randn({5}));
}

TEST(JitTraceWrites, ViewsInPlace) {
  expect_same(
      [](const Tensor& x) {
        Tensor y = x.clone();
        y.t_().unsqueeze_(0);
        return y * 2;
      },
      randn({2, 3}), randn({4, 3}));
}

TEST(JitTraceWrites, CapturedTensorsAreWrittenByEachRun) {
  Tensor count = zeros({1});
  const auto traced = trace(
      [count](const Tensor& x) {
        const NoGradGuard no_grad;
        count.add_(1);
        return x * count;
      },
      {ones({1})});
  EXPECT_EQ(count.item<float>(), 0);  // tracing itself leaves it
  EXPECT_EQ(traced(ones({1})).item<float>(), 1);
  EXPECT_EQ(traced(ones({1})).item<float>(), 2);
  EXPECT_EQ(count.item<float>(), 2);
}

TEST(JitTraceWrites, DataSharesMemory) {
  expect_same(
      [](const Tensor& x) {
        const Tensor y = x.clone();
        y.data().mul_(3);
        return y;
      },
      randn({3}), randn({4}));
}

TEST(JitTraceWrites, WhatCannotBeRecordedIsRefused) {
  const auto resized = [](const Tensor& x) {
    const Tensor y = x.clone();
    y.resize_({6});
    return y;
  };
  expect_in(error_of([&] { (void)trace(resized, {randn({3})}); }),
            "trace: resize_ of a tensor that was computed cannot be recorded");
  const auto replaced = [](const Tensor& x) {
    const Tensor y = x.clone();
    y.set_data(zeros({2}));
    return y;
  };
  expect_in(error_of([&] { (void)trace(replaced, {randn({3})}); }), "set_data");
  EXPECT_FALSE(is_tracing());
  expect_equal(randn({3}) * 0, zeros({3}));  // and the thread computes as before
}

}  // namespace
}  // namespace tenon::jit
