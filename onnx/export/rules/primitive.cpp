// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The primitives that operators decompose into (tenon/abi/primitives.h), and the functions of one
// or two elements that ONNX has no operator for.
#include "onnx/export/call.h"
#include "tenon/abi/primitives.h"
#include "tenon/core/op.h"
#include "tenon/ops.h"

namespace tenon::onnx::exporting {
namespace {

using Codes = std::map<int64_t, const char*>;

const char* unary_name(int64_t code) {
  static const Codes names = {{TN_UNARY_NEG, "neg"},
                              {TN_UNARY_ABS, "abs"},
                              {TN_UNARY_SIGN, "sign"},
                              {TN_UNARY_FLOOR, "floor"},
                              {TN_UNARY_CEIL, "ceil"},
                              {TN_UNARY_ROUND, "round"},
                              {TN_UNARY_TRUNC, "trunc"},
                              {TN_UNARY_BITWISE_NOT, "bitwise_not"},
                              {TN_UNARY_SQRT, "sqrt"},
                              {TN_UNARY_RSQRT, "rsqrt"},
                              {TN_UNARY_RECIPROCAL, "reciprocal"},
                              {TN_UNARY_EXP, "exp"},
                              {TN_UNARY_EXP2, "exp2"},
                              {TN_UNARY_EXPM1, "expm1"},
                              {TN_UNARY_LOG, "log"},
                              {TN_UNARY_LOG2, "log2"},
                              {TN_UNARY_LOG10, "log10"},
                              {TN_UNARY_LOG1P, "log1p"},
                              {TN_UNARY_SIN, "sin"},
                              {TN_UNARY_COS, "cos"},
                              {TN_UNARY_TAN, "tan"},
                              {TN_UNARY_ASIN, "asin"},
                              {TN_UNARY_ACOS, "acos"},
                              {TN_UNARY_ATAN, "atan"},
                              {TN_UNARY_SINH, "sinh"},
                              {TN_UNARY_COSH, "cosh"},
                              {TN_UNARY_TANH, "tanh"},
                              {TN_UNARY_ASINH, "asinh"},
                              {TN_UNARY_ACOSH, "acosh"},
                              {TN_UNARY_ATANH, "atanh"},
                              {TN_UNARY_SIGMOID, "sigmoid"},
                              {TN_UNARY_ERF, "erf"},
                              {TN_UNARY_ERFC, "erfc"},
                              {TN_UNARY_ENTR, "special_entr"},
                              {TN_UNARY_SPHERICAL_BESSEL_J0, "special_spherical_bessel_j0"},
                              {TN_UNARY_LOGICAL_NOT, "logical_not"},
                              {TN_UNARY_ISNAN, "isnan"},
                              {TN_UNARY_ISINF, "isinf"},
                              {TN_UNARY_ISFINITE, "isfinite"},
                              {TN_UNARY_SIGNBIT, "signbit"}};
  const auto at = names.find(code);
  return at == names.end() ? nullptr : at->second;
}

const char* binary_name(int64_t code) {
  static const Codes names = {{TN_BINARY_ADD, "add"},
                              {TN_BINARY_SUB, "sub"},
                              {TN_BINARY_MUL, "mul"},
                              {TN_BINARY_DIV, "div"},
                              {TN_BINARY_DIV_TRUNC, "_div_trunc"},
                              {TN_BINARY_DIV_FLOOR, "floor_divide"},
                              {TN_BINARY_REMAINDER, "remainder"},
                              {TN_BINARY_FMOD, "fmod"},
                              {TN_BINARY_POW, "pow"},
                              {TN_BINARY_MAX, "maximum"},
                              {TN_BINARY_MIN, "minimum"},
                              {TN_BINARY_FMAX, "fmax"},
                              {TN_BINARY_FMIN, "fmin"},
                              {TN_BINARY_ATAN2, "atan2"},
                              {TN_BINARY_HYPOT, "hypot"},
                              {TN_BINARY_COPYSIGN, "copysign"},
                              {TN_BINARY_LOGADDEXP, "logaddexp"},
                              {TN_BINARY_XLOGY, "xlogy"},
                              {TN_BINARY_XLOG1PY, "special_xlog1py"},
                              {TN_BINARY_BITWISE_AND, "bitwise_and"},
                              {TN_BINARY_BITWISE_OR, "bitwise_or"},
                              {TN_BINARY_BITWISE_XOR, "bitwise_xor"},
                              {TN_BINARY_SHIFT_LEFT, "bitwise_left_shift"},
                              {TN_BINARY_SHIFT_RIGHT, "bitwise_right_shift"},
                              {TN_BINARY_EQ, "eq"},
                              {TN_BINARY_NE, "ne"},
                              {TN_BINARY_LT, "lt"},
                              {TN_BINARY_LE, "le"},
                              {TN_BINARY_GT, "gt"},
                              {TN_BINARY_GE, "ge"},
                              {TN_BINARY_LOGICAL_AND, "logical_and"},
                              {TN_BINARY_LOGICAL_OR, "logical_or"},
                              {TN_BINARY_LOGICAL_XOR, "logical_xor"}};
  const auto at = names.find(code);
  return at == names.end() ? nullptr : at->second;
}

void follow(Call& c, const char* name) {
  need(name != nullptr, "ONNX has no such function");
  c.name = std::string("aten::") + name;
  const auto* rule = find_rule(c.name);
  need(rule != nullptr, "there is no rule for " + c.name);
  (*rule)(c);
}
void prim_unary(Call& c) { follow(c, unary_name(c.integer("code"))); }
void prim_binary(Call& c) { follow(c, binary_name(c.integer("code"))); }

void prim_reduce(Call& c) {
  const int64_t code = c.integer("code"), dim = c.axis("dim", "self");
  if (c.rank("self") == 0) {
    const bool place = code == TN_REDUCE_ARGMAX || code == TN_REDUCE_ARGMIN;
    return c.give(place ? c.constant(0, kInt64) : c.in("self", c.result().scalar_type()));
  }
  const auto reduced = [&](const char* type) { return c.reduce(type, c.in("self"), {dim}, true); };
  const auto place = [&](const char* type) {
    return c.op(type, {c.in("self")}, {{"axis", dim}, {"keepdims", int64_t{1}}});
  };
  const auto truth = [&](const char* type) {
    const std::string x = c.cast(c.in("self", kBool), kBool, kInt32);
    return c.cast(c.reduce(type, x, {dim}, true), kInt32, kBool);
  };
  switch (code) {
    case TN_REDUCE_SUM:
      return c.give(reduced("ReduceSum"));
    case TN_REDUCE_PROD:
      return c.give(reduced("ReduceProd"));
    case TN_REDUCE_MAX:
      return c.give(c.dtype("self") == kBool ? truth("ReduceMax") : reduced("ReduceMax"));
    case TN_REDUCE_MIN:
      return c.give(c.dtype("self") == kBool ? truth("ReduceMin") : reduced("ReduceMin"));
    case TN_REDUCE_ARGMAX:
      return c.give(place("ArgMax"));
    case TN_REDUCE_ARGMIN:
      return c.give(place("ArgMin"));
    case TN_REDUCE_ANY:
      return c.give(truth("ReduceMax"));
    case TN_REDUCE_ALL:
      return c.give(truth("ReduceMin"));
    default:
      refuse("ONNX has no such reduction");
  }
}

void prim_scan(Call& c) {
  const int64_t code = c.integer("code"), dim = c.axis("dim", "self");
  if (c.rank("self") == 0) return c.give(c.in("self"));
  if (code == TN_REDUCE_SUM)
    return c.give(c.op("CumSum", {c.in("self"), c.constant(static_cast<double>(dim), kInt64)}));
  // ONNX has sums as scans alone: by doubling, each element with the one 1, 2, 4, ... before it.
  static const std::map<int64_t, const char*> types = {
      {TN_REDUCE_PROD, "Mul"}, {TN_REDUCE_MAX, "Max"}, {TN_REDUCE_MIN, "Min"}};
  const auto type = types.find(code);
  need(type != types.end() && c.dtype("self") != kBool, "ONNX has no such scan");
  need(c.is_fixed("self", dim), "it needs sizes that are known: leave dynamic_axes out");
  std::string x = c.in("self");
  for (int64_t by = 1, n = c.size("self", dim); by < n; by *= 2) {
    const std::string more =
        c.op(type->second, {c.slice(x, dim, by, n), c.slice(x, dim, 0, n - by)});
    x = c.op("Concat", {c.slice(x, dim, 0, by), more}, {{"axis", dim}});
  }
  c.give(x);
}

void prim_scatter(Call& c) {
  static const std::map<int64_t, std::pair<const char*, int64_t>> kinds = {
      {TN_SCATTER_SET, {"none", 13}},
      {TN_SCATTER_ADD, {"add", 16}},
      {TN_SCATTER_MUL, {"mul", 16}},
      {TN_SCATTER_MAX, {"max", 18}},
      {TN_SCATTER_MIN, {"min", 18}}};
  const auto at = kinds.find(c.integer("code"));
  need(at != kinds.end(), "ONNX does not scatter so");
  const auto& [kind, since] = at->second;
  need(c.exporter.opset() >= since,
       "scattering by '" + std::string(kind) + "' needs opset " + std::to_string(since));
  need(c.rank("self") > 0, "of a number is not supported");
  need(c.example("src").sizes() == c.example("index").sizes(), "a source that is larger");
  Attrs attrs{{"axis", c.axis("dim", "self")}};
  if (since > 13) attrs.push_back({"reduction", std::string(kind)});
  c.give(c.op("ScatterElements",
              {c.in("self"), c.in("index", kInt64), c.in("src", c.dtype("self"))}, attrs));
}

void prim_argsort(Call& c) {
  if (c.rank("self") == 0) return c.give(c.constant(0, kInt64));
  const bool boolean = c.dtype("self") == kBool;
  const std::string x = boolean ? c.in("self", kInt32) : c.in("self");
  const std::string n = c.slice(c.op("Shape", {x}), 0, -1, kEnd);
  c.give(c.ops("TopK", {x, n}, {{"axis", int64_t{-1}}, {"largest", int64_t{c.flag("descending")}}},
               2)[1]);
}

// Functions of elements, by what they are.
ScalarType result_dtype(const Call& c) { return c.result().scalar_type(); }
std::string self(Call& c) { return c.in("self", result_dtype(c)); }
std::string other(Call& c) { return c.in("other", result_dtype(c)); }
std::string like(Call& c, double v) { return c.constant(v, result_dtype(c)); }

// Of zeros the sign is that of the reciprocal; NaN counts as positive.
std::string is_negative(Call& c, const std::string& x, ScalarType d) {
  const std::string zero = c.constant(0, d), negative = c.op("Less", {x, zero});
  if (!isFloatingType(d)) return negative;
  const std::string below = c.op("Less", {c.op("Reciprocal", {x}), zero});
  return c.op("Or", {negative, c.op("And", {c.op("Equal", {x, zero}), below})});
}
void signbit(Call& c) {
  const ScalarType d = c.dtype("self") == kBool ? kInt32 : c.dtype("self");
  c.give(is_negative(c, c.in("self", d), d));
}
void copysign(Call& c) {
  const std::string a = c.op("Abs", {self(c)});
  c.give(c.op("Where", {is_negative(c, other(c), result_dtype(c)), c.op("Neg", {a}), a}));
}
void fill(Call& c) {
  const std::string v = c.name == "aten::zero" ? like(c, 0) : c.in("value", result_dtype(c));
  c.give(c.op("Expand", {v, c.op("Shape", {c.in("self")})}));
}
void copy(Call& c) {
  c.give(c.op("Expand", {c.in("src", c.dtype("self")), c.op("Shape", {c.in("self")})}));
}
void erfc(Call& c) { c.give(c.op("Sub", {like(c, 1), c.op("Erf", {self(c)})})); }
void div_trunc(Call& c) {
  const std::string q = c.op("Div", {self(c), other(c)});
  if (!isFloatingType(result_dtype(c))) return c.give(q);
  c.give(c.op("Mul", {c.op("Sign", {q}), c.op("Floor", {c.op("Abs", {q})})}));
}
// ONNX shifts unsigned numbers alone.
std::string power_of_two(Call& c) { return c.op("Pow", {like(c, 2), other(c)}); }
void shift_left(Call& c) { c.give(c.op("Mul", {self(c), power_of_two(c)})); }
void shift_right(Call& c) {  // rounds down, as floor_divide does
  const std::string x = self(c), by = power_of_two(c);
  c.give(c.op("Div", {c.op("Sub", {x, c.op("Mod", {x, by})}), by}));
}
// NaN loses.
template <int kind>
void extreme(Call& c) {
  const std::string a = self(c), b = other(c), r = c.op(kind ? "Max" : "Min", {a, b});
  if (!isFloatingType(result_dtype(c))) return c.give(r);
  c.give(c.op("Where", {c.op("IsNaN", {a}), b, c.op("Where", {c.op("IsNaN", {b}), a, r})}));
}
// Of what is divided by the larger one, so that squares neither overflow nor vanish.
void hypot(Call& c) {
  const std::string a = c.op("Abs", {self(c)}), b = c.op("Abs", {other(c)});
  const std::string large = c.op("Max", {a, b}), zero = c.op("Equal", {large, like(c, 0)});
  const std::string q =
      c.op("Div", {c.op("Min", {a, b}), c.op("Where", {zero, like(c, 1), large})});
  const std::string root = c.op("Sqrt", {c.op("Add", {c.op("Mul", {q, q}), like(c, 1)})});
  c.give(c.op("Mul", {large, root}));
}
void logaddexp(Call& c) {
  const std::string a = self(c), b = other(c), large = c.op("Max", {a, b});
  const std::string apart = c.op("Neg", {c.op("Abs", {c.op("Sub", {a, b})})});
  const std::string more = c.op("Log", {c.op("Add", {c.op("Exp", {apart}), like(c, 1)})});
  const std::string same = c.op("Equal", {a, b});  // infinities, too: their difference is NaN
  c.give(
      c.op("Where", {same, c.op("Add", {a, like(c, std::log(2.0))}), c.op("Add", {large, more})}));
}
// 0 where self is 0, NaN where other is.
void times_log(Call& c, const std::string& of) {
  const std::string x = self(c), p = c.op("Mul", {x, c.op("Log", {of})});
  const std::string zero =
      c.op("And", {c.op("Equal", {x, like(c, 0)}), c.op("Not", {c.op("IsNaN", {of})})});
  c.give(c.op("Where", {zero, like(c, 0), p}));
}
void xlogy(Call& c) { times_log(c, other(c)); }
void xlog1py(Call& c) { times_log(c, c.op("Add", {other(c), like(c, 1)})); }
void entr(Call& c) {
  const std::string x = self(c), p = c.op("Neg", {c.op("Mul", {x, c.op("Log", {x})})});
  const std::string low = c.op("Where", {c.op("Less", {x, like(c, 0)}),
                                         like(c, -std::numeric_limits<double>::infinity()), p});
  c.give(c.op("Where", {c.op("Equal", {x, like(c, 0)}), like(c, 0), low}));
}
void sinc_of_radians(Call& c) {
  const std::string x = self(c), zero = c.op("Equal", {x, like(c, 0)});
  const std::string q = c.op("Div", {c.op("Sin", {x}), c.op("Where", {zero, like(c, 1), x})});
  c.give(c.op("Where", {zero, like(c, 1), q}));
}

const Rules::Entry list[] = {{"aten::prim_unary", prim_unary},
                             {"aten::prim_binary", prim_binary},
                             {"aten::prim_reduce", prim_reduce},
                             {"aten::prim_scan", prim_scan},
                             {"aten::prim_scatter", prim_scatter},
                             {"aten::prim_argsort", prim_argsort},
                             {"aten::_div_trunc", div_trunc},
                             {"aten::bitwise_left_shift", shift_left},
                             {"aten::bitwise_right_shift", shift_right},
                             {"aten::signbit", signbit},
                             {"aten::copysign", copysign},
                             {"aten::fill", fill},
                             {"aten::zero", fill},
                             {"aten::copy", copy},
                             {"aten::erfc", erfc},
                             {"aten::fmax", extreme<1>},
                             {"aten::fmin", extreme<0>},
                             {"aten::hypot", hypot},
                             {"aten::logaddexp", logaddexp},
                             {"aten::xlogy", xlogy},
                             {"aten::special_xlog1py", xlog1py},
                             {"aten::special_entr", entr},
                             {"aten::special_spherical_bessel_j0", sinc_of_radians}};
TENON_EXPORT_RULES(list);

}  // namespace

bool give_by_code(Call& c) {
  if (!c.node.op || !c.node.op->op || c.node.op->op->by_code == core::ByCode::None) return false;
  const core::Op& op = *c.node.op->op;
  const char* name = op.by_code == core::ByCode::Unary ? unary_name(op.code) : binary_name(op.code);
  if (!name || !find_rule(std::string("aten::") + name)) return false;
  follow(c, name);
  return true;
}

}  // namespace tenon::onnx::exporting
