// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The words of a loop program's text for dtypes and codes.
#ifndef TENON_SDK_LOOP_PROGRAM_NAMES_H_
#define TENON_SDK_LOOP_PROGRAM_NAMES_H_

#include <string_view>

#include "tenon/sdk/loop_program/program.h"

namespace tenon::sdk::loop_program {

// Position i is code i; codes of a boolean result follow at 64.
inline constexpr std::string_view dtype_names[] = {"bool",    "uint8",  "int8",    "int16",
                                                   "int32",   "int64",  "float16", "bfloat16",
                                                   "float32", "float64"};
inline constexpr std::string_view unary_names[] = {"neg",
                                                   "abs",
                                                   "sign",
                                                   "floor",
                                                   "ceil",
                                                   "round",
                                                   "trunc",
                                                   "bitwise_not",
                                                   "sqrt",
                                                   "rsqrt",
                                                   "reciprocal",
                                                   "exp",
                                                   "exp2",
                                                   "expm1",
                                                   "log",
                                                   "log2",
                                                   "log10",
                                                   "log1p",
                                                   "sin",
                                                   "cos",
                                                   "tan",
                                                   "asin",
                                                   "acos",
                                                   "atan",
                                                   "sinh",
                                                   "cosh",
                                                   "tanh",
                                                   "asinh",
                                                   "acosh",
                                                   "atanh",
                                                   "sigmoid",
                                                   "erf",
                                                   "erfc",
                                                   "erfinv",
                                                   "lgamma",
                                                   "digamma",
                                                   "i0",
                                                   "erfcx",
                                                   "entr",
                                                   "log_ndtr",
                                                   "ndtri",
                                                   "i0e",
                                                   "i1",
                                                   "i1e",
                                                   "modified_bessel_k0",
                                                   "modified_bessel_k1",
                                                   "scaled_modified_bessel_k0",
                                                   "scaled_modified_bessel_k1",
                                                   "bessel_j0",
                                                   "bessel_j1",
                                                   "bessel_y0",
                                                   "bessel_y1",
                                                   "spherical_bessel_j0",
                                                   "airy_ai"};
inline constexpr std::string_view unary_tests[] = {"logical_not", "isnan", "isinf", "isfinite",
                                                   "signbit"};
inline constexpr std::string_view binary_names[] = {"add",
                                                    "sub",
                                                    "mul",
                                                    "div",
                                                    "div_trunc",
                                                    "div_floor",
                                                    "remainder",
                                                    "fmod",
                                                    "pow",
                                                    "max",
                                                    "min",
                                                    "fmax",
                                                    "fmin",
                                                    "atan2",
                                                    "hypot",
                                                    "nextafter",
                                                    "copysign",
                                                    "logaddexp",
                                                    "xlogy",
                                                    "gcd",
                                                    "bitwise_and",
                                                    "bitwise_or",
                                                    "bitwise_xor",
                                                    "shift_left",
                                                    "shift_right",
                                                    "xlog1py",
                                                    "zeta",
                                                    "chebyshev_polynomial_t",
                                                    "chebyshev_polynomial_u",
                                                    "chebyshev_polynomial_v",
                                                    "chebyshev_polynomial_w",
                                                    "shifted_chebyshev_polynomial_t",
                                                    "shifted_chebyshev_polynomial_u",
                                                    "shifted_chebyshev_polynomial_v",
                                                    "shifted_chebyshev_polynomial_w",
                                                    "hermite_polynomial_h",
                                                    "hermite_polynomial_he",
                                                    "laguerre_polynomial_l",
                                                    "legendre_polynomial_p"};
inline constexpr std::string_view binary_tests[] = {
    "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"};
// By Update; a reduction's word with ! after it starts from its neutral element.
inline constexpr std::string_view update_names[] = {"=", "+=", "*=", "max=", "min="};

template <size_t n>
constexpr int find_name(const std::string_view (&names)[n], std::string_view name) {
  for (size_t i = 0; i < n; ++i)
    if (names[i] == name) return static_cast<int>(i);
  return -1;
}

inline constexpr int first_test = 64;  // codes from here on give bool

// -1 if there is none of that name.
inline int find_unary(std::string_view name) {
  const int test = find_name(unary_tests, name);
  return test >= 0 ? first_test + test : find_name(unary_names, name);
}
inline int find_binary(std::string_view name) {
  const int test = find_name(binary_tests, name);
  return test >= 0 ? first_test + test : find_name(binary_names, name);
}

template <size_t n, size_t m>
std::string_view name_of_code(const std::string_view (&names)[n],
                              const std::string_view (&tests)[m], int code) {
  if (code >= 0 && code < static_cast<int>(n)) return names[code];
  if (code >= first_test && code < first_test + static_cast<int>(m))
    return tests[code - first_test];
  throw Error("loop program: no operation has the code " + std::to_string(code));
}
inline std::string_view unary_name(int code) {
  return name_of_code(unary_names, unary_tests, code);
}
inline std::string_view binary_name(int code) {
  return name_of_code(binary_names, binary_tests, code);
}
inline std::string_view dtype_name(Dtype dtype) { return dtype_names[static_cast<int>(dtype)]; }

}  // namespace tenon::sdk::loop_program

#endif
