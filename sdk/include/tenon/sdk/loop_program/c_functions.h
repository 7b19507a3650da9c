// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions of the printed text, with the semantics of abi/primitives.h; as in scalar_math.h. Only
// what a program uses is printed. In a text @T is float or double, @n their letter, @s the suffix
// of the mathematical functions, @G the qualifier of pointers.
#ifndef TENON_SDK_LOOP_PROGRAM_C_FUNCTIONS_H_
#define TENON_SDK_LOOP_PROGRAM_C_FUNCTIONS_H_

#include <set>

#include "tenon/sdk/loop_program/c_dialect.h"
#include "tenon/sdk/loop_program/program.h"

namespace tenon::sdk::loop_program {

struct CFunction {
  std::string_view name;
  std::string_view needs;  // another function, printed before it
  std::string_view text;   // from the type of the result on
};

// Of float and double.
inline constexpr CFunction c_real_functions[] = {
    {"sigmoid", "", R"(@T tn_sigmoid_@n(@T a) {
  const @T e = exp@s(-fabs@s(a));
  return (a < 0 ? e : (@T)1) / (1 + e);
})"},
    {"max", "", "@T tn_max_@n(@T a, @T b) { return a > b || a != a ? a : b; }"},
    {"min", "", "@T tn_min_@n(@T a, @T b) { return a < b || a != a ? a : b; }"},
    {"fmax", "", "@T tn_fmax_@n(@T a, @T b) { return a > b || b != b ? a : b; }"},
    {"fmin", "", "@T tn_fmin_@n(@T a, @T b) { return a < b || b != b ? a : b; }"},
    {"div_floor", "", R"(@T tn_div_floor_@n(@T a, @T b) {
  if (b == 0) return a / b;
  const @T m = fmod@s(a, b);
  @T q = (a - m) / b;
  if (m != 0 && (b < 0) != (m < 0)) q -= 1;
  if (q == 0) return copysign@s((@T)0, a / b);
  const @T f = floor@s(q);
  return q - f > 0.5f ? f + 1 : f;
})"},
    {"remainder", "", R"(@T tn_remainder_@n(@T a, @T b) {
  const @T m = fmod@s(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
})"},
    {"logaddexp", "max", R"(@T tn_logaddexp_@n(@T a, @T b) {
  if (a == b && a - a != 0) return a;
  return tn_max_@n(a, b) + log1p@s(exp@s(-fabs@s(a - b)));
})"},
    {"xlogy", "",
     "@T tn_xlogy_@n(@T a, @T b) { return b != b ? b : a == 0 ? (@T)0 : a * log@s(b); }"},
    {"xlog1py", "",
     "@T tn_xlog1py_@n(@T a, @T b) { return b != b ? b : a == 0 ? (@T)0 : a * log1p@s(b); }"},
    {"erfinv", "", R"(@T tn_erfinv_@n(@T a) {
  const double x = a, size = fabs(x);
  if (!(size < 1)) return size == 1 ? a * (@T)tn_float_of(0x7f800000) : (@T)tn_float_of(0x7fc00000);
  const double w = -log1p(-size * size), k = 2 / (3.14159265358979323846 * 0.147) - 0.5 * w;
  double y = w < 1e-3 ? size * 0.886226925452758 : sqrt(sqrt(k * k + w / 0.147) - k);
  for (int i = 0; i < 4; ++i) {
    const double e = y < 0.5 ? erf(y) - size : (1 - size) - erfc(y);
    const double u = e / (1.1283791670955125739 * exp(-y * y));
    y -= u / (1 + y * u);
  }
  return (@T)copysign(y, x);
})"},
    {"digamma", "", R"(@T tn_digamma_@n(@T a) {
  double x = a, r = 0;
  if (x == 0) return copysign@s((@T)tn_float_of(0x7f800000), -a);
  if (x < 0) {
    if (x == floor(x)) return (@T)tn_float_of(0x7fc00000);
    r = -3.14159265358979323846 / tan(3.14159265358979323846 * (x - rint(x)));
    x = 1 - x;
  }
  while (x < 10) {
    r -= 1 / x;
    x += 1;
  }
  const double z = 1 / (x * x);
  const double tail =
      z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 -
      z * (1.0 / 240 - z * (1.0 / 132 - z * 691.0 / 32760)))));
  return (@T)(r + log(x) - 0.5 / x - tail);
})"},
    {"i0", "", R"(@T tn_i0_@n(@T a) {
  const double x = fabs((double)a);
  if (x > 1000) return (@T)tn_float_of(x - x == 0 ? 0x7f800000 : 0x7fc00000);
  double term = 1, sum = 1;
  if (x < 20) {
    for (int k = 1; k < 80 && term > 1e-18 * sum; ++k) {
      const double h = x / (2 * k);
      term *= h * h;
      sum += term;
    }
    return (@T)sum;
  }
  for (int k = 1; k < 24 && term >= 1e-17; ++k) {
    term *= (2.0 * k - 1) * (2.0 * k - 1) / (8.0 * k * x);
    sum += term;
  }
  const double root = exp(0.5 * x);
  return (@T)(root * (sum / sqrt(6.28318530717958647692 * x)) * root);
})"},
    {"to_int", "", R"(tn_i64 tn_to_int_@n(@T a) {
  return a >= -9223372036854775808.0f && a < 9223372036854775808.0f ? (tn_i64)a
                                                                   : -9223372036854775807 - 1;
})"},
};

