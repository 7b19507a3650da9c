// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The error of the float functions in units of the last place, over floats of every sign and exponent, infinities and
// NaN among them. What libm says in double is the truth.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tenon/ops.h"
#include "tenon/tensor.h"

namespace {

using tenon::Tensor;

constexpr double kLimit = 2.0;

struct Function {
  const char* name;
  Tensor (*ours)(const Tensor&);
  double (*exact)(double);
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Both lose nothing far below zero. At -inf they are what ATen has there: -inf times 0.
const Function kFunctions[] = {
    {"exp", &tenon::exp, &std::exp},
    {"log", &tenon::log, &std::log},
    {"log1p", &tenon::log1p, &std::log1p},
    {"sin", &tenon::sin, &std::sin},
    {"tanh", &tenon::tanh, &std::tanh},
    {"sigmoid", &tenon::sigmoid, &sigmoid},
    {"erf", &tenon::erf, &std::erf},
    {"erfc", &tenon::erfc, &std::erfc},
    {"gelu", [](const Tensor& x) { return tenon::gelu(x); },
     [](double x) { return x * (0.5 * std::erfc(-x * 0.70710678118654752440)); }},
    {"gelu(tanh)", [](const Tensor& x) { return tenon::gelu(x, "tanh"); },
     [](double x) { return x * sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x)); }},
};

// How far `got` is from the truth; infinite where it is not even the same kind of number.
double error(float got, double truth) {
  const float rounded = static_cast<float>(truth);
  if (std::isnan(truth)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isinf(rounded)) return got == rounded ? 0 : HUGE_VAL;
  if (!std::isfinite(got)) return HUGE_VAL;
  const float size = std::fabs(rounded);
  const double ulp = static_cast<double>(std::nextafter(size, HUGE_VALF)) - static_cast<double>(size);
  return std::fabs(static_cast<double>(got) - truth) / ulp;
}

struct Worst {
  double ulp = 0;
  float at = 0;
};

Worst measure(const Function& f, uint64_t points) {
  constexpr int64_t kBlock = 1 << 18;
  const uint64_t step = std::max<uint64_t>(1, (uint64_t{1} << 32) / points);
  const Tensor x = tenon::empty({kBlock}, tenon::kFloat);
  float* in = x.data_ptr<float>();
  Worst worst;
  for (uint64_t bits = 0; bits >> 32 == 0;) {
    for (int64_t i = 0; i < kBlock; ++i, bits += step) {
      const uint32_t b = bits >> 32 == 0 ? static_cast<uint32_t>(bits) : 0;
      std::memcpy(in + i, &b, sizeof b);
    }
    const Tensor y = f.ours(x);
    const float* got = y.data_ptr<float>();
    for (int64_t i = 0; i < kBlock; ++i) {
      const double e = error(got[i], f.exact(static_cast<double>(in[i])));
      if (e > worst.ulp) worst = {e, in[i]};
    }
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t points = 10000000;
  CLI::App app{"The largest error of the float functions in ULP; fails above 2."};
  app.add_option("--points", points, "floats to try, evenly over their bit patterns")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  int failed = 0;
  std::printf("%-12s %8s   at\n", "function", "ULP");
  for (const Function& f : kFunctions) {
    const Worst worst = measure(f, points);
    std::printf("%-12s %8.3f   %.9g%s\n", f.name, worst.ulp, static_cast<double>(worst.at),
                worst.ulp <= kLimit ? "" : "   too far");
    failed |= worst.ulp <= kLimit ? 0 : 1;
  }
  return failed;
}
