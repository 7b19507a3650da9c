// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The error of the floating functions in units of the last place, over numbers of every sign and
// exponent, denormal ones, infinities and NaN among them, and densely where results begin to
// overflow and to vanish. The reference is libm in long double, for float32 in double where that is
// precise enough.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "tenon/ops.h"
#include "tenon/tensor.h"

namespace {

using tenon::Tensor;
using Real = long double;

struct Function {
  const char* name;
  Tensor (*ours)(const Tensor&);
  Real (*exact)(Real);
  double limit = 2;       // in units of the last place, of float32
  double wide_limit = 2;  // of float64
  double min_result = 0;  // smaller results count as this: they are differences of larger ones
  // Of float64: from this magnitude on the reference itself is not known.
  double wide_end = HUGE_VAL;
};

constexpr Real kPi = 3.14159265358979323846264338327950288L;
Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real hardswish(Real x) { return x * std::min<Real>(std::max<Real>(x + 3, 0), 6) / 6; }

Real digamma(Real x) {
  if (x == 0) return std::copysign(HUGE_VALL, -x);
  if (std::isinf(x)) return x > 0 ? x : NAN;
  Real rest = 0;
  if (x < 0) {
    const Real off = x - std::nearbyint(x);
    if (off == 0) return NAN;
    rest = -kPi / std::tan(kPi * off);
    x = 1 - x;
  }
  for (; x < 40; x += 1) rest -= 1 / x;
  const Real z = 1 / (x * x);
  return rest + std::log(x) - 0.5L / x -
         z * (1 / 12.0L - z * (1 / 120.0L - z * (1 / 252.0L - z / 240)));
}

// All terms are positive.
Real i0(Real x) {
  if (std::isinf(x)) return NAN;
  if (std::fabs(x) > 800) return HUGE_VALL;  // also for long double's callers: float64 ends at 714
  Real sum = 1, term = 1;
  for (int k = 1; term > sum * 1e-21L; ++k) {
    term *= (x / 2 / static_cast<Real>(k)) * (x / 2 / static_cast<Real>(k));
    sum += term;
  }
  return std::isnan(x) ? x : sum;
}

// gelu loses nothing far below zero in float32; in float64 it does as e^(-x^2 / 2) does of a
// rounded x^2. At -inf products with 0 are NaN, as ATen's.
const Function kFunctions[] = {
    {"exp", &tenon::exp, [](Real x) { return std::exp(x); }},
    {"exp2", &tenon::exp2, [](Real x) { return std::exp2(x); }},
    {"expm1", &tenon::expm1, [](Real x) { return std::expm1(x); }},
    {"log", &tenon::log, [](Real x) { return std::log(x); }},
    {"log2", &tenon::log2, [](Real x) { return std::log2(x); }},
    {"log10", &tenon::log10, [](Real x) { return std::log10(x); }},
    {"log1p", &tenon::log1p, [](Real x) { return std::log1p(x); }},
    {"sin", &tenon::sin, [](Real x) { return std::sin(x); }},
    {"cos", &tenon::cos, [](Real x) { return std::cos(x); }},
    {"tan", &tenon::tan, [](Real x) { return std::tan(x); }},
    {"asin", &tenon::asin, [](Real x) { return std::asin(x); }},
    {"acos", &tenon::acos, [](Real x) { return std::acos(x); }},
    {"atan", &tenon::atan, [](Real x) { return std::atan(x); }},
    {"sinh", &tenon::sinh, [](Real x) { return std::sinh(x); }},
    {"cosh", &tenon::cosh, [](Real x) { return std::cosh(x); }},
    {"tanh", &tenon::tanh, [](Real x) { return std::tanh(x); }},
    {"asinh", &tenon::asinh, [](Real x) { return std::asinh(x); }},
    {"acosh", &tenon::acosh, [](Real x) { return std::acosh(x); }},
    {"atanh", &tenon::atanh, [](Real x) { return std::atanh(x); }},
    {"sigmoid", &tenon::sigmoid, &sigmoid, 2, 3},
    {"erf", &tenon::erf, [](Real x) { return std::erf(x); }},
    {"erfc", &tenon::erfc, [](Real x) { return std::erfc(x); }, 2, 2.5},
    {"lgamma", &tenon::lgamma, [](Real x) { return std::lgamma(x); }, 2.5, 2.5, 1},
    {"digamma", &tenon::digamma, &digamma, 2, 64, 1},
    {"i0", &tenon::i0, &i0, 2, 12},
    {"silu", [](const Tensor& x) { return tenon::silu(x); }, [](Real x) { return x * sigmoid(x); },
     3, 4},
    {"hardswish", &tenon::hardswish, &hardswish, 3, 3, 1e-2},
    {"gelu", [](const Tensor& x) { return tenon::gelu(x); },
     [](Real x) { return x * (0.5L * std::erfc(-x * 0.707106781186547524400844362104849L)); }, 2.5,
     2000},
    {"gelu(tanh)", [](const Tensor& x) { return tenon::gelu(x, "tanh"); },
     [](Real x) {
       return x * sigmoid(1.59576912160573071175978423973752L * (x + 0.044715L * x * x * x));
     },
     2.5, 2000},
};

// The error of `got`; infinite if it is NaN or infinite and the reference is not, or the reverse.
template <class T>
double error(T got, Real truth, double min_result) {
  const T rounded = static_cast<T>(truth);
  if (std::isnan(truth)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isinf(rounded))
    return got == rounded || std::fabs(got) > 0.999999 * std::numeric_limits<T>::max() ? 0
                                                                                       : HUGE_VAL;
  const T size = std::max(static_cast<T>(std::fabs(rounded)), static_cast<T>(min_result)),
          inf = std::numeric_limits<T>::infinity();
  const Real ulp = static_cast<Real>(std::nextafter(size, inf)) - static_cast<Real>(size);
  if (std::isinf(ulp)) return 0;  // the largest number itself
  if (!std::isfinite(got)) return HUGE_VAL;
  return static_cast<double>(std::fabs(static_cast<Real>(got) - truth) / ulp);
}

struct Worst {
  double ulp = 0, at = 0;
};

// Where results of these functions begin to overflow or to vanish, and small negative numbers.
struct Window {
  double from, to;
};
constexpr Window kFloatWindows[] = {{-105, -86}, {86, 91}, {-1e-6, 1e-6}, {-3, 3}, {-20, 20}};
constexpr Window kDoubleWindows[] = {{-760, -690}, {690, 720}, {-1e-6, 1e-6}, {-3, 3}, {-40, 40}};

template <class T>
std::vector<T> points_of(uint64_t count) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::vector<T> out;
  const uint64_t even = count / 2, each = count / 10;
  const auto step = static_cast<Bits>(
      std::max<uint64_t>(1, static_cast<uint64_t>(~Bits{0} / std::max<uint64_t>(1, even))));
  Bits bits = 0;
  for (uint64_t i = 0; i < even; ++i, bits = static_cast<Bits>(bits + step)) {
    T x;
    std::memcpy(&x, &bits, sizeof x);
    out.push_back(x);
  }
  for (const Window& w : sizeof(T) == 4 ? kFloatWindows : kDoubleWindows) {
    for (uint64_t i = 0; i < each; ++i) {
      out.push_back(static_cast<T>(w.from + (w.to - w.from) * static_cast<double>(i) /
                                                static_cast<double>(each)));
    }
  }
  constexpr T max = std::numeric_limits<T>::max(), min = std::numeric_limits<T>::denorm_min();
  for (T x : {max, std::nextafter(max, T(0)), max / 2, std::numeric_limits<T>::infinity(), min,
              2 * min, std::numeric_limits<T>::min(), T(0)}) {
    out.push_back(x);
    out.push_back(-x);
  }
  return out;
}

