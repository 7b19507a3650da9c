// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/jit/schema.h"

#include <algorithm>

#include "jit/ir/print_value.h"

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

}  // namespace tenon::jit
