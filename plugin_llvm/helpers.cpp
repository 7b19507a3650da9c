// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/helpers.h"

#include <cmath>
#include <cstring>
#include <map>

#include "plugin_llvm/spec/spec.h"
#include "tenon/abi/primitives.h"
#include "tenon/sdk/scalar_math.h"

// Name, ulp; all of float and double, in both widths.
#define TN_SLEEF_ALL(X) \
  X(exp, u10)           \
  X(log, u10)           \
  X(tanh, u10)          \
  X(erf, u10)           \
  X(erfc, u15)          \
  X(exp2, u10)          \
  X(expm1, u10)         \
  X(log2, u10)          \
  X(log10, u10)         \
  X(log1p, u10)         \
  X(sin, u10)           \
  X(cos, u10)           \
  X(tan, u10)           \
  X(asin, u10)          \
  X(acos, u10)          \
  X(atan, u10)          \
  X(sinh, u10)          \
  X(cosh, u10)          \
  X(asinh, u10)         \
  X(acosh, u10)         \
  X(atanh, u10)         \
  X(lgamma, u10)        \
  X(pow, u10)           \
  X(atan2, u10)         \
  X(hypot, u05)

// Their types are those of the calls in the kernels; here only addresses are taken.
#define TN_SLEEF_DECLARE(name, ulp)        \
  void Sleef_##name##f16_##ulp##avx512f(); \
  void Sleef_##name##d8_##ulp##avx512f();  \
  void Sleef_##name##f8_##ulp##avx2();     \
  void Sleef_##name##d4_##ulp##avx2();
extern "C" {
TN_SLEEF_ALL(TN_SLEEF_DECLARE)
}

namespace tenon::llvm_loops {
namespace {

template <class T>
T one(int code, T a) {
  switch (code) {
    case TN_UNARY_ERFINV:
      return sdk::math::erfinv(a);
    case TN_UNARY_DIGAMMA:
      return sdk::math::digamma(a);
    default:
      return sdk::math::i0(a);
  }
}

template <class T>
T two(int code, T a, T b) {
  switch (code) {
    case TN_BINARY_DIV_FLOOR:
      return sdk::math::div_floor(a, b);
    case TN_BINARY_REMAINDER:
      return sdk::math::remainder(a, b);
    case TN_BINARY_FMOD:
      return sdk::math::fmod(a, b);
    case TN_BINARY_NEXTAFTER:
      return std::nextafter(a, b);
    case TN_BINARY_LOGADDEXP:
      return sdk::math::logaddexp(a, b);
    case TN_BINARY_XLOGY:
      return sdk::math::xlogy(a, b);
    default:  // TN_BINARY_XLOG1PY
      return b != b ? b : a == T(0) ? T(0) : a * std::log1p(b);
  }
}

// Zero divisors were reported and give 0.
int64_t whole(int code, int64_t a, int64_t b) {
  const bool divides = code >= TN_BINARY_DIV_TRUNC && code <= TN_BINARY_FMOD;
  if (divides && b == 0) return 0;
  switch (code) {
    case TN_BINARY_DIV_TRUNC:
      return sdk::math::div_trunc(a, b);
    case TN_BINARY_DIV_FLOOR:
      return sdk::math::div_floor(a, b);
    case TN_BINARY_REMAINDER:
      return sdk::math::remainder(a, b);
    case TN_BINARY_FMOD:
      return sdk::math::fmod(a, b);
    case TN_BINARY_POW:
      return sdk::math::pow(a, b);
    default:
      return sdk::math::gcd(a, b);
  }
}

template <class T>
void unary_lanes(int code, const T* a, const T*, T* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = one(code, a[i]);
}
template <class T>
void binary_lanes(int code, const T* a, const T* b, T* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = two(code, a[i], b[i]);
}
void whole_lanes(int code, const int64_t* a, const int64_t* b, int64_t* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = whole(code, a[i], b[i]);
}

float float_of(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, sizeof f);
  return f;
}

// The next value in a format whose numbers are `bits`; 1 is its smallest positive one.
template <class To, class From>
float next(float a, float b, To to_bits, From from_bits) {
  if (a != a || b != b) return a + b;
  if (a == b) return b;
  if (a == 0) return from_bits(static_cast<uint16_t>(b < 0 ? 0x8001 : 1));
  return from_bits(static_cast<uint16_t>(to_bits(a) + ((a < b) == (a > 0) ? 1 : -1)));
}

void next_half(int, const float* a, const float* b, float* out, int n) {
  const auto to = [](float f) -> int {
    uint32_t bits = 0;
    std::memcpy(&bits, &f, sizeof bits);
    const uint32_t x = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    if (x >= 0x7f800000) return static_cast<int>(sign | 0x7c00);
    if (x >= 0x38800000) return static_cast<int>(sign | (x - 0x38000000) >> 13);
    return static_cast<int>(sign | static_cast<uint32_t>(std::fabs(f) * 16777216.0f));
  };
  const auto from = [](uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00) return float_of(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x400) return float_of(sign | ((rest << 13) + 0x38000000));
    const float f = static_cast<float>(rest) * 5.9604644775390625e-8f;
    return sign ? -f : f;
  };
  for (int i = 0; i < n; ++i) out[i] = next(a[i], b[i], to, from);
}