template <class T>
Worst measure(const Function& f, const std::vector<T>& points) {
  const Tensor x = tenon::empty({static_cast<int64_t>(points.size())},
                                sizeof(T) == 4 ? tenon::kFloat : tenon::kDouble);
  std::copy(points.begin(), points.end(), x.data_ptr<T>());
  const Tensor y = f.ours(x);
  const T* got = y.data_ptr<T>();
  Worst worst;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (sizeof(T) == 8 && std::fabs(points[i]) >= static_cast<T>(f.wide_end)) continue;
    const double e = error(got[i], f.exact(static_cast<Real>(points[i])), f.min_result);
    if (e > worst.ulp) worst = {e, static_cast<double>(points[i])};
  }
  return worst;
}

bool print(const char* name, const char* dtype, const Worst& worst, double limit) {
  std::printf("%-12s %-8s %10.3f   %.17g%s\n", name, dtype, worst.ulp, worst.at,
              worst.ulp <= limit ? "" : "   too far");
  return worst.ulp <= limit;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t points = 1000000;
  CLI::App app{
      "The largest error of the floating functions in ULP; fails where one is above its limit, 2 "
      "for most."};
  app.add_option("--points", points, "values to try: half of them evenly over their bit patterns")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  bool good = true;
  std::printf("%-12s %-8s %10s   at\n", "function", "dtype", "ULP");
  const auto floats = points_of<float>(points);
  const auto doubles = points_of<double>(points);
  for (const Function& f : kFunctions) {
    good = print(f.name, "float32", measure(f, floats), f.limit) && good;
    good = print(f.name, "float64", measure(f, doubles), f.wide_limit) && good;
  }
  return good ? 0 : 1;
}
