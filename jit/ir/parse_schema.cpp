// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Schemas from their text.
#include "jit/ir/cursor.h"
#include "tenon/jit/custom_class.h"
#include "tenon/jit/schema.h"

namespace tenon::jit {
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
  const std::size_t begin = c.position();
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
  if (!c.starts_with("[") && !c.starts_with("?")) return;
  // They were the parts of a tuple: (str, t)[].
  c.seek(begin);
  s.returns.clear();
  s.returns.push_back(parse_argument(c, true, find));
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
  const FindType find = [](const std::string& name) { return find_custom_class(name); };
  parse_arguments(c, s, find);
  c.expect("->");
  parse_returns(c, s, find);
  if (!c.at_end()) c.fail("the end");
  return s;
}

}  // namespace tenon::jit