// Of integers, in 64 bits: narrower ones are cut afterwards. A zero divisor has been reported.
inline constexpr CFunction c_functions[] = {
    // `by` is find_divider() of b.
    {"divide", "", R"(tn_u64 tn_divide(tn_u64 a, tn_u64 b, tn_u64 by) {
  if (by == 0) return a / b;
  return (tn_u64)((tn_u32)((a * (tn_u32)by >> 32) + a) >> (tn_u32)(by >> 32));
})"},
    {"fail", "", R"(void tn_fail(@Gtn_report* r, int code, int op, tn_i64 index, tn_i64 limit) {
  if (!tn_claim(&r->code, code)) return;
  r->op = op;
  r->index = index;
  r->limit = limit;
})"},
    {"int_div_trunc", "", R"(tn_i64 tn_int_div_trunc(tn_i64 a, tn_i64 b) {
  return b == 0 ? 0 : b == -1 ? (tn_i64)(0 - (tn_u64)a) : a / b;
})"},
    {"int_fmod", "", R"(tn_i64 tn_int_fmod(tn_i64 a, tn_i64 b) {
  return b == 0 || b == -1 ? 0 : a % b;
})"},
    {"int_remainder", "int_fmod", R"(tn_i64 tn_int_remainder(tn_i64 a, tn_i64 b) {
  const tn_i64 m = tn_int_fmod(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
})"},
    {"int_div_floor", "int_div_trunc", R"(tn_i64 tn_int_div_floor(tn_i64 a, tn_i64 b) {
  const tn_i64 q = tn_int_div_trunc(a, b);
  return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
})"},
    {"int_pow", "", R"(tn_i64 tn_int_pow(tn_i64 a, tn_i64 b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
  tn_u64 r = 1, x = (tn_u64)a;
  for (tn_u64 e = (tn_u64)b; e; e >>= 1) {
    if (e & 1) r *= x;
    x *= x;
  }
  return (tn_i64)r;
})"},
    {"int_gcd", "", R"(tn_i64 tn_int_gcd(tn_i64 a, tn_i64 b) {
  tn_u64 x = a < 0 ? 0 - (tn_u64)a : (tn_u64)a, y = b < 0 ? 0 - (tn_u64)b : (tn_u64)b;
  while (y) {
    const tn_u64 r = x % y;
    x = y;
    y = r;
  }
  return (tn_i64)x;
})"},
    {"philox", "", R"(tn_i32 tn_philox(tn_i64 seed, tn_i64 offset, tn_i64 word) {
  const tn_u64 block = (tn_u64)offset + (tn_u64)(word >> 2);
  tn_u32 c0 = (tn_u32)block, c1 = (tn_u32)(block >> 32), c2 = 0, c3 = 0;
  tn_u32 k0 = (tn_u32)(tn_u64)seed, k1 = (tn_u32)((tn_u64)seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const tn_u64 p0 = (tn_u64)0xD2511F53 * c0, p1 = (tn_u64)0xCD9E8D57 * c2;
    const tn_u32 n0 = (tn_u32)(p1 >> 32) ^ c1 ^ k0, n2 = (tn_u32)(p0 >> 32) ^ c3 ^ k1;
    c1 = (tn_u32)p1;
    c3 = (tn_u32)p0;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  const int lane = (int)(word & 3);
  return (tn_i32)(lane == 0 ? c0 : lane == 1 ? c1 : lane == 2 ? c2 : c3);
})"},
    {"from_half", "", R"(float tn_from_half(tn_u16 h) {
#ifdef __CUDA_ARCH__
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
#else
  const tn_u32 sign = (tn_u32)(h & 0x8000) << 16, rest = h & 0x7fff;
  if (rest >= 0x7c00) return tn_float_of(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest >= 0x400) return tn_float_of(sign | ((rest << 13) + 0x38000000));
  return tn_float_of(sign | tn_bits_of((float)rest * 5.9604644775390625e-8f));
#endif
})"},
    {"to_half", "", R"(tn_u16 tn_to_half(float f) {
#ifdef __CUDA_ARCH__
  tn_u16 h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
#else
  const tn_u32 bits = tn_bits_of(f), sign = bits >> 16 & 0x8000, x = bits & 0x7fffffff;
  if (x > 0x7f800000) return (tn_u16)(sign | 0x7e00 | (x >> 13 & 0x3ff));
  if (x >= 0x47800000) return (tn_u16)(sign | 0x7c00);
  if (x < 0x38800000) return (tn_u16)(sign | (tn_bits_of(tn_float_of(x) + 0.5f) - 0x3f000000));
  return (tn_u16)(sign | (x + 0xc8000fff + (x >> 13 & 1)) >> 13);
#endif
})"},
    {"round_half", "to_half from_half",
     "float tn_round_half(float f) { return tn_from_half(tn_to_half(f)); }"},
    {"from_bfloat", "", "float tn_from_bfloat(tn_u16 b) { return tn_float_of((tn_u32)b << 16); }"},
    {"to_bfloat", "", R"(tn_u16 tn_to_bfloat(float f) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  tn_u16 b;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b) : "f"(f));
  return b;
#else
  const tn_u32 x = tn_bits_of(f);
  if ((x & 0x7fffffff) > 0x7f800000) return (tn_u16)(x >> 16 | 0x40);
  return (tn_u16)((x + 0x7fff + (x >> 16 & 1)) >> 16);
#endif
})"},
    {"round_bfloat", "to_bfloat from_bfloat",
     "float tn_round_bfloat(float f) { return tn_from_bfloat(tn_to_bfloat(f)); }"},
    {"next_half", "to_half from_half", R"(float tn_next_half(float a, float b) {
  if (a != a || b != b) return a + b;
  if (a == b) return b;
  if (a == 0) return tn_from_half(b < 0 ? 0x8001 : 1);
  return tn_from_half((tn_u16)(tn_to_half(a) + ((a < b) == (a > 0) ? 1 : -1)));
})"},
    {"next_bfloat", "to_bfloat from_bfloat", R"(float tn_next_bfloat(float a, float b) {
  if (a != a || b != b) return a + b;
  if (a == b) return b;
  if (a == 0) return tn_from_bfloat(b < 0 ? 0x8001 : 1);
  return tn_from_bfloat((tn_u16)(tn_to_bfloat(a) + ((a < b) == (a > 0) ? 1 : -1)));
})"},
};

