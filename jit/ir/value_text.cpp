// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Constants as graphs and schemas write them.
#include <cmath>
#include <cstdio>

#include "jit/ir/cursor.h"
#include "jit/ir/value_text.h"
#include "tenon/creation.h"

namespace tenon::jit {

void print_quoted(std::string& out, std::string_view text) {
  static constexpr std::string_view codes = "\a\b\f\n\r\t\v\\\"'", letters = "abfnrtv\\\"'";
  out += '"';
  for (char c : text) {
    if (std::size_t i = codes.find(c); i != std::string_view::npos) {
      out += '\\';
      out += letters[i];
    } else if (c >= ' ' && c < 127) {
      out += c;
    } else {
      auto u = static_cast<unsigned char>(c);
      for (char d : {'\\', static_cast<char>('0' + u / 64), static_cast<char>('0' + u / 8 % 8),
                     static_cast<char>('0' + u % 8)})
        out += d;
    }
  }
  out += '"';
}

void print_double(std::string& out, double v) {
  char buffer[40];
  if (std::abs(v) < 1e10 && v == std::trunc(v))
    std::snprintf(buffer, sizeof buffer, "%.0f.", v);
  else
    std::snprintf(buffer, sizeof buffer, "%.17g", v);
  out += buffer;
}

namespace {

template <class Items, class F>
void print_items(std::string& out, char open, char close, const Items& items, F print) {
  out += open;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ", ";
    first = false;
    print(item);
  }
  out += close;
}

// A tensor of one element shows it; another does not.
void print_tensor(std::string& out, const Tensor& t) {
  if (!t.defined() || t.layout() != kStrided || t.numel() != 1 || t.is_complex()) {
    out += "<Tensor>";
    return;
  }
  char buffer[40];
  Scalar s = t.item();
  if (t.is_floating_point())
    std::snprintf(buffer, sizeof buffer, "{%g}", s.to<double>());
  else
    std::snprintf(buffer, sizeof buffer, "{%lld}", static_cast<long long>(s.to<int64_t>()));
  out += buffer;
}

}  // namespace

void print_value(std::string& out, const IValue& v) {
  auto print = [&](const IValue& item) { print_value(out, item); };
  switch (v.tag()) {
    case IValue::Tag::None:
      out += "None";
      return;
    case IValue::Tag::Tensor:
      return print_tensor(out, v.toTensor());
    case IValue::Tag::Double:
      return print_double(out, v.toDouble());
    case IValue::Tag::Int:
      out += std::to_string(v.toInt());
      return;
    case IValue::Tag::Bool:
      out += v.toBool() ? "True" : "False";
      return;
    case IValue::Tag::String:
      return print_quoted(out, v.toStringView());
    case IValue::Tag::Device:
      return print_quoted(out, v.toDevice().str());
    case IValue::Tag::Generator:
      out += "<Generator>";
      return;
    case IValue::Tag::List:
      return print_items(out, '[', ']', v.toListRef().items, print);
    case IValue::Tag::Dict:
      return print_items(out, '{', '}', v.toDictRef().items(), [&](const auto& item) {
        print(item.first);
        out += ": ";
        print(item.second);
      });
    case IValue::Tag::Tuple: {
      const auto& items = v.toTupleRef().items;
      print_items(out, '(', ')', items, print);
      if (items.size() == 1) out.insert(out.size() - 1, ",");
      return;
    }
    case IValue::Tag::Object:
      out += "object(" + v.toObjectRef().name() + ")";
      return;
    case IValue::Tag::Future:
      out += "<Future>";
      return;
    case IValue::Tag::Enum:
      out += v.toEnumRef().class_name + "." + v.toEnumRef().name;
      return;
  }
}

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

IValue parse_number(Cursor& c, const TypePtr& type) {
  IValue v = c.number();
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
  if (c.take_word("inf")) return c.seek(c.position() - 3), c.number();
  if (c.take_word("nan")) return c.seek(c.position() - 3), c.number();
  if ((next >= '0' && next <= '9') || next == '-' || next == '.') return parse_number(c, type);
  return parse_word(c);
}

}  // namespace tenon::jit
