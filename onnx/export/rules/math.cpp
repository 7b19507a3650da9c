// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparisons, functions of one element, casts; numbers of the program as well.
#include "onnx/export/call.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

// Of two operands: tensors, or numbers of the program, whose arguments are a and b.
const char* first(const Call& c) { return c.has("a") ? "a" : "self"; }
const char* second(const Call& c) {
  return c.has("b") ? "b" : c.has("exponent") ? "exponent" : "other";
}
ScalarType result_dtype(const Call& c) { return as_tensor(c.results.at(0)).scalar_type(); }
ScalarType common_dtype(const Call& c) {
  return tenon::result_type(c.example(first(c)), c.example(second(c)));
}

void arithmetic(Call& c, const char* type) {
  const ScalarType d = result_dtype(c);
  std::string b = c.in(second(c), d);
  if (const double alpha = c.number("alpha", 1); alpha != 1)
    b = c.op("Mul", {b, c.constant(alpha, d)});
  c.give(c.op(type, {c.in(first(c), d), b}));
}
void add(Call& c) {
  if (c.dtype(first(c)) == kBool && result_dtype(c) == kBool)
    return c.give(c.op("Or", {c.in(first(c)), c.in(second(c))}));
  arithmetic(c, "Add");
}
void sub(Call& c) { arithmetic(c, "Sub"); }
void mul(Call& c) {
  if (result_dtype(c) == kBool) return c.give(c.op("And", {c.in(first(c)), c.in(second(c))}));
  arithmetic(c, "Mul");
}
void rsub(Call& c) {
  const ScalarType d = result_dtype(c);
  std::string a = c.in("self", d);
  if (const double alpha = c.number("alpha", 1); alpha != 1)
    a = c.op("Mul", {a, c.constant(alpha, d)});
  c.give(c.op("Sub", {c.in("other", d), a}));
}

// Rounded down: exact for integers, whose remainder has the sign of the divisor.
std::string floor_quotient(Call& c, ScalarType d) {
  const std::string a = c.in(first(c), d), b = c.in(second(c), d);
  if (isFloatingType(d)) return c.op("Floor", {c.op("Div", {a, b})});
  return c.op("Div", {c.op("Sub", {a, c.op("Mod", {a, b})}), b});
}
void div(Call& c) {
  const ScalarType d = result_dtype(c);
  const std::string mode = c.text("rounding_mode");
  if (mode == "floor") return c.give(floor_quotient(c, d));
  const std::string q = c.op("Div", {c.in(first(c), d), c.in(second(c), d)});
  if (mode != "trunc" || !isFloatingType(d)) return c.give(q);
  c.give(c.op("Mul", {c.op("Sign", {q}), c.op("Floor", {c.op("Abs", {q})})}));
}
void floor_divide(Call& c) { c.give(floor_quotient(c, result_dtype(c))); }
void remainder(Call& c) {
  const ScalarType d = result_dtype(c);
  const std::string a = c.in(first(c), d), b = c.in(second(c), d);
  if (!isFloatingType(d)) return c.give(c.op("Mod", {a, b}));
  c.give(c.op("Sub", {a, c.op("Mul", {c.op("Floor", {c.op("Div", {a, b})}), b})}));
}
void fmod(Call& c) {
  const ScalarType d = result_dtype(c);
  c.give(c.op("Mod", {c.in("self", d), c.in("other", d)}, {{"fmod", int64_t{1}}}));
}
void power(Call& c) {
  const ScalarType d = result_dtype(c), as = d == kInt8 || d == kUInt8 || d == kInt16 ? kInt32 : d;
  c.give_cast(c.op("Pow", {c.in(first(c), as), c.in(second(c), as)}), as);
}

template <int kind>
void compare(Call& c) {
  const char* const types[] = {"Equal",       "Equal",   "Less",
                               "LessOrEqual", "Greater", "GreaterOrEqual"};
  const ScalarType common = common_dtype(c);
  const ScalarType d = common == kBool ? kInt32 : common;
  const std::string r = c.op(types[kind], {c.in(first(c), d), c.in(second(c), d)});
  c.give(kind == 1 ? c.op("Not", {r}) : r);
}
template <int kind>
void logical(Call& c) {
  const char* const types[] = {"And", "Or", "Xor"};
  c.give(c.op(types[kind], {c.in(first(c), kBool), c.in(second(c), kBool)}));
}
void logical_not(Call& c) { c.give(c.op("Not", {c.in("self", kBool)})); }
void bitwise_not(Call& c) {
  const ScalarType d = c.dtype("self");
  const bool boolean = d == kBool;
  if (!boolean && c.exporter.opset() < 18)
    return c.give(c.op("Sub", {c.constant(d == kUInt8 ? 255 : -1, d), c.in("self")}));
  c.give(c.op(boolean ? "Not" : "BitwiseNot", {c.in("self")}));
}
template <int kind>
void bitwise(Call& c) {
  const char* const types[] = {"And", "Or", "Xor"};
  const ScalarType d = result_dtype(c);
  need(d == kBool || c.exporter.opset() >= 18, "of integers needs opset 18");
  c.give(c.op(std::string(d == kBool ? "" : "Bitwise") + types[kind],
              {c.in(first(c), d), c.in(second(c), d)}));
}