// The functions that a text needs, in an order in which each comes after those that it calls.
class CFunctions {
 public:
  explicit CFunctions(const CDialect& dialect) : dialect_(dialect) {}

  // "tn_NAME", whose text is printed.
  std::string use(std::string_view name) {
    for (const CFunction& it : c_functions)
      if (it.name == name) return add(it, false, "tn_" + std::string(name));
    throw Error("loop program: there is no function " + std::string(name));
  }
  // "tn_NAME_f" or "_d".
  std::string use_real(std::string_view name, bool is_double) {
    for (const CFunction& it : c_real_functions)
      if (it.name == name)
        return add(it, is_double, "tn_" + std::string(name) + (is_double ? "_d" : "_f"));
    throw Error("loop program: there is no function " + std::string(name));
  }
  const std::string& text() const { return text_; }

 private:
  std::string add(const CFunction& function, bool is_double, std::string name) {
    if (!printed_.insert(name).second) return name;
    const bool is_real = name.size() > function.name.size() + 3;
    for (std::string_view rest = function.needs; !rest.empty();) {
      const size_t end = std::min(rest.find(' '), rest.size());
      is_real ? use_real(rest.substr(0, end), is_double) : use(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    text_ += dialect_.function + (dialect_.function.empty() ? "" : " ");
    for (size_t i = 0; i < function.text.size(); ++i) {
      if (function.text[i] != '@') {
        text_ += function.text[i];
        continue;
      }
      const char what = function.text[++i];
      text_ += what == 'T'   ? (is_double ? "double" : "float")
               : what == 'n' ? (is_double ? "d" : "f")
               : what == 's' ? (is_double ? "" : dialect_.suffix)
                             : dialect_.global;
    }
    text_ += "\n";
    return name;
  }

  const CDialect& dialect_;
  std::set<std::string> printed_;
  std::string text_;
};

}  // namespace tenon::sdk::loop_program

#endif
