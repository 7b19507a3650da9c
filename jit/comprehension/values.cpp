// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/comprehension/values.h"

#include <algorithm>
#include <tuple>

#include "tenon/abi/primitives.h"
#include "tenon/sdk/loop_program/names.h"

namespace tenon::jit::comprehension {
namespace {

using lp::Dtype;
using lp::Kind;

bool is_same(const lp::Node& a, const lp::Node& b) {
  if (!a.indices.empty() || !b.indices.empty()) return false;
  const auto key = [](const lp::Node& n) {
    return std::tie(n.kind, n.dtype, n.code, n.source, n.operands[0], n.operands[1], n.operands[2],
                    n.real, n.integer);
  };
  return key(a) == key(b);
}

lp::Node node_of(Kind kind, Dtype dtype) {
  lp::Node node;
  node.kind = kind;
  node.dtype = dtype;
  return node;
}

std::string_view name_of(std::string_view function) {
  return function == "fabs" ? "abs" : function;
}

}  // namespace

bool is_function(std::string_view name) {
  return lp::find_unary(name_of(name)) >= 0 || lp::find_binary(name_of(name)) >= 0;
}

int Values::push(lp::Node node) {
  for (std::size_t i = 0; i < nest_.nodes.size(); ++i)
    if (is_same(nest_.nodes[i], node)) return static_cast<int>(i);
  nest_.nodes.push_back(std::move(node));
  return static_cast<int>(nest_.nodes.size()) - 1;
}

Value Values::typed(int node) const {
  Value value;
  value.node = node;
  value.dtype = nest_.nodes[node].dtype;
  return value;
}

Dtype Values::natural(const Value& value) {
  if (value.node >= 0) return value.dtype;
  if (!value.is_integer) return Dtype::kFloat;
  return value.integer == static_cast<int32_t>(value.integer) ? Dtype::kInt32 : Dtype::kInt64;
}

int Values::as(const Value& value, Dtype dtype) {
  if (value.node < 0) {
    lp::Node node = node_of(Kind::kConstant, dtype);
    if (lp::is_floating(dtype))
      node.real = value.is_integer ? static_cast<double>(value.integer) : value.real;
    else
      node.integer = value.is_integer ? value.integer : static_cast<int64_t>(value.real);
    if (dtype == Dtype::kBool) node.integer = node.integer != 0;
    return push(node);
  }
  if (value.dtype == dtype) return value.node;
  lp::Node node = node_of(Kind::kCast, dtype);
  node.operands[0] = value.node;
  return push(node);
}

Dtype Values::common(const Value& a, const Value& b) const {
  if (a.node < 0 && b.node < 0) {
    if (!a.is_integer || !b.is_integer) return Dtype::kFloat;
    return std::max(natural(a), natural(b));
  }
  if (a.node < 0 || b.node < 0) {
    const Value &number = a.node < 0 ? a : b, &other = a.node < 0 ? b : a;
    if (lp::is_floating(other.dtype)) return other.dtype;
    if (!number.is_integer) return Dtype::kFloat;
    return other.dtype == Dtype::kBool ? natural(number) : other.dtype;
  }
  const Dtype low = std::min(a.dtype, b.dtype), high = std::max(a.dtype, b.dtype);
  if (low == Dtype::kHalf && high == Dtype::kBfloat16) return Dtype::kFloat;
  if (low == Dtype::kUint8 && high == Dtype::kInt8) return Dtype::kInt16;
  return high;
}

Value Values::unary(int code, int operand) {
  const Dtype dtype = nest_.nodes[operand].dtype;
  lp::Node node = node_of(Kind::kUnary, code >= lp::first_test ? Dtype::kBool : dtype);
  node.code = code;
  node.operands[0] = operand;
  return typed(push(node));
}

Value Values::binary(int code, int a, int b) {
  const Dtype dtype = nest_.nodes[a].dtype;
  lp::Node node = node_of(Kind::kBinary, code >= lp::first_test ? Dtype::kBool : dtype);
  node.code = code;
  node.operands[0] = a;
  node.operands[1] = b;
  return typed(push(node));
}

Value Values::value_of(const Expression& e) {
  switch (e.form) {
    case Form::kNumber: {
      Value value;
      value.is_integer = e.is_integer;
      value.integer = e.integer;
      value.real = e.real;
      return value;
    }
    case Form::kName:
      return name(e);
    case Form::kSizeOf: {
      Value value;
      value.integer = linear_of(e, facts_)->constant;
      return value;
    }
    case Form::kCall:
      return arrays_.count(e.name) > 0 ? read(e) : call(e);
    case Form::kCast:
      return typed(as(value_of(e.args[0]), e.dtype));
    case Form::kUnary:
      if (e.name == "!") return unary(lp::find_unary("logical_not"), condition(e.args[0]));
      {
        Value value = value_of(e.args[0]);
        if (value.node < 0) {
          value.integer = -value.integer;
          value.real = -value.real;
          return value;
        }
        if (value.dtype == Dtype::kBool) value = typed(as(value, Dtype::kInt32));
        return unary(TN_UNARY_NEG, value.node);
      }
    case Form::kBinary:
      return operation(e);
    case Form::kSelect: {
      lp::Node node = node_of(Kind::kSelect, Dtype::kFloat);
      node.operands[0] = condition(e.args[0]);
      const Value yes = value_of(e.args[1]), no = value_of(e.args[2]);
      node.dtype = common(yes, no);
      node.operands[1] = as(yes, node.dtype);
      node.operands[2] = as(no, node.dtype);
      return typed(push(node));
    }
  }
  throw ErrorReport(e.where, "an expression of no form");
}

Value Values::name(const Expression& e) {
  const auto size = facts_.sizes.find(e.name);
  if (size != facts_.sizes.end()) {
    Value value;
    value.integer = size->second;
    return value;
  }
  return arrays_.count(e.name) > 0 ? read(e) : index(e.name);
}

Value Values::index(const std::string& name) {
  lp::Node node = node_of(Kind::kLoop, Dtype::kInt64);
  node.source = loops_.at(name);
  const int loop = push(node);
  Value begin;
  begin.integer = ranges_.at(name).begin;
  return begin.integer == 0 ? typed(loop) : binary(TN_BINARY_ADD, loop, as(begin, Dtype::kInt64));
}

Value Values::read(const Expression& e) {
  lp::Node node = node_of(Kind::kRead, Dtype::kFloat);
  node.source = arrays_.at(e.name);
  node.dtype = program_.arrays[node.source].dtype;
  const Shape& shape = facts_.shapes.at(e.name);
  TENON_PROGRAM_CHECK(shape.size() == e.args.size(), e.where, e.name, " has ", shape.size(),
                      " dimensions, given ", e.args.size(), " indices");
  for (std::size_t d = 0; d < shape.size(); ++d)
    node.indices.push_back(subscript(e.args[d], e.where, d, shape[d], e.name));
  return typed(push(node));
}

lp::Index Values::subscript(const Expression& e, const SourceRange& where, std::size_t d,
                            int64_t size, const std::string& array) {
  lp::Index index;
  const std::optional<Linear> at = linear_of(e, facts_);
  if (!at) {
    const Value value = value_of(e);
    TENON_PROGRAM_CHECK(!lp::is_floating(natural(value)), e.where, "an index is an integer, not ",
                        lp::dtype_name(natural(value)));
    index.bound = lp::Bound::kChecked;
    index.node = as(value, Dtype::kInt64);
    return index;
  }
  index.affine.constant = at->constant;
  bool is_empty = false;
  for (const auto& [name, by] : at->terms) {
    lp::add_term(index.affine.loops, loops_.at(name), by);
    index.affine.constant += by * ranges_.at(name).begin;
  }
  for (const auto& [name, range] : ranges_)
    if (loops_.count(name) > 0) is_empty |= range.begin >= range.end;
  const Interval range = extremes_of(*at, ranges_);
  TENON_PROGRAM_CHECK(facts_.structural || is_empty || (range.begin >= 0 && range.end <= size),
                      where, "a read leaves ", array, ": index ", d, " runs from ", range.begin,
                      " to ", range.end - 1, ", its dimension has ", size, " elements");
  return index;
}

Value Values::call(const Expression& e) {
  const std::string_view name = name_of(e.name);
  const int one = lp::find_unary(name);
  const std::size_t expected = one >= 0 ? 1 : 2;
  TENON_PROGRAM_CHECK(e.args.size() == expected, e.where, e.name, " takes ", expected,
                      expected == 1 ? " value" : " values", ", given ", e.args.size());
  if (one < 0) return arithmetic(name, e);
  const Value value = value_of(e.args[0]);
  Dtype dtype = natural(value);
  if (one == lp::find_unary("logical_not")) return unary(one, condition(e.args[0]));
  if (one >= TN_UNARY_SQRT && !lp::is_floating(dtype)) dtype = Dtype::kFloat;
  if (dtype == Dtype::kBool) dtype = Dtype::kInt32;
  TENON_PROGRAM_CHECK(one != TN_UNARY_BITWISE_NOT || !lp::is_floating(dtype), e.where, e.name,
                      " takes integers");
  return unary(one, as(value, dtype));
}

Value Values::operation(const Expression& e) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"+", "add"}, {"-", "sub"}, {"*", "mul"}, {"%", "fmod"}, {"==", "eq"},
      {"!=", "ne"}, {"<", "lt"},  {"<=", "le"}, {">", "gt"},   {">=", "ge"}};
  if (e.name == "&&" || e.name == "||") {
    const int a = condition(e.args[0]), b = condition(e.args[1]);
    return binary(lp::find_binary(e.name == "&&" ? "logical_and" : "logical_or"), a, b);
  }
  for (const auto& [op, name] : names)
    if (op == e.name) return arithmetic(name, e);
  return arithmetic("div", e);
}