// Functions of one argument that both have.
const std::map<std::string, const char*>& unary_types() {
  static const std::map<std::string, const char*> types = {
      {"aten::abs", "Abs"},     {"aten::neg", "Neg"},       {"aten::sqrt", "Sqrt"},
      {"aten::exp", "Exp"},     {"aten::log", "Log"},       {"aten::sin", "Sin"},
      {"aten::cos", "Cos"},     {"aten::tan", "Tan"},       {"aten::asin", "Asin"},
      {"aten::acos", "Acos"},   {"aten::atan", "Atan"},     {"aten::sinh", "Sinh"},
      {"aten::cosh", "Cosh"},   {"aten::asinh", "Asinh"},   {"aten::acosh", "Acosh"},
      {"aten::atanh", "Atanh"}, {"aten::tanh", "Tanh"},     {"aten::sigmoid", "Sigmoid"},
      {"aten::relu", "Relu"},   {"aten::floor", "Floor"},   {"aten::ceil", "Ceil"},
      {"aten::round", "Round"}, {"aten::erf", "Erf"},       {"aten::reciprocal", "Reciprocal"},
      {"aten::sign", "Sign"},   {"aten::sgn", "Sign"},      {"aten::hardswish", "HardSwish"},
      {"aten::det", "Det"},     {"aten::linalg_det", "Det"}};
  return types;
}
void logdet(Call& c) { c.give(c.op("Log", {c.op("Det", {c.in("self")})})); }
void outer(Call& c) {
  const ScalarType d = result_dtype(c);
  const std::string rows = c.unsqueeze(c.in("self", d), {1}), columns = c.in("vec2", d);
  c.give(c.op(d == kBool ? "And" : "Mul", {rows, columns}));
}
// Of integers nothing is.
template <int kind>
void is_special(Call& c) {
  const std::string x = c.in("self");
  if (!isFloatingType(c.dtype("self"))) return c.give(c.op("Not", {c.op("Equal", {x, x})}));
  c.give(c.op(kind ? "IsInf" : "IsNaN", {x}));
}
void unary(Call& c) {
  const char* argument = c.first_argument();
  const ScalarType d = result_dtype(c);
  need(c.integer("decimals") == 0, "decimals are not supported");
  const char* type = unary_types().at(c.name);
  const std::string_view name = type;
  if (!isFloatingType(d) && (name == "Floor" || name == "Ceil" || name == "Round")) {
    if (!isFloatingType(c.dtype(argument))) return c.give(c.in(argument, d));
    return c.give_cast(c.op(type, {c.in(argument)}), c.dtype(argument));
  }
  if (name == "HardSwish" && c.exporter.opset() < 14) refuse("needs opset 14");
  c.give(c.op(type, {c.in(argument, d)}));
}

