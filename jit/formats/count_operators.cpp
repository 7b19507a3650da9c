// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "jit/formats/archive_code.h"
#include "tenon/jit/custom_class.h"

namespace tenon::jit::formats {
namespace {

using language::Body;
using language::Def;
using language::Expr;
using language::ExprKind;
using language::ExprPtr;
using language::StmtPtr;

// What the language itself knows under torch.
const std::set<std::string, std::less<>>& words() {
  static const std::set<std::string, std::less<>> kWords = {"device", "dtype",  "Size",
                                                            "Tensor", "layout", "Generator"};
  return kWords;
}

// "a.b.c" of names and attributes; empty for anything else.
std::string dotted(const Expr& e) {
  if (e.kind == ExprKind::Name) return e.text;
  if (e.kind != ExprKind::Attribute || !e.a) return "";
  const std::string of = dotted(*e.a);
  return of.empty() ? "" : of + "." + e.text;
}

// "torch.add" -> "aten::add", "ops.prim.data" -> "prim::data"; empty for anything else.
std::string operator_of(const std::string& name) {
  const std::size_t first = name.find('.');
  if (first == std::string::npos) return "";
  const std::string_view space = std::string_view(name).substr(0, first);
  const std::string rest = name.substr(first + 1);
  const std::size_t second = rest.find('.');
  if (space == "torch" && second == std::string::npos)
    return words().count(rest) ? "" : "aten::" + rest;
  if (space == "ops" && second != std::string::npos &&
      rest.find('.', second + 1) == std::string::npos)
    return rest.substr(0, second) + "::" + rest.substr(second + 1);
  return "";
}

// "a.M" of "a.M.f".
std::string_view without_last(std::string_view name) { return name.substr(0, name.rfind('.')); }

class Counter {
 public:
  explicit Counter(CodeNeeds& needs) : needs_(needs) {}
  void visit(const Def& def) {
    for (const auto& p : def.params) {
      visit(p.annotation);
      visit(p.default_value);
    }
    visit(def.returns);
    visit(def.body);
  }
  void visit(const Body& body) {
    for (const StmtPtr& s : body) visit(*s);
  }

 private:
  void visit(const language::Stmt& s) {
    for (const ExprPtr& t : s.targets) visit(t);
    visit(s.annotation);
    visit(s.value);
    visit(s.message);
    visit(s.body);
    visit(s.orelse);
    for (const auto& item : s.items) visit(item.value);
    if (s.def) visit(*s.def);
  }
  void visit(const ExprPtr& e) {
    if (!e) return;
    if (e->kind == ExprKind::Call && e->a) {
      const std::string name = operator_of(dotted(*e->a));
      if (!name.empty()) ++needs_.operators[name];
    }
    if (e->kind == ExprKind::Attribute) {
      const std::string name = dotted(*e);
      if (name.rfind(kForeignClasses, 0) == 0) {
        const bool has = name == kRecordFunction || language::is_weight_class(name) ||
                         find_custom_class(name) || find_custom_class(without_last(name));
        if (!has) needs_.foreign_classes.insert(name);
        return;
      }
    }
    for (const ExprPtr* part : {&e->a, &e->b, &e->c, &e->d}) visit(*part);
    for (const ExprPtr& arg : e->args) visit(arg);
    for (const auto& k : e->keywords) visit(k.value);
  }
  CodeNeeds& needs_;
};

}  // namespace

void add_needs(const language::File& file, CodeNeeds& needs) {
  Counter counter(needs);
  for (const auto& def : file.functions) counter.visit(*def);
  for (const auto& cls : file.classes) counter.visit(cls->body);
}

}  // namespace tenon::jit::formats
