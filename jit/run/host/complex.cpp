// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Arithmetic of complex numbers. Registered before the operators of Scalars, whose overloads take
// them, too, and know reals only.
#include <cmath>
#include <complex>

#include "tenon/jit/operator.h"

namespace tenon::jit {
namespace {

using Complex = std::complex<double>;

Complex complex(const IValue& v) {
  return v.isComplexDouble() ? v.toComplexDouble() : v.toScalar().to<double>();
}
// Of a number, or of a tensor of one element.
double real(const IValue& v) {
  return v.isTensor() ? v.toTensor().item().to<double>() : v.toScalar().to<double>();
}

template <class F>
void binary(Stack& s, const F& f) {
  const IValue b = pop(s);
  s.back() = IValue(f(complex(s.back()), complex(b)));
}
void add(Stack& s) {
  binary(s, [](Complex a, Complex b) { return a + b; });
}
void sub(Stack& s) {
  binary(s, [](Complex a, Complex b) { return a - b; });
}
void mul(Stack& s) {
  binary(s, [](Complex a, Complex b) { return a * b; });
}
void div(Stack& s) {
  binary(s, [](Complex a, Complex b) { return a / b; });
}
void pow_(Stack& s) {
  binary(s, [](Complex a, Complex b) { return std::pow(a, b); });
}
void eq(Stack& s) {
  binary(s, [](Complex a, Complex b) { return a == b; });
}
void ne(Stack& s) {
  binary(s, [](Complex a, Complex b) { return a != b; });
}
void log_base(Stack& s) {
  binary(s, [](Complex a, Complex b) { return std::log(a) / std::log(b); });
}

template <class R, R (*F)(const Complex&)>
void unary(Stack& s) {
  s.back() = IValue(F(complex(s.back())));
}
Complex neg(const Complex& z) { return -z; }
Complex log10_(const Complex& z) { return std::log10(z); }
bool isnan_(const Complex& z) { return std::isnan(z.real()) || std::isnan(z.imag()); }
bool isinf_(const Complex& z) { return std::isinf(z.real()) || std::isinf(z.imag()); }
bool isfinite_(const Complex& z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }

void of_real(Stack& s) { s.back() = IValue(std::arg(complex(s.back()))); }

void make(Stack& s) {
  const double imaginary = real(pop(s));
  s.back() = IValue(Complex(real(s.back()), imaginary));
}
void make_real(Stack& s) { s.back() = IValue(complex(s.back())); }
void polar(Stack& s) {
  const double angle = real(pop(s)), radius = real(s.back());
  s.back() = IValue(Complex(radius * std::cos(angle), radius * std::sin(angle)));
}
void sum(Stack& s) {
  Complex total = 0;
  for (const IValue& v : s.back().toListRef().items) total += complex(v);
  s.back() = IValue(total);
}

#define WITH_COMPLEX(name, f, result)                                       \
  {"aten::" name ".complex(complex a, complex b) -> " result, f},           \
      {"aten::" name ".int_complex(int a, complex b) -> " result, f},       \
      {"aten::" name ".complex_int(complex a, int b) -> " result, f},       \
      {"aten::" name ".float_complex(float a, complex b) -> " result, f}, { \
    "aten::" name ".complex_float(complex a, float b) -> " result, f        \
  }
#define OF_COMPLEX(name, f) \
  { "aten::" name ".complex(complex a) -> complex", unary<Complex, f> }
#define COMPLEX(x, y) \
  { "aten::Complex." #x "_" #y "(" #x " x, " #y " y) -> complex", make }

const HostOperator list[] = {
    WITH_COMPLEX("add", add, "complex"),
    WITH_COMPLEX("sub", sub, "complex"),
    WITH_COMPLEX("mul", mul, "complex"),
    WITH_COMPLEX("div", div, "complex"),
    WITH_COMPLEX("pow", pow_, "complex"),
    WITH_COMPLEX("eq", eq, "bool"),
    WITH_COMPLEX("ne", ne, "bool"),
    WITH_COMPLEX("log", log_base, "complex"),
    OF_COMPLEX("neg", neg),
    OF_COMPLEX("exp", std::exp<double>),
    OF_COMPLEX("log", std::log<double>),
    OF_COMPLEX("log10", log10_),
    OF_COMPLEX("sqrt", std::sqrt<double>),
    OF_COMPLEX("sin", std::sin<double>),
    OF_COMPLEX("cos", std::cos<double>),
    OF_COMPLEX("tan", std::tan<double>),
    OF_COMPLEX("asin", std::asin<double>),
    OF_COMPLEX("acos", std::acos<double>),
    OF_COMPLEX("atan", std::atan<double>),
    OF_COMPLEX("sinh", std::sinh<double>),
    OF_COMPLEX("cosh", std::cosh<double>),
    OF_COMPLEX("tanh", std::tanh<double>),
    OF_COMPLEX("asinh", std::asinh<double>),
    OF_COMPLEX("acosh", std::acosh<double>),
    OF_COMPLEX("atanh", std::atanh<double>),
    {"prim::abs.complex(complex a) -> float", unary<double, std::abs<double>>},
    {"aten::angle.float(float a) -> float", of_real},
    {"aten::angle.int(int a) -> float", of_real},
    {"aten::angle.complex(complex a) -> float", unary<double, std::arg<double>>},
    {"aten::isnan.complex(complex a) -> bool", unary<bool, isnan_>},
    {"aten::isinf.complex(complex a) -> bool", unary<bool, isinf_>},
    {"aten::isfinite.complex(complex a) -> bool", unary<bool, isfinite_>},
    {"aten::sum.complex(complex[] self) -> complex", sum},
    {"aten::Complex.Scalar(Scalar a) -> complex", make_real},
    COMPLEX(float, float),
    COMPLEX(float, int),
    COMPLEX(int, float),
    COMPLEX(int, int),
    COMPLEX(float, bool),
    COMPLEX(bool, float),
    COMPLEX(int, bool),
    COMPLEX(bool, int),
    COMPLEX(bool, bool),
    COMPLEX(Tensor, Tensor),
    COMPLEX(Tensor, float),
    COMPLEX(Tensor, int),
    COMPLEX(Tensor, bool),
    COMPLEX(float, Tensor),
    COMPLEX(int, Tensor),
    COMPLEX(bool, Tensor),
    {"aten::polar.float(float a, float b) -> complex", polar},
    {"aten::polar.int(int a, int b) -> complex", polar},
    {"aten::polar.int_float(int a, float b) -> complex", polar},
    {"aten::polar.float_int(float a, int b) -> complex", polar},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