std::string like(Call& c, double v) { return c.constant(v, result_dtype(c)); }
std::string self(Call& c) { return c.in("self", result_dtype(c)); }
void rsqrt(Call& c) { c.give(c.op("Reciprocal", {c.op("Sqrt", {self(c)})})); }
void square(Call& c) {
  const std::string x = self(c);
  c.give(c.op("Mul", {x, x}));
}
void exp2(Call& c) { c.give(c.op("Pow", {like(c, 2), self(c)})); }
// Near zero what is near 1 would have lost their digits: 2 / (1 / tanh(x / 2) - 1), and Kahan's
// log(u) x / (u - 1) of u = 1 + x.
void expm1(Call& c) {
  const std::string x = self(c), one = like(c, 1);
  const std::string t = c.op("Tanh", {c.op("Mul", {x, like(c, 0.5)})});
  const std::string small = c.op("Div", {c.op("Mul", {t, like(c, 2)}), c.op("Sub", {one, t})});
  c.give(c.op("Where", {c.op("Less", {c.op("Abs", {x}), one}), small,
                        c.op("Sub", {c.op("Exp", {x}), one})}));
}
void log1p(Call& c) {
  const std::string x = self(c), one = like(c, 1), u = c.op("Add", {x, one}),
                    log = c.op("Log", {u});
  const std::string off = c.op("Sub", {u, one}), same = c.op("Equal", {u, one});
  const std::string small = c.op("Mul", {log, c.op("Div", {x, c.op("Where", {same, one, off})})});
  c.give(
      c.op("Where", {c.op("Less", {c.op("Abs", {x}), one}), c.op("Where", {same, x, small}), log}));
}
void log2(Call& c) { c.give(c.op("Div", {c.op("Log", {self(c)}), like(c, std::log(2.0))})); }
void log10(Call& c) { c.give(c.op("Div", {c.op("Log", {self(c)}), like(c, std::log(10.0))})); }
void trunc(Call& c) {
  const std::string x = self(c);
  c.give(c.op("Mul", {c.op("Sign", {x}), c.op("Floor", {c.op("Abs", {x})})}));
}
void frac(Call& c) {
  const std::string x = self(c);
  c.give(c.op("Sub", {x, c.op("Mul", {c.op("Sign", {x}), c.op("Floor", {c.op("Abs", {x})})})}));
}
void isfinite(Call& c) {
  const std::string x = c.in("self");
  if (!isFloatingType(c.dtype("self"))) return c.give(c.op("Equal", {x, x}));
  c.give(c.op("Not", {c.op("Or", {c.op("IsInf", {x}), c.op("IsNaN", {x})})}));
}
void atan2(Call& c) {
  // By the quadrant: atan(y / x), and pi added with the sign of y where x is negative; of zeros 0.
  const ScalarType d = result_dtype(c);
  const std::string y = c.in("self", d), x = c.in("other", d), zero = like(c, 0);
  const std::string none = c.op("And", {c.op("Equal", {x, zero}), c.op("Equal", {y, zero})});
  const std::string at = c.op("Atan", {c.op("Div", {y, c.op("Where", {none, like(c, 1), x})})});
  const std::string turn = c.op("Where", {c.op("Less", {y, zero}), like(c, -M_PI), like(c, M_PI)});
  c.give(c.op("Where", {c.op("Less", {x, zero}), c.op("Add", {at, turn}), at}));
}

void clamp(Call& c) {
  std::string x = self(c);
  const ScalarType d = result_dtype(c);
  if (!c.none("min")) x = c.op("Max", {x, c.in("min", d)});
  if (!c.none("max")) x = c.op("Min", {x, c.in("max", d)});
  c.give(x);
}
template <int kind>
void extreme(Call& c) {
  const ScalarType d = result_dtype(c);
  c.give(c.op(kind ? "Max" : "Min", {c.in(first(c), d), c.in(second(c), d)}));
}
void where(Call& c) {
  if (!c.has("self")) return give_positions(c, "condition");
  const ScalarType d = result_dtype(c);
  c.give(c.choose(c.in("condition", kBool), c.in("self", d), c.in("other", d), d));
}
void masked_fill(Call& c) {
  const ScalarType d = result_dtype(c);
  c.give(c.choose(c.in("mask", kBool), c.in("value", d), c.in("self", d), d));
}
void addcmul(Call& c) {
  const ScalarType d = result_dtype(c);
  std::string p = c.op("Mul", {c.in("tensor1", d), c.in("tensor2", d)});
  if (c.number("value", 1) != 1) p = c.op("Mul", {p, c.in("value", d)});
  c.give(c.op("Add", {self(c), p}));
}
void addcdiv(Call& c) {
  const ScalarType d = result_dtype(c);
  std::string p = c.op("Div", {c.in("tensor1", d), c.in("tensor2", d)});
  if (c.number("value", 1) != 1) p = c.op("Mul", {p, c.in("value", d)});
  c.give(c.op("Add", {self(c), p}));
}
void lerp(Call& c) {
  const ScalarType d = result_dtype(c);
  const std::string a = self(c);
  c.give(c.op("Add", {a, c.op("Mul", {c.in("weight", d), c.op("Sub", {c.in("end", d), a})})}));
}

// To another dtype, or the same tensor; devices do not exist in a model.
void cast(Call& c) { c.give(c.in(c.first_argument(), result_dtype(c))); }
// A tensor of one element as a number.
void number(Call& c) {
  const char* argument = c.first_argument();
  const ScalarType d = result_dtype(c);
  std::string x = c.in(argument, d);
  if (c.rank(argument) != 0) x = c.op("Reshape", {x, c.int_list({})});
  c.give(x);
}

