// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Constants of graphs and schemas, read.
#include <cmath>
#include <cstdio>

#include "jit/ir/cursor.h"
#include "tenon/creation.h"

namespace tenon::jit {

namespace {

const TypePtr g_unknown;

const TypePtr& part(const TypePtr& t, TypeKind kind, std::size_t i) {
  return t && t->is(kind) ? t->contained()[i] : g_unknown;
}

IValue parse_list(Cursor& c, const TypePtr& type) {
  const TypePtr& element = part(type, TypeKind::List, 0);
  std::vector<IValue> items;
  c.expect("[");
  while (!c.take("]")) {
    if (!items.empty()) c.expect(",");
    items.push_back(parse_value(c, element));
  }
  return core::Ref<ivalue::List>::adopt(new ivalue::List(element, std::move(items)));
}

IValue parse_tuple(Cursor& c, const TypePtr& type) {
  std::vector<IValue> items;
  c.expect("(");
  while (!c.take(")")) {
    if (!items.empty()) {
      c.expect(",");
      if (c.take(")")) break;
    }
    bool known = type && type->is(TypeKind::Tuple) && items.size() < type->contained().size();
    items.push_back(parse_value(c, known ? type->contained()[items.size()] : g_unknown));
  }
  bool named = type && type->is(TypeKind::Tuple) && !type->fields().empty();
  return core::Ref<ivalue::Tuple>::adopt(
      new ivalue::Tuple(std::move(items), named ? type : nullptr));
}

// {"a": 1}, or a tensor of one element: {0.5}.
IValue parse_braces(Cursor& c, const TypePtr& type) {
  c.expect("{");
  if (type && type->is(TypeKind::Tensor)) {
    IValue v = c.number();
    c.expect("}");
    return v.isInt() ? tensor(v.toInt()) : tensor(v.toDouble());
  }
  auto d = core::Ref<ivalue::Dict>::adopt(
      new ivalue::Dict(part(type, TypeKind::Dict, 0), part(type, TypeKind::Dict, 1)));
  while (!c.take("}")) {
    if (d->size() > 0) c.expect(",");
    IValue key = parse_value(c, d->key);
    c.expect(":");
    d->insert_or_assign(std::move(key), parse_value(c, d->value));
  }
  return d;
}

// Enumerators in the defaults of ATen's schemas.
IValue parse_word(Cursor& c) {
  if (c.take_word("True") || c.take_word("true")) return true;
  if (c.take_word("False") || c.take_word("false")) return false;
  if (c.take_word("contiguous_format")) return MemoryFormat::Contiguous;
  if (c.take_word("preserve_format")) return MemoryFormat::Preserve;
  if (c.take_word("strided")) return Layout::Strided;
  if (c.take_word("long")) return ScalarType::Long;
  if (c.take_word("Mean")) return 1;
  c.fail("a value");
}

// 1.-2.j
IValue parse_number(Cursor& c, const TypePtr& type) {
  IValue v = c.number();
  if (type && type->is(TypeKind::Complex)) {
    const bool negative = !c.take("+");
    if (negative) c.expect("-");
    const double imaginary = c.number().toScalar().to<double>();
    c.expect("j");
    return std::complex<double>(v.toScalar().to<double>(), negative ? -imaginary : imaginary);
  }
  if (type && type->is(TypeKind::Float) && v.isInt()) return static_cast<double>(v.toInt());
  if (type && type->is(TypeKind::Bool) && v.isInt()) return v.toInt() != 0;
  if (type && type->is(TypeKind::Int) && !v.isInt()) c.fail("an integer before here");
  return v;
}

}  // namespace

IValue parse_value(Cursor& c, const TypePtr& declared) {
  Cursor::Depth depth(c);
  bool optional = declared && declared->is(TypeKind::Optional);
  const TypePtr& type = optional ? declared->element() : declared;
  char next = c.peek();
  if (c.take_word("None")) return {};
  if (next == '"' || next == '\'') {
    std::string text = c.quoted();
    if (type && type->is(TypeKind::Device)) return Device(text);
    return text;
  }
  if (next == '[') return parse_list(c, type);
  if (next == '(') return parse_tuple(c, type);
  if (next == '{') return parse_braces(c, type);
  if (c.take("<Tensor>")) return Tensor();
  const bool word = c.starts_with("inf") || c.starts_with("nan");
  if (word || (next >= '0' && next <= '9') || next == '-' || next == '.')
    return parse_number(c, type);
  return parse_word(c);
}

}  // namespace tenon::jit