Value Values::arithmetic(std::string_view name, const Expression& e) {
  const Value a = value_of(e.args[0]), b = value_of(e.args[1]);
  Dtype dtype = common(a, b);
  int code = lp::find_binary(name);
  const bool is_float = lp::is_floating(dtype);
  if (code == TN_BINARY_DIV && !is_float) code = TN_BINARY_DIV_TRUNC;  // as in C
  const bool of_integers = code >= TN_BINARY_GCD && code <= TN_BINARY_SHIFT_RIGHT;
  TENON_PROGRAM_CHECK(!of_integers || !is_float, e.where, name, " takes integers");
  const bool of_floats = (code >= TN_BINARY_ATAN2 && code <= TN_BINARY_XLOGY) ||
                         (code >= TN_BINARY_XLOG1PY && code < lp::first_test);
  if (of_floats && !is_float) dtype = Dtype::kFloat;
  if (dtype == Dtype::kBool && code < lp::first_test) dtype = Dtype::kInt32;
  return binary(code, as(a, dtype), as(b, dtype));
}

int Values::condition(const Expression& e) {
  const Value value = value_of(e);
  const Dtype dtype = natural(value);
  if (dtype == Dtype::kBool) return as(value, dtype);
  const int node = as(value, dtype);
  return binary(lp::find_binary("ne"), node, as(Value{}, dtype)).node;
}

}  // namespace tenon::jit::comprehension
