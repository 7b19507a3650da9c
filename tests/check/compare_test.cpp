// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The comparison itself: the differences that it must find.
#include "tools/oracle/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/core/op.h"

namespace {

using namespace tenon::oracle;
namespace core = tenon::core;

Values reals(std::vector<double> v) {
  return {tenon::kDouble, {static_cast<int64_t>(v.size())}, v, {}};
}
Values ints(std::vector<int64_t> v) {
  return {
      tenon::kInt64, {static_cast<int64_t>(v.size())}, std::vector<double>(v.begin(), v.end()), v};
}

TEST(Compare, UsesBothTolerances) {
  EXPECT_EQ(compare_values(reals({1.0001}), reals({1}), {1e-3, 0}), "");
  EXPECT_NE(compare_values(reals({1.0001}), reals({1}), {1e-5, 0}), "");
  EXPECT_EQ(compare_values(reals({1e-9}), reals({0}), {0, 1e-8}), "");
}

TEST(Compare, TellsNaNAndInfinitiesApart) {
  EXPECT_EQ(compare_values(reals({NAN, INFINITY}), reals({NAN, INFINITY}), {}), "");
  EXPECT_NE(compare_values(reals({1}), reals({NAN}), {1, 1}), "");
  EXPECT_NE(compare_values(reals({INFINITY}), reals({-INFINITY}), {1, 1}), "");
  EXPECT_NE(compare_values(reals({INFINITY}), reals({1e300}), {1, 1}), "");
}

TEST(Compare, TakesInfinityForWhatADtypeCannotHold) {
  const Values ours{tenon::kFloat, {2}, {INFINITY, -INFINITY}, {}};
  EXPECT_EQ(compare_values(ours, reals({1e39, -1e300}), {}), "");
  EXPECT_NE(compare_values(ours, reals({1e39, 1e300}), {}), "");
  EXPECT_NE(compare_values(ours, reals({1e38, -1e300}), {1, 1}), "");
}

TEST(Compare, IsExactForIntegersAndShapes) {
  EXPECT_NE(compare_values(ints({(1LL << 60) + 1}), ints({1LL << 60}), {1, 1}), "");
  EXPECT_NE(compare_values(reals({1, 2}), reals({1}), {1, 1}), "");
}

TEST(EqualValues, AcceptsAnotherEqualElementOnly) {
  const core::Op* op = core::find_op("topk");
  if (!op) GTEST_SKIP() << "no operator named topk";
  int64_t n = 4;
  core::Impl self = core::new_tensor("test", tenon::kDouble, core::kHost, 1, &n);
  double values[] = {1, 3, 3, 2};
  std::copy(values, values + 4, reinterpret_cast<double*>(self->host_data()));
  std::vector<tn_value> in;
  in.reserve(static_cast<std::size_t>(op->n_args));
  for (int i = 0; i < op->n_args; ++i)
    in.push_back(op->args[i].has_default ? op->args[i].value : tn_value{});
  in[0].tag = TN_TAG_TENSOR;
  in[0].u.tensor = &self->view;
  EqualValueRule rule(*op, in.data());
  ASSERT_TRUE(rule.covers(1));
  EXPECT_EQ(rule.compare(ints({2, 1}), ints({1, 2})), "");
  EXPECT_NE(rule.compare(ints({1, 1}), ints({1, 2})), "");
  EXPECT_NE(rule.compare(ints({1, 3}), ints({1, 2})), "");
  EXPECT_NE(rule.compare(ints({1, 4}), ints({1, 2})), "");
}

}  // namespace
