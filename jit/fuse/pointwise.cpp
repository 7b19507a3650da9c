// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Where the CPU's kernel is one expression (sdk/include/tenon/sdk/pointwise.def) and the rule
// several nodes, results differ by the rounding of the parts.
#include "jit/fuse/pointwise.h"

#include <map>

#include "jit/passes/values.h"
#include "tenon/jit/operator.h"
#include "tenon/sdk/loop_program/names.h"

namespace tenon::jit::fuse {
namespace {

namespace lp = sdk::loop_program;

std::string_view name_of(const Call& c) {
  return std::string_view(c.node().kind()).substr(6);  // aten::
}
Term number(Call& c, double v) { return c.body.constant(v, c.result); }
bool is_floating(const Call& c) { return isFloatingType(c.result); }

// Operators with the name of a primitive.
Term unary(Call& c) {
  const bool tests = lp::find_unary(name_of(c)) >= lp::first_test;
  return c.body.unary(name_of(c), tests ? c.raw(0) : c.in(0));
}
Term binary(Call& c) { return c.body.binary(name_of(c), c.in(0), c.in(1)); }
Term floating_binary(Call& c) { return is_floating(c) ? binary(c) : Term(); }

Term comparison(Call& c) {
  const ScalarType t = c.common(0, 1);
  if (dtype_word(t).empty()) return {};
  return c.body.binary(name_of(c), c.as(0, t), c.as(1, t));
}
Term logical(Call& c) { return c.body.binary(name_of(c), c.as(0, kBool), c.as(1, kBool)); }

Term maximum(Call& c) { return c.body.binary("max", c.in(0), c.in(1)); }
Term minimum(Call& c) { return c.body.binary("min", c.in(0), c.in(1)); }

// x times input i, where that is not 1.
Term scaled(Call& c, Term x, std::size_t i) {
  if (i >= c.inputs() || is_number(c.node().input(i), 1)) return x;
  return c.body.binary("mul", x, c.in(i));
}
Term add(Call& c) { return c.body.binary("add", c.in(0), scaled(c, c.in(1), 2)); }
Term sub(Call& c) { return c.body.binary("sub", c.in(0), scaled(c, c.in(1), 2)); }
Term rsub(Call& c) { return c.body.binary("sub", c.in(1), scaled(c, c.in(0), 2)); }
Term addcmul(Call& c) {
  const Term product = c.body.binary("mul", scaled(c, c.in(1), 3), c.in(2));
  return c.body.binary("add", c.in(0), product);
}
Term addcdiv(Call& c) {
  const Term quotient = c.body.binary("div", scaled(c, c.in(1), 3), c.in(2));
  return is_floating(c) ? c.body.binary("add", c.in(0), quotient) : Term();
}
Term square(Call& c) {
  const Term x = c.in(0);
  return c.body.binary("mul", x, x);
}
// The small powers that the operator multiplies out.
Term power(Call& c) {
  if (!is_floating(c)) return {};
  const Value* exponent = c.node().input(1);
  const Term x = c.in(0);
  if (is_number(exponent, 1)) return x;
  if (is_number(exponent, 2)) return c.body.binary("mul", x, x);
  if (is_number(exponent, 3)) return c.body.binary("mul", c.body.binary("mul", x, x), x);
  if (is_number(exponent, 0.5)) return c.body.unary("sqrt", x);
  return c.body.binary("pow", x, c.in(1));
}

Term where(Call& c) { return c.body.select(c.as(0, kBool), c.in(1), c.in(2)); }

Term bounded(Call& c, Term x, double low, double high) {
  return c.body.binary("min", c.body.binary("max", x, number(c, low)), number(c, high));
}
Term clamp(Call& c) {
  if (!is_floating(c)) return {};
  Term x = c.in(0);
  if (!is_none(c.node().input(1))) x = c.body.binary("max", x, c.in(1));
  if (!is_none(c.node().input(2))) x = c.body.binary("min", x, c.in(2));
  return x;
}
Term clamp_min(Call& c) { return is_floating(c) ? maximum(c) : Term(); }
Term clamp_max(Call& c) { return is_floating(c) ? minimum(c) : Term(); }
Term relu6(Call& c) { return is_floating(c) ? bounded(c, c.in(0), 0, 6) : Term(); }
Term relu(Call& c) {
  const Term x = c.in(0), zero = number(c, 0);
  return c.body.select(c.body.binary("lt", x, zero), zero, x);
}
Term leaky_relu(Call& c) {
  const Term x = c.in(0), positive = c.body.binary("gt", x, number(c, 0));
  return c.body.select(positive, x, c.body.binary("mul", x, c.in(1)));
}
Term threshold(Call& c) {
  const Term x = c.in(0);
  return c.body.select(c.body.binary("le", x, c.in(1)), c.in(2), x);
}
Term silu(Call& c) {
  const Term x = c.in(0);
  return c.body.binary("mul", x, c.body.unary("sigmoid", x));
}
Term hard_sigmoid(Call& c, Term x) {
  const Term shifted = c.body.binary("add", x, number(c, 3));
  return c.body.binary("div", bounded(c, shifted, 0, 6), number(c, 6));
}
Term hardsigmoid(Call& c) { return hard_sigmoid(c, c.in(0)); }
Term hardswish(Call& c) {
  const Term x = c.in(0);
  return c.body.binary("mul", x, hard_sigmoid(c, x));
}
// x * (1 + erf(x / sqrt 2)) / 2 by erfc, which keeps the small values of the left side; or
// x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), which is the form with tanh.
Term gelu(Call& c) {
  const auto how = to_constant(c.node().input(1));
  const Term x = c.in(0);
  if (how && how->isString() && how->toStringView() == "none") {
    const Term z = c.body.binary("mul", x, number(c, -0.70710678118654752440));
    const Term cdf = c.body.binary("mul", c.body.unary("erfc", z), number(c, 0.5));
    return c.body.binary("mul", x, cdf);
  }
  if (!how || !how->isString() || how->toStringView() != "tanh") return {};
  const Term square = c.body.binary("mul", x, x), cube = c.body.binary("mul", square, x);
  const Term inner = c.body.binary("add", x, c.body.binary("mul", cube, number(c, 0.044715)));
  const Term y = c.body.binary("mul", inner, number(c, 1.5957691216057308));
  return c.body.binary("mul", x, c.body.unary("sigmoid", y));
}
Term sigmoid_backward(Call& c) {
  const Term y = c.in(1);
  const Term slope = c.body.binary("mul", c.body.binary("sub", number(c, 1), y), y);
  return c.body.binary("mul", c.in(0), slope);
}
Term tanh_backward(Call& c) {
  const Term y = c.in(1);
  const Term slope = c.body.binary("sub", number(c, 1), c.body.binary("mul", y, y));
  return c.body.binary("mul", c.in(0), slope);
}
Term threshold_backward(Call& c) {
  const Term dropped = c.body.binary("le", c.in(1), c.in(2));
  return c.body.select(dropped, number(c, 0), c.in(0));
}

struct Entry {
  Rule rule;
  std::size_t least, most;  // inputs
};

const std::map<std::string, Entry, std::less<>>& entries() {
  static const std::map<std::string, Entry, std::less<>> all = [] {
    std::map<std::string, Entry, std::less<>> out{
        {"add", {add, 3, 3}},
        {"sub", {sub, 3, 3}},
        {"rsub", {rsub, 3, 3}},
        {"mul", {binary, 2, 2}},
        {"div", {floating_binary, 2, 2}},
        {"atan2", {floating_binary, 2, 2}},
        {"pow", {power, 2, 2}},
        {"square", {square, 1, 1}},
        {"maximum", {maximum, 2, 2}},
        {"minimum", {minimum, 2, 2}},
        {"where", {where, 3, 3}},
        {"clamp", {clamp, 3, 3}},
        {"clamp_min", {clamp_min, 2, 2}},
        {"clamp_max", {clamp_max, 2, 2}},
        {"addcmul", {addcmul, 4, 4}},
        {"addcdiv", {addcdiv, 4, 4}},
        {"relu", {relu, 1, 1}},
        {"relu6", {relu6, 1, 1}},
        {"leaky_relu", {leaky_relu, 2, 2}},
        {"hardtanh", {clamp, 3, 3}},
        {"threshold", {threshold, 3, 3}},
        {"silu", {silu, 1, 1}},
        {"gelu", {gelu, 2, 2}},
        {"hardsigmoid", {hardsigmoid, 1, 1}},
        {"hardswish", {hardswish, 1, 1}},
        {"sigmoid_backward", {sigmoid_backward, 2, 2}},
        {"tanh_backward", {tanh_backward, 2, 2}},
        {"threshold_backward", {threshold_backward, 3, 3}},
        {"logical_and", {logical, 2, 2}},
        {"logical_or", {logical, 2, 2}},
        {"logical_xor", {logical, 2, 2}}};
    for (const char* name :
         {"neg",      "abs",         "sign",        "floor",      "ceil",   "round", "trunc",
          "sqrt",     "rsqrt",       "exp",         "exp2",       "expm1",  "log",   "log2",
          "log10",    "log1p",       "sin",         "cos",        "tan",    "asin",  "acos",
          "atan",     "sinh",        "cosh",        "tanh",       "asinh",  "acosh", "atanh",
          "sigmoid",  "erf",         "erfc",        "reciprocal", "lgamma", "isnan", "isinf",
          "isfinite", "logical_not", "bitwise_not", "signbit"})
      out[name] = {unary, 1, 1};
    for (const char* name : {"bitwise_and", "bitwise_or", "bitwise_xor"})
      out[name] = {binary, 2, 2};
    for (const char* name : {"eq", "ne", "lt", "le", "gt", "ge"}) out[name] = {comparison, 2, 2};
    return out;
  }();
  return all;
}

}  // namespace

Rule rule_of(const Node& node) {
  constexpr std::string_view space = "aten::";
  const std::string_view kind = node.kind();
  if (!node.op || node.op->form != Operator::Form::Functional || kind.substr(0, 6) != space)
    return nullptr;
  const auto at = entries().find(kind.substr(space.size()));
  if (at == entries().end()) return nullptr;
  const Entry& e = at->second;
  const bool fits = node.inputs().size() >= e.least && node.inputs().size() <= e.most &&
                    node.outputs().size() == 1 && node.op->op != nullptr &&
                    node.output()->type()->is(TypeKind::Tensor);
  return fits ? e.rule : nullptr;
}

}  // namespace tenon::jit::fuse