const Rules::Entry list[] = {
    {"aten::add", add},
    {"aten::sub", sub},
    {"aten::subtract", sub},
    {"aten::mul", mul},
    {"aten::multiply", mul},
    {"aten::rsub", rsub},
    {"aten::div", div},
    {"aten::divide", div},
    {"aten::true_divide", div},
    {"aten::floor_divide", floor_divide},
    {"aten::floordiv", floor_divide},
    {"aten::remainder", remainder},
    {"aten::fmod", fmod},
    {"aten::pow", power},
    {"aten::eq", compare<0>},
    {"aten::ne", compare<1>},
    {"aten::lt", compare<2>},
    {"aten::le", compare<3>},
    {"aten::gt", compare<4>},
    {"aten::ge", compare<5>},
    {"aten::logical_and", logical<0>},
    {"aten::logical_or", logical<1>},
    {"aten::logical_xor", logical<2>},
    {"aten::logical_not", logical_not},
    {"aten::__not__", logical_not},
    {"aten::bitwise_not", bitwise_not},
    {"aten::bitwise_and", bitwise<0>},
    {"aten::bitwise_or", bitwise<1>},
    {"aten::bitwise_xor", bitwise<2>},
    {"aten::__and__", bitwise<0>},
    {"aten::__or__", bitwise<1>},
    {"aten::__xor__", bitwise<2>},
    {"aten::abs", unary},
    {"aten::neg", unary},
    {"aten::sqrt", unary},
    {"aten::exp", unary},
    {"aten::log", unary},
    {"aten::sin", unary},
    {"aten::cos", unary},
    {"aten::tan", unary},
    {"aten::asin", unary},
    {"aten::acos", unary},
    {"aten::atan", unary},
    {"aten::sinh", unary},
    {"aten::cosh", unary},
    {"aten::asinh", unary},
    {"aten::acosh", unary},
    {"aten::atanh", unary},
    {"aten::tanh", unary},
    {"aten::sigmoid", unary},
    {"aten::relu", unary},
    {"aten::floor", unary},
    {"aten::ceil", unary},
    {"aten::round", unary},
    {"aten::erf", unary},
    {"aten::reciprocal", unary},
    {"aten::sign", unary},
    {"aten::sgn", unary},
    {"aten::isnan", is_special<0>},
    {"aten::hardswish", unary},
    {"aten::det", unary},
    {"aten::logdet", logdet},
    {"aten::outer", outer},
    {"aten::ger", outer},
    {"aten::linalg_det", unary},
    {"aten::rsqrt", rsqrt},
    {"aten::square", square},
    {"aten::exp2", exp2},
    {"aten::expm1", expm1},
    {"aten::log1p", log1p},
    {"aten::log2", log2},
    {"aten::log10", log10},
    {"aten::trunc", trunc},
    {"aten::frac", frac},
    {"aten::isinf", is_special<1>},
    {"aten::isfinite", isfinite},
    {"aten::atan2", atan2},
    {"aten::clamp", clamp},
    {"aten::clip", clamp},
    {"aten::clamp_min", clamp},
    {"aten::clamp_max", clamp},
    {"aten::maximum", extreme<1>},
    {"aten::minimum", extreme<0>},
    {"aten::where", where},
    {"aten::masked_fill", masked_fill},
    {"aten::addcmul", addcmul},
    {"aten::addcdiv", addcdiv},
    {"aten::lerp", lerp},
    {"aten::to", cast},
    {"aten::_to_copy", cast},
    {"aten::type_as", cast},
    {"aten::float", cast},
    {"aten::double", cast},
    {"aten::half", cast},
    {"aten::contiguous", cast},
    {"aten::clone", cast},
    {"aten::detach", cast},
    {"prim::data", cast},
    {"aten::alias", cast},
    {"aten::lift_fresh_copy", cast},
    {"aten::cpu", cast},
    {"aten::tensor", cast},
    {"aten::scalar_tensor", cast},
    {"prim::NumToTensor", cast},
    {"aten::Int", number},
    {"aten::Float", number},
    {"aten::Bool", number},
    {"aten::item", number},
    {"aten::IntImplicit", number},
    {"aten::FloatImplicit", number},
    {"aten::ScalarImplicit", number},
};
TENON_EXPORT_RULES(list);

}  // namespace
}  // namespace tenon::onnx::exporting
