// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Arithmetic of numbers, with Python's meaning: // and % round to minus infinity, / is a float.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tenon/jit/operator.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

double real(const IValue& v) {
  return v.isInt() ? static_cast<double>(v.toInt()) : v.isBool() ? v.toBool() : v.toDouble();
}
int64_t integer(const IValue& v) { return v.isBool() ? v.toBool() : v.toInt(); }
bool whole(const IValue& v) { return !v.isDouble(); }

// f of the two topmost values.
template <class F>
void binary(Stack& s, const F& f) {
  const IValue b = pop(s);
  IValue& a = s.back();
  a = f(a, b);
}
template <class F>
void unary(Stack& s, const F& f) {
  IValue& a = s.back();
  a = f(a);
}

// Integers wrap, as in torch.
int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

void check_divisor(bool nonzero, const char* what) {
  TENON_CHECK(nonzero, Error, "ZeroDivisionError: ", what, " by zero");
}

int64_t floor_div(int64_t a, int64_t b) {
  check_divisor(b != 0, "integer division");
  if (b == -1) return wrap_sub(0, a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
int64_t modulo(int64_t a, int64_t b) {
  check_divisor(b != 0, "integer modulo");
  if (b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
// Floating-point numbers divide by zero as IEEE 754 says, as in torch and unlike Python.
double modulo(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

void add(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue {
    if (whole(a) && whole(b)) return wrap_add(integer(a), integer(b));
    return real(a) + real(b);
  });
}
void sub(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue {
    if (whole(a) && whole(b)) return wrap_sub(integer(a), integer(b));
    return real(a) - real(b);
  });
}
void mul(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue {
    if (whole(a) && whole(b)) return wrap_mul(integer(a), integer(b));
    return real(a) * real(b);
  });
}
void div(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue { return real(a) / real(b); });
}
void floordiv(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue {
    if (whole(a) && whole(b)) return floor_div(integer(a), integer(b));
    return std::floor(real(a) / real(b));
  });
}
// As of C: what torch's unrolling of loops computes counts with.
void divide_to_zero(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue {
    check_divisor(integer(b) != 0, "integer division");
    return integer(b) == -1 ? wrap_sub(0, integer(a)) : integer(a) / integer(b);
  });
}
void remainder(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue {
    if (whole(a) && whole(b)) return modulo(integer(a), integer(b));
    return modulo(real(a), real(b));
  });
}
void pow_(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue {
    TENON_CHECK(real(a) != 0 || !(real(b) < 0), ValueError,
                "pow: 0.0 cannot be raised to a negative power, the exponent is ", real(b));
    return std::pow(real(a), real(b));
  });
}
void pow_to_int(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue {
    int64_t base = integer(a), n = integer(b), r = 1;
    TENON_CHECK(n >= 0, ValueError, "pow: the exponent ", n, " of an integer power is negative");
    for (; n > 0; n >>= 1, base = wrap_mul(base, base)) {
      if (n & 1) r = wrap_mul(r, base);
    }
    return r;
  });
}
void ldexp(Stack& s) {
  const int64_t exponent = pop_as<int64_t>(s);
  s.back() =
      std::ldexp(real(s.back()), static_cast<int>(std::clamp<int64_t>(exponent, -5000, 5000)));
}
// The part behind the point, and the one before it.
void modf(Stack& s) {
  double before = 0;
  s.back() = std::modf(real(s.back()), &before);
  s.emplace_back(before);
}
// A mantissa from 0.5 to 1, and the exponent of two.
void frexp(Stack& s) {
  int exponent = 0;
  s.back() = std::frexp(real(s.back()), &exponent);
  s.emplace_back(int64_t{exponent});
}
void divmod(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  if (whole(a) && whole(b)) {
    s.emplace_back(floor_div(integer(a), integer(b)));
    s.emplace_back(modulo(integer(a), integer(b)));
    return;
  }
  check_divisor(real(b) != 0, "float divmod");
  s.emplace_back(std::floor(real(a) / real(b)));
  s.emplace_back(modulo(real(a), real(b)));
}

