// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The error of the vector functions in units of the last place, over every 4001st float.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tenon/ops.h"
#include "tenon/tensor.h"

namespace {

using tenon::Tensor;

std::vector<float> sample() {
  std::vector<float> out;
  for (uint64_t b = 0; b < (uint64_t{1} << 32); b += 4001) {
    const uint32_t bits = static_cast<uint32_t>(b);
    float f;
    std::memcpy(&f, &bits, 4);
    out.push_back(f);
  }
  return out;
}

double worst(Tensor (*f)(const Tensor&), double (*exact)(double)) {
  static const std::vector<float> in = sample();
  const Tensor x = tenon::empty({static_cast<int64_t>(in.size())}, tenon::kFloat);
  std::memcpy(x.data_ptr<float>(), in.data(), in.size() * 4);
  const Tensor y = f(x);
  const float* got = y.data_ptr<float>();
  double most = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double truth = exact(static_cast<double>(in[i]));
    const float rounded = static_cast<float>(truth);
    if (std::isnan(truth) || std::isinf(rounded)) {
      EXPECT_TRUE(std::isnan(truth) ? std::isnan(got[i]) : got[i] == rounded) << in[i] << " gives " << got[i];
      continue;
    }
    const float size = std::fabs(rounded);
    const double ulp = static_cast<double>(std::nextafter(size, HUGE_VALF)) - static_cast<double>(size);
    most = std::max(most, std::fabs(static_cast<double>(got[i]) - truth) / ulp);
  }
  return most;
}

}  // namespace

TEST(VecMath, WithinTwoUlp) {
  EXPECT_LE(worst(&tenon::exp, [](double x) { return std::exp(x); }), 2.0);
  EXPECT_LE(worst(&tenon::log, [](double x) { return std::log(x); }), 2.0);
  EXPECT_LE(worst(&tenon::tanh, [](double x) { return std::tanh(x); }), 2.0);
  EXPECT_LE(worst(&tenon::erf, [](double x) { return std::erf(x); }), 2.0);
  EXPECT_LE(worst(&tenon::sin, [](double x) { return std::sin(x); }), 2.0);
  EXPECT_LE(worst(&tenon::log1p, [](double x) { return std::log1p(x); }), 2.0);
}

// The quotient adds half a unit to what exp leaves.
TEST(VecMath, SigmoidWithinTwoAndAHalfUlp) {
  EXPECT_LE(worst(&tenon::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }), 2.5);
}

TEST(VecMath, AValueDoesNotDependOnItsPosition) {
  const Tensor x = tenon::linspace(-3, 3, 37), whole = tenon::exp(x);
  for (int64_t i = 0; i < 37; ++i) {
    EXPECT_EQ(tenon::exp(x.slice(0, i, i + 1)).item<float>(), whole.data_ptr<float>()[i]);
  }
}
