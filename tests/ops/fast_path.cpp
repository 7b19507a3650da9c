// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls over uniform operands take the fast path (core/dispatch/fast_path.cpp), observed calls the
// slow path. Both must agree.
#include <gtest/gtest.h>

#include "tenon/autograd.h"
#include "tenon/core/dispatch.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace {

void ignore(void*, const core::Op&, int, int64_t, int64_t) {}

template <class F>
Tensor run_slow_path(F&& f) {
  core::set_kernel_observer(ignore, nullptr);
  Tensor t = f();
  core::set_kernel_observer(nullptr, nullptr);
  return t;
}

Tensor make_operand(IntArrayRef sizes, ScalarType dtype, double start) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return (arange(n, TensorOptions(dtype)) * 0.37 + start).reshape(sizes);
}

using Shapes = std::pair<std::vector<int64_t>, std::vector<int64_t>>;

TEST(FastPath, AgreesWithTheSlowPath) {
  const Shapes shapes[] = {
      {{4, 4}, {4, 4}}, {{4, 4}, {4}},       {{4}, {4, 4}},    {{3, 5, 7}, {5, 7}}, {{3, 5}, {}},
      {{}, {3, 5}},     {{4, 4}, {1, 4}},    {{4, 4}, {4, 1}}, {{4, 4}, {1}},       {{0, 4}, {4}},
      {{4, 0}, {0}},    {{300, 200}, {200}}, {{2, 1}, {1}},    {{1, 1, 4}, {4}},    {{7}, {7}}};
  for (ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    for (const auto& pair : shapes) {
      const auto &a = pair.first, &b = pair.second;
      const Tensor x = make_operand(a, dtype, -1), y = make_operand(b, dtype, 0.5),
                   z = make_operand(a, dtype, 2);
      const auto agree = [&](auto&& f) {
        const Tensor is = f(), expected = run_slow_path(f);
        ASSERT_EQ(is.sizes(), expected.sizes());
        ASSERT_EQ(is.scalar_type(), expected.scalar_type());
        EXPECT_TRUE(is.equal(expected)) << toString(dtype) << core::text(a) << core::text(b);
      };
      agree([&] { return x + y; });
      agree([&] { return y.sub(x, 3); });
      agree([&] { return x < y; });
      agree([&] { return x.addcmul(y, z, 2); });
      agree([&] { return lerp(x, z, y); });
      agree([&] { return x * 2; });
    }
  }
}

TEST(FastPath, AnOperandThatIsWrittenIsReadFirst) {
  Tensor x = make_operand({3, 4}, kFloat, 1);
  const Tensor row = x[0].clone(), before = x.clone();
  x.add_(x[0]);
  EXPECT_TRUE(x.equal(before + row));
  Tensor y = make_operand({4}, kFloat, 1);
  EXPECT_THROW(y.add_(make_operand({3, 4}, kFloat, 1)), Error);
  EXPECT_TRUE(y.equal(make_operand({4}, kFloat, 1)));
}

TEST(FastPath, GradientsOfRepeatedOperandsAreSummed) {
  Tensor x = make_operand({3, 4}, kDouble, 1).requires_grad_(),
         bias = make_operand({4}, kDouble, 1).requires_grad_();
  (x * bias).sum().backward();
  EXPECT_TRUE(bias.grad().equal(x.detach().sum(0)));
  EXPECT_TRUE(x.grad().equal(bias.detach().expand({3, 4})));
}

}  // namespace
}  // namespace tenon