template <class F>
void compare(Stack& s, const F& f) {
  binary(s, [&](const IValue& a, const IValue& b) -> IValue {
    if (whole(a) && whole(b)) return f(integer(a), integer(b));
    return f(real(a), real(b));
  });
}
void eq(Stack& s) {
  compare(s, [](auto a, auto b) { return a == b; });
}
void ne(Stack& s) {
  compare(s, [](auto a, auto b) { return a != b; });
}
void lt(Stack& s) {
  compare(s, [](auto a, auto b) { return a < b; });
}
void le(Stack& s) {
  compare(s, [](auto a, auto b) { return a <= b; });
}
void gt(Stack& s) {
  compare(s, [](auto a, auto b) { return a > b; });
}
void ge(Stack& s) {
  compare(s, [](auto a, auto b) { return a >= b; });
}
void min_(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) { return real(b) < real(a) ? b : a; });
}
void max_(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) { return real(b) > real(a) ? b : a; });
}
// Of an int and a float the result is a float.
void min_real(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue {
    return real(b) < real(a) ? real(b) : real(a);
  });
}
void max_real(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue {
    return real(b) > real(a) ? real(b) : real(a);
  });
}

void neg(Stack& s) {
  unary(s, [](const IValue& a) -> IValue {
    if (whole(a)) return wrap_sub(0, integer(a));
    return -real(a);
  });
}
void abs_(Stack& s) {
  unary(s, [](const IValue& a) -> IValue {
    if (whole(a)) return integer(a) < 0 ? wrap_sub(0, integer(a)) : integer(a);
    return std::abs(real(a));
  });
}
template <class F>
void bits(Stack& s, const F& f) {
  binary(s, [&](const IValue& a, const IValue& b) -> IValue {
    const int64_t r = f(integer(a), integer(b));
    if (a.isBool() && b.isBool()) return r != 0;
    return r;
  });
}
void bit_and(Stack& s) {
  bits(s, [](int64_t a, int64_t b) { return a & b; });
}
void bit_or(Stack& s) {
  bits(s, [](int64_t a, int64_t b) { return a | b; });
}
void bit_xor(Stack& s) {
  bits(s, [](int64_t a, int64_t b) { return a ^ b; });
}
void check_shift(int64_t by) { TENON_CHECK(by >= 0, ValueError, "negative shift count ", by); }
void lshift(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue {
    check_shift(integer(b));
    if (integer(b) > 63) return int64_t{0};
    return static_cast<int64_t>(static_cast<uint64_t>(integer(a)) << integer(b));
  });
}
void rshift(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue {
    check_shift(integer(b));
    return integer(a) >> (integer(b) > 63 ? 63 : integer(b));
  });
}
void bit_not(Stack& s) {
  unary(s, [](const IValue& a) -> IValue { return ~integer(a); });
}
void not_(Stack& s) {
  unary(s, [](const IValue& a) -> IValue { return !a.toBool(); });
}

// Results that do not fit are refused, as by Python's int().
int64_t checked_integer(double v, const char* what) {
  TENON_CHECK(std::isfinite(v), ValueError, "cannot convert float ",
              std::isnan(v) ? "NaN" : "infinity", " to integer");
  TENON_CHECK(v >= -0x1p63 && v < 0x1p63, ValueError, what, ": ", v, " does not fit in an int");
  return static_cast<int64_t>(v);
}
void floor_(Stack& s) {
  unary(s, [](const IValue& a) -> IValue {
    return whole(a) ? integer(a) : checked_integer(std::floor(real(a)), "floor");
  });
}
void ceil_(Stack& s) {
  unary(s, [](const IValue& a) -> IValue {
    return whole(a) ? integer(a) : checked_integer(std::ceil(real(a)), "ceil");
  });
}
void round_(Stack& s) {  // halves to even
  unary(s, [](const IValue& a) -> IValue { return std::nearbyint(real(a)); });
}
void to_int(Stack& s) {
  unary(s, [](const IValue& a) -> IValue {
    return whole(a) ? integer(a) : checked_integer(std::trunc(real(a)), "int");
  });
}
void to_float(Stack& s) {
  unary(s, [](const IValue& a) -> IValue { return real(a); });
}
void to_bool(Stack& s) {
  unary(s, [](const IValue& a) -> IValue { return real(a) != 0; });
}
void same(Stack&) {}