void next_bfloat(int, const float* a, const float* b, float* out, int n) {
  const auto to = [](float f) -> int {
    uint32_t bits = 0;
    std::memcpy(&bits, &f, sizeof bits);
    return static_cast<int>(bits >> 16);
  };
  const auto from = [](uint16_t h) { return float_of(static_cast<uint32_t>(h) << 16); };
  for (int i = 0; i < n; ++i) out[i] = next(a[i], b[i], to, from);
}

void fail(Report* report, int32_t code, int32_t node, int32_t dim, int64_t index, int64_t limit) {
  int32_t none = 0;
  if (!__atomic_compare_exchange_n(&report->code, &none, code, false, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED))
    return;
  report->node = node;
  report->dim = dim;
  report->index = index;
  report->limit = limit;
}

}  // namespace

const void* find_helper(std::string_view name) {
  using Table = std::map<std::string_view, const void*>;
  static const Table& table =
      *new Table{{"tn_unary_f", reinterpret_cast<const void*>(&unary_lanes<float>)},
                 {"tn_unary_d", reinterpret_cast<const void*>(&unary_lanes<double>)},
                 {"tn_binary_f", reinterpret_cast<const void*>(&binary_lanes<float>)},
                 {"tn_binary_d", reinterpret_cast<const void*>(&binary_lanes<double>)},
                 {"tn_binary_i", reinterpret_cast<const void*>(&whole_lanes)},
                 {"tn_next_half", reinterpret_cast<const void*>(&next_half)},
                 {"tn_next_bfloat", reinterpret_cast<const void*>(&next_bfloat)},
                 {"tn_fail", reinterpret_cast<const void*>(&fail)},
#define TN_SLEEF_ENTRY(name, ulp)                                        \
  {"Sleef_" #name "f16_" #ulp "avx512f",                                 \
   reinterpret_cast<const void*>(&Sleef_##name##f16_##ulp##avx512f)},    \
      {"Sleef_" #name "d8_" #ulp "avx512f",                              \
       reinterpret_cast<const void*>(&Sleef_##name##d8_##ulp##avx512f)}, \
      {"Sleef_" #name "f8_" #ulp "avx2",                                 \
       reinterpret_cast<const void*>(&Sleef_##name##f8_##ulp##avx2)},    \
      {"Sleef_" #name "d4_" #ulp "avx2",                                 \
       reinterpret_cast<const void*>(&Sleef_##name##d4_##ulp##avx2)},
                 TN_SLEEF_ALL(TN_SLEEF_ENTRY)
#undef TN_SLEEF_ENTRY
      };
  const auto at = table.find(name);
  return at != table.end() ? at->second : nullptr;
}

}  // namespace tenon::llvm_loops
