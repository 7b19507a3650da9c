// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/loops/operations.h"

#include "tenon/abi/primitives.h"

namespace tenon::cpu::pw {

const Loops& loops_neg();
const Loops& loops_abs();
const Loops& loops_sign();
const Loops& loops_floor();
const Loops& loops_ceil();
const Loops& loops_round();
const Loops& loops_trunc();
const Loops& loops_bitwise_not();
const Loops& loops_sqrt();
const Loops& loops_rsqrt();
const Loops& loops_reciprocal();
const Loops& loops_exp();
const Loops& loops_exp2();
const Loops& loops_expm1();
const Loops& loops_log();
const Loops& loops_log2();
const Loops& loops_log10();
const Loops& loops_log1p();
const Loops& loops_sin();
const Loops& loops_cos();
const Loops& loops_tan();
const Loops& loops_asin();
const Loops& loops_acos();
const Loops& loops_atan();
const Loops& loops_sinh();
const Loops& loops_cosh();
const Loops& loops_tanh();
const Loops& loops_asinh();
const Loops& loops_acosh();
const Loops& loops_atanh();
const Loops& loops_sigmoid();
const Loops& loops_erf();
const Loops& loops_erfc();
const Loops& loops_erfinv();
const Loops& loops_lgamma();
const Loops& loops_digamma();
const Loops& loops_i0();
const Loops& loops_logical_not();
const Loops& loops_isnan();
const Loops& loops_isinf();
const Loops& loops_isfinite();
const Loops& loops_signbit();
const Loops& loops_add();
const Loops& loops_sub();
const Loops& loops_mul();
const Loops& loops_div();
const Loops& loops__div_trunc();
const Loops& loops_floor_divide();
const Loops& loops_remainder();
const Loops& loops_fmod();
const Loops& loops_pow();
const Loops& loops_maximum();
const Loops& loops_minimum();
const Loops& loops_fmax();
const Loops& loops_fmin();
const Loops& loops_atan2();
const Loops& loops_hypot();
const Loops& loops_nextafter();
const Loops& loops_copysign();
const Loops& loops_logaddexp();
const Loops& loops_xlogy();
const Loops& loops_gcd();
const Loops& loops_bitwise_and();
const Loops& loops_bitwise_or();
const Loops& loops_bitwise_xor();
const Loops& loops_eq();
const Loops& loops_ne();
const Loops& loops_lt();
const Loops& loops_le();
const Loops& loops_gt();
const Loops& loops_ge();
const Loops& loops_logical_and();
const Loops& loops_logical_or();
const Loops& loops_logical_xor();
const Loops& loops_where();

}  // namespace tenon::cpu::pw

namespace tenon::cpu::loop_program {
namespace {

using namespace pw;
using Get = const Loops& (*)();

// Position i is code i, or 64 + i of those that give bool.
constexpr Get unary[] = {
    loops_neg,     loops_abs,         loops_sign, loops_floor,  loops_ceil,       loops_round,
    loops_trunc,   loops_bitwise_not, loops_sqrt, loops_rsqrt,  loops_reciprocal, loops_exp,
    loops_exp2,    loops_expm1,       loops_log,  loops_log2,   loops_log10,      loops_log1p,
    loops_sin,     loops_cos,         loops_tan,  loops_asin,   loops_acos,       loops_atan,
    loops_sinh,    loops_cosh,        loops_tanh, loops_asinh,  loops_acosh,      loops_atanh,
    loops_sigmoid, loops_erf,         loops_erfc, loops_erfinv, loops_lgamma,     loops_digamma,
    loops_i0};
constexpr Get unary_tests[] = {loops_logical_not, loops_isnan, loops_isinf, loops_isfinite,
                               loops_signbit};
constexpr Get binary[] = {loops_add,         loops_sub,          loops_mul,        loops_div,
                          loops__div_trunc,  loops_floor_divide, loops_remainder,  loops_fmod,
                          loops_pow,         loops_maximum,      loops_minimum,    loops_fmax,
                          loops_fmin,        loops_atan2,        loops_hypot,      loops_nextafter,
                          loops_copysign,    loops_logaddexp,    loops_xlogy,      loops_gcd,
                          loops_bitwise_and, loops_bitwise_or,   loops_bitwise_xor};
constexpr Get binary_tests[] = {loops_eq,          loops_ne,         loops_lt,
                                loops_le,          loops_gt,         loops_ge,
                                loops_logical_and, loops_logical_or, loops_logical_xor};

template <std::size_t n, std::size_t m>
pw::LoopFn find(const Get (&table)[n], const Get (&tests)[m], int code, pw::Kind kind) {
  constexpr int first = sdk::loop_program::first_test;
  if (code < first) return code < static_cast<int>(n) ? table[code]().full[kind] : nullptr;
  return code - first < static_cast<int>(m) ? tests[code - first]().full[kind] : nullptr;
}

// Integers by zero and shifts by too much are errors, which these loops do not look for.
bool is_guarded(int code, pw::Kind kind) {
  const bool divides = code >= TN_BINARY_DIV_TRUNC && code <= TN_BINARY_FMOD;
  return divides && kind != pw::kKindF32 && kind != pw::kKindF64;
}

}  // namespace

pw::LoopFn loop_of(const sdk::loop_program::Node& node, pw::Kind operand) {
  switch (node.kind) {
    case sdk::loop_program::Kind::kUnary:
      return find(unary, unary_tests, node.code, operand);
    case sdk::loop_program::Kind::kBinary:
      return is_guarded(node.code, operand) ? nullptr
                                            : find(binary, binary_tests, node.code, operand);
    default:
      return loops_where().full[operand];
  }
}

}  // namespace tenon::cpu::loop_program