template <double (*F)(double)>
void math1(Stack& s) {
  unary(s, [](const IValue& a) -> IValue { return F(real(a)); });
}
template <double (*F)(double, double)>
void math2(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue { return F(real(a), real(b)); });
}
double degrees(double x) { return x * 180 / M_PI; }
double radians(double x) { return x * M_PI / 180; }
double log_base(double x, double base) { return std::log(x) / std::log(base); }
double log2_(double x) { return std::log2(x); }
double lgamma_(double x) { return std::lgamma(x); }
double expm1_(double x) { return std::expm1(x); }
double sqrt_checked(double x) {
  TENON_CHECK(!(x < 0), ValueError, "math domain error");
  return std::sqrt(x);
}
double log_checked(double x) {
  TENON_CHECK(!(x <= 0), ValueError, "math domain error");
  return std::log(x);
}
void isnan_(Stack& s) {
  unary(s, [](const IValue& a) -> IValue { return std::isnan(real(a)); });
}
void isinf_(Stack& s) {
  unary(s, [](const IValue& a) -> IValue { return std::isinf(real(a)); });
}
void isfinite_(Stack& s) {
  unary(s, [](const IValue& a) -> IValue { return std::isfinite(real(a)); });
}
void gcd_(Stack& s) {
  binary(s, [](const IValue& a, const IValue& b) -> IValue {
    uint64_t x = static_cast<uint64_t>(integer(a)), y = static_cast<uint64_t>(integer(b));
    if (integer(a) < 0) x = 0 - x;
    if (integer(b) < 0) y = 0 - y;
    while (y != 0) {
      const uint64_t r = x % y;
      x = y;
      y = r;
    }
    return static_cast<int64_t>(x);
  });
}
void factorial_(Stack& s) {
  unary(s, [](const IValue& a) -> IValue {
    TENON_CHECK(integer(a) >= 0, ValueError, "factorial() not defined for negative values");
    int64_t r = 1;
    for (int64_t k = 2; k <= std::min<int64_t>(integer(a), 64); ++k) r = wrap_mul(r, k);
    return integer(a) > 65 ? int64_t{0} : r;
  });
}

// The overloads of two numbers.
#define BOTH(name, f, int_result)                                 \
  {"aten::" name ".int(int a, int b) -> " int_result, f},         \
      {"aten::" name ".float(float a, float b) -> float", f},     \
      {"aten::" name ".int_float(int a, float b) -> float", f}, { \
    "aten::" name ".float_int(float a, int b) -> float", f        \
  }
#define SCALARS(name, f) \
  { "aten::" name "(Scalar a, Scalar b) -> Scalar", f }
#define COMPARE(name, f)                                       \
  {"aten::" name ".int(int a, int b) -> bool", f},             \
      {"aten::" name ".float(float a, float b) -> bool", f},   \
      {"aten::" name ".int_float(int a, float b) -> bool", f}, \
      {"aten::" name ".float_int(float a, int b) -> bool", f}, \
      {"aten::" name ".bool(bool a, bool b) -> bool", f}, {    \
    "aten::" name "(Scalar a, Scalar b) -> bool", f            \
  }
#define MATH(name, f)                                         \
  {"aten::" name ".int(int a) -> float", math1<f>},           \
      {"aten::" name ".float(float a) -> float", math1<f>}, { \
    "aten::" name ".Scalar(Scalar a) -> Scalar", math1<f>     \
  }
#define BITS(name, f)                                \
  {"aten::" name ".int(int a, int b) -> int", f}, {  \
    "aten::" name ".bool(bool a, bool b) -> bool", f \
  }
#define MATH2(name, f)                                                   \
  {"aten::" name ".int(int a, int b) -> float", math2<f>},               \
      {"aten::" name ".float(float a, float b) -> float", math2<f>},     \
      {"aten::" name ".int_float(int a, float b) -> float", math2<f>}, { \
    "aten::" name ".float_int(float a, int b) -> float", math2<f>        \
  }
#define MINMAX(name, same_type, mixed)                                \
  {"prim::" name ".int(int a, int b) -> int", same_type},             \
      {"prim::" name ".float(float a, float b) -> float", same_type}, \
      {"prim::" name ".int_float(int a, float b) -> float", mixed},   \
      {"prim::" name ".float_int(float a, int b) -> float", mixed}, { \
    "prim::" name "(Scalar a, Scalar b) -> Scalar", same_type         \
  }

