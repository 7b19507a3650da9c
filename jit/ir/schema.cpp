// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/jit/schema.h"

#include <algorithm>

#include "jit/ir/cursor.h"

namespace tenon::jit {

int FunctionSchema::find_argument(std::string_view argument) const {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].name == argument) return static_cast<int>(i);
  return -1;
}

namespace {

std::string alias_text(const std::string& set, bool write, const std::string& after) {
  if (set.empty()) return "";
  return "(" + set + (write ? "!" : "") + (after.empty() ? "" : " -> " + after) + ")";
}

// One number where all are equal, as in int[2] stride=1.
void print_default(std::string& out, const Argument& a) {
  const IValue& v = *a.default_value;
  const auto* items = v.isList() ? &v.toListRef().items : nullptr;
  bool integers = a.type->is(TypeKind::List) && a.type->element()->is(TypeKind::Int);
  if (integers && items && items->size() > 1 &&
      items->size() == static_cast<std::size_t>(a.fixed_length) &&
      std::all_of(items->begin(), items->end(), [&](const IValue& i) { return i == items->at(0); }))
    return print_value(out, items->at(0));
  print_value(out, v);
}

void print_argument(std::string& out, const Argument& a) {
  bool optional = a.type->is(TypeKind::Optional);
  const TypePtr& type = optional ? a.type->element() : a.type;
  if (type->is(TypeKind::List)) {
    out += type->element()->str() + alias_text(a.alias.elements, a.alias.write_elements, "");
    out += "[" + (a.fixed_length > 0 ? std::to_string(a.fixed_length) : "") + "]";
  } else {
    out += type->str();
  }
  out += alias_text(a.alias.set, a.alias.write, a.alias.after);
  if (optional) out += "?";
  if (!a.name.empty()) out += " " + a.name;
  if (a.default_value) {
    out += "=";
    print_default(out, a);
  }
}

std::string arguments_text(const FunctionSchema& s) {
  std::string out;
  bool keyword_only = false;
  for (const Argument& a : s.arguments) {
    if (!out.empty()) out += ", ";
    if (a.keyword_only && !keyword_only) out += "*, ";
    keyword_only = a.keyword_only;
    print_argument(out, a);
  }
  if (s.vararg) out += out.empty() ? "..." : ", ...";
  return out;
}

std::string returns_text(const FunctionSchema& s) {
  std::string out;
  for (const Argument& r : s.returns) {
    if (!out.empty()) out += ", ";
    print_argument(out, r);
  }
  if (s.varret) out += out.empty() ? "..." : ", ...";
  bool bare = s.returns.size() + (s.varret ? 1 : 0) == 1 && out[0] != '(';
  return bare ? out : "(" + out + ")";
}

}  // namespace

std::string FunctionSchema::str() const {
  return full_name() + "(" + arguments_text(*this) + ") -> " + returns_text(*this);
}

namespace {

// A list that one number stands for: int[2] padding=0.
IValue repeated(const IValue& v, const Argument& a) {
  const TypePtr& type = a.type->is(TypeKind::Optional) ? a.type->element() : a.type;
  if (!type->is(TypeKind::List) || v.isList() || v.isNone()) return v;
  auto n = static_cast<std::size_t>(std::max(a.fixed_length, 1));
  return core::Ref<ivalue::List>::adopt(
      new ivalue::List(type->element(), std::vector<IValue>(n, v)));
}

IValue parse_default(Cursor& c, const Argument& a) {
  const TypePtr& type = a.type->is(TypeKind::Optional) ? a.type->element() : a.type;
  bool one = type->is(TypeKind::List) && !c.starts_with("[");
  return repeated(parse_value(c, one ? Type::optional(type->element()) : a.type), a);
}

Argument parse_argument(Cursor& c, bool is_return, const FindType& find) {
  ParsedType t = parse_type(c, find);
  Argument a;
  a.type = std::move(t.type);
  a.alias = std::move(t.alias);
  a.fixed_length = t.fixed_length;
  a.name = is_return ? c.name(true) : c.expect_name("the name of an argument", true);
  if (!is_return && c.take("=")) a.default_value = parse_default(c, a);
  return a;
}

void parse_arguments(Cursor& c, FunctionSchema& s, const FindType& find) {
  bool keyword_only = false, first = true;
  c.expect("(");
  while (!c.take(")")) {
    if (!first) c.expect(",");
    first = false;
    if (c.take("...")) {
      s.vararg = true;
    } else if (!keyword_only && c.take("*")) {
      keyword_only = true;
    } else {
      if (s.vararg) c.fail("\")\" after \"...\"");
      s.arguments.push_back(parse_argument(c, false, find));
      s.arguments.back().keyword_only = keyword_only;
      if (s.find_argument(s.arguments.back().name) + 1 < static_cast<int>(s.arguments.size()))
        c.fail("arguments of different names before here");
    }
  }
}

void parse_returns(Cursor& c, FunctionSchema& s, const FindType& find) {
  if (c.take("...")) {
    s.varret = true;
    return;
  }
  if (!c.take("(")) {
    s.returns.push_back(parse_argument(c, true, find));
    return;
  }
  for (bool first = true; !c.take(")"); first = false) {
    if (!first) c.expect(",");
    if (c.take("..."))
      s.varret = true;
    else
      s.returns.push_back(parse_argument(c, true, find));
  }
}

void parse_schema_name(Cursor& c, FunctionSchema& s) {
  s.name = c.expect_name("the name of an operator", false);
  bool operator_name = c.take("::");
  if (operator_name) s.name += "::" + c.expect_name("the name of an operator", false);
  // Of a function of a program every dot belongs to the name.
  while (c.take(".")) {
    std::string part = c.expect_name("a name after the dot", false);
    (operator_name ? s.overload : s.name) += operator_name ? part : "." + part;
    if (operator_name) break;
  }
}

}  // namespace

FunctionSchema parse_schema(std::string_view text) {
  Cursor c(text, "parse_schema");
  FunctionSchema s;
  parse_schema_name(c, s);
  parse_arguments(c, s, nullptr);
  c.expect("->");
  parse_returns(c, s, nullptr);
  if (!c.at_end()) c.fail("the end");
  return s;
}

}  // namespace tenon::jit
