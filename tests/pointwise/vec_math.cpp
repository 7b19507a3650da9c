// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The vector functions at the ends of their ranges.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/ops.h"
#include "tenon/tensor.h"

namespace {

using tenon::Tensor;

float of(float x, Tensor (*f)(const Tensor&)) {
  return f(tenon::full({3}, x)).data_ptr<float>()[1];
}

}  // namespace

// tenon_ulp measures what lies between these.
TEST(VecMath, FarEndsAndNan) {
  const float inf = HUGE_VALF, big = 3.4e38f, nan = NAN;
  const auto gelu = [](const Tensor& x) { return tenon::gelu(x); };
  const auto gelu_tanh = [](const Tensor& x) { return tenon::gelu(x, "tanh"); };
  struct Row {
    Tensor (*f)(const Tensor&);
    float at_minus_inf, at_minus_big, at_big, at_inf;
  };
  for (const Row& r :
       {Row{&tenon::exp, 0, 0, inf, inf}, Row{&tenon::log, nan, nan, std::log(big), inf},
        Row{&tenon::tanh, -1, -1, 1, 1}, Row{&tenon::sigmoid, 0, 0, 1, 1},
        Row{&tenon::erf, -1, -1, 1, 1}, Row{&tenon::erfc, 2, 2, 0, 0}, Row{gelu, nan, 0, big, inf},
        Row{gelu_tanh, nan, 0, big, inf}}) {
    const auto expect = [&](float x, float want) {
      const float got = of(x, r.f);
      EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want)
          << "f(" << x << ") gives " << got;
    };
    expect(-inf, r.at_minus_inf);
    expect(-big, r.at_minus_big);
    expect(big, r.at_big);
    expect(inf, r.at_inf);
    expect(nan, nan);
  }
}

TEST(VecMath, Subnormals) {
  const float tiny = 1e-44f;
  EXPECT_EQ(of(tiny, &tenon::tanh), tiny);
  EXPECT_EQ(of(-tiny, &tenon::tanh), -tiny);
  EXPECT_EQ(of(tiny, &tenon::exp), 1.0f);
  EXPECT_EQ(of(tiny, &tenon::log), std::log(tiny));
  EXPECT_EQ(of(-103.0f, &tenon::exp), std::exp(-103.0f));
  EXPECT_EQ(of(-103.0f, &tenon::sigmoid), std::exp(-103.0f));
  EXPECT_GT(of(10.0f, &tenon::erfc), 0.0f);
  EXPECT_TRUE(std::signbit(of(-0.0f, &tenon::tanh)));
  EXPECT_TRUE(std::signbit(of(-0.0f, &tenon::erf)));
}

TEST(VecMath, AValueDoesNotDependOnItsPosition) {
  const Tensor x = tenon::linspace(-3, 3, 37), whole = tenon::exp(x);
  for (int64_t i = 0; i < 37; ++i) {
    EXPECT_EQ(tenon::exp(x.slice(0, i, i + 1)).item<float>(), whole.data_ptr<float>()[i]);
  }
}