const HostOperator list[] = {
    BOTH("add", add, "int"),
    SCALARS("add", add),
    BOTH("sub", sub, "int"),
    SCALARS("sub", sub),
    BOTH("mul", mul, "int"),
    SCALARS("mul", mul),
    BOTH("div", div, "float"),
    SCALARS("div", div),
    BOTH("truediv", div, "float"),
    BOTH("floordiv", floordiv, "int"),
    SCALARS("floordiv", floordiv),
    {"aten::__round_to_zero_floordiv(int a, int b) -> int", divide_to_zero},
    BOTH("remainder", remainder, "int"),
    SCALARS("remainder", remainder),
    BOTH("pow", pow_, "float"),
    {"aten::pow.Scalar_Scalar(Scalar a, Scalar b) -> Scalar", pow_},
    {"aten::pow.int_to_int(int a, int b) -> int", pow_to_int},
    {"aten::ldexp(float x, int i) -> float", ldexp},
    {"aten::frexp(float a) -> (float, int)", frexp},
    {"aten::modf(float a) -> (float, float)", modf},
    {"aten::divmod.int(int x, int y) -> (int, int)", divmod},
    {"aten::divmod.float(float x, float y) -> (float, float)", divmod},
    {"aten::divmod.int_float(int x, float y) -> (float, float)", divmod},
    {"aten::divmod.float_int(float x, int y) -> (float, float)", divmod},
    COMPARE("eq", eq),
    COMPARE("ne", ne),
    COMPARE("lt", lt),
    COMPARE("le", le),
    COMPARE("gt", gt),
    COMPARE("ge", ge),
    MINMAX("min", min_, min_real),
    MINMAX("max", max_, max_real),
    {"aten::neg.int(int a) -> int", neg},
    {"aten::neg.float(float a) -> float", neg},
    {"aten::neg.Scalar(Scalar a) -> Scalar", neg},
    {"prim::abs.int(int a) -> int", abs_},
    {"prim::abs.float(float a) -> float", abs_},
    {"prim::abs.Scalar(Scalar a) -> Scalar", abs_},
    BITS("__and__", bit_and),
    BITS("__or__", bit_or),
    BITS("__xor__", bit_xor),
    {"aten::__lshift__.int(int a, int b) -> int", lshift},
    {"aten::__rshift__.int(int a, int b) -> int", rshift},
    {"aten::bitwise_not.int(int a) -> int", bit_not},
    {"aten::__not__(bool self) -> bool", not_},
    {"aten::floor.int(int a) -> int", floor_},
    {"aten::floor.float(float a) -> int", floor_},
    {"aten::floor.Scalar(Scalar a) -> Scalar", floor_},
    {"aten::ceil.int(int a) -> int", ceil_},
    {"aten::ceil.float(float a) -> int", ceil_},
    {"aten::ceil.Scalar(Scalar a) -> Scalar", ceil_},
    {"aten::round.int(int a) -> float", round_},
    {"aten::round.float(float a) -> float", round_},
    {"aten::round.Scalar(Scalar a) -> Scalar", round_},
    {"aten::Int.Scalar(Scalar a) -> int", to_int},
    {"aten::Int.int(int a) -> int", same},
    {"aten::Int.bool(bool a) -> int", to_int},
    {"aten::Float.Scalar(Scalar a) -> float", to_float},
    {"aten::Float.int(int a) -> float", to_float},
    {"aten::Float.bool(bool a) -> float", to_float},
    {"aten::Bool.float(float a) -> bool", to_bool},
    {"aten::Bool.int(int a) -> bool", to_bool},
    {"aten::FloatImplicit.int(int a) -> float", to_float},
    MATH("sqrt", sqrt_checked),
    MATH("exp", std::exp),
    MATH("expm1", expm1_),
    MATH("log", log_checked),
    MATH2("log", log_base),
    MATH("log10", std::log10),
    MATH("log2", log2_),
    MATH("log1p", std::log1p),
    MATH("sin", std::sin),
    MATH("cos", std::cos),
    MATH("tan", std::tan),
    MATH("asin", std::asin),
    MATH("acos", std::acos),
    MATH("atan", std::atan),
    MATH("sinh", std::sinh),
    MATH("cosh", std::cosh),
    MATH("tanh", std::tanh),
    MATH("asinh", std::asinh),
    MATH("acosh", std::acosh),
    MATH("atanh", std::atanh),
    MATH("erf", std::erf),
    MATH("erfc", std::erfc),
    MATH("gamma", std::tgamma),
    MATH("lgamma", lgamma_),
    MATH("degrees", degrees),
    MATH("radians", radians),
    MATH("fabs", std::fabs),
    MATH2("atan2", std::atan2),
    MATH2("fmod", std::fmod),
    MATH2("copysign", std::copysign),
    MATH2("mathremainder", std::remainder),
    {"aten::isnan.float(float a) -> bool", isnan_},
    {"aten::isinf.float(float a) -> bool", isinf_},
    {"aten::isfinite.float(float a) -> bool", isfinite_},
    {"aten::gcd.int(int a, int b) -> int", gcd_},
    {"aten::factorial.int(int a) -> int", factorial_},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
