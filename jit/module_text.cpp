// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <set>
#include <sstream>

#include "tenon/jit/module.h"

namespace tenon::jit {
namespace {

struct Printer {
  bool code, attributes, tensors;
  std::ostringstream out;
  std::set<const ivalue::Object*> printed;  // a module may be there twice, or contain itself

  std::ostream& line(int depth) {
    return out << std::string(static_cast<std::size_t>(depth) * 2, ' ');
  }
  void indented(int depth, const std::string& text) {
    std::istringstream in(text);
    for (std::string each; std::getline(in, each);) {
      if (each.empty())
        out << "\n";
      else
        line(depth) << each << "\n";
    }
  }
  void attribute(int depth, const ClassAttribute& a, const IValue& v) {
    std::ostringstream text;
    if (v.isTensor() && tensors && v.toTensor().defined())
      text << v.toTensor();
    else if (attributes || v.isTensor())
      text << v;
    else
      text << "...";
    line(depth) << a.name << " : " << (a.type ? a.type->annotation() : "Any") << " = " << text.str()
                << "\n";
  }
  void list(int depth, const char* title, const Module& m, bool of_parameters);
  void module(int depth, const std::string& name, const Module& m);
};

void Printer::list(int depth, const char* title, const Module& m, bool of_parameters) {
  line(depth) << title << " {\n";
  const ClassTypePtr cls = m.type();
  const auto& known = cls->attributes();
  const auto& slots = m._ivalue()->slots;
  for (std::size_t i = 0; i < slots.size() && i < known.size(); ++i) {
    if ((known[i].kind == ClassAttribute::Parameter) != of_parameters || slots[i].isModule())
      continue;
    attribute(depth + 1, known[i], slots[i]);
  }
  line(depth) << "}\n";
}

void Printer::module(int depth, const std::string& name, const Module& m) {
  line(depth) << (name.empty() ? "" : name + " : ") << "module " << m._ivalue()->name();
  if (!printed.insert(m._ivalue().get()).second) {
    out << " (above)\n";
    return;
  }
  out << " {\n";
  list(depth + 1, "parameters", m, true);
  list(depth + 1, "attributes", m, false);
  line(depth + 1) << "methods {\n";
  for (const Method& method : m.get_methods()) {
    line(depth + 2) << "method " << method.name() << " {\n";
    if (code) indented(depth + 3, method.graph()->str());
    line(depth + 2) << "}\n";
  }
  line(depth + 1) << "}\n";
  line(depth + 1) << "submodules {\n";
  for (const NamedModule& child : m.named_children()) {
    module(depth + 2, child.name, child.value);
  }
  line(depth + 1) << "}\n";
  line(depth) << "}\n";
}

}  // namespace

std::string Module::dump_to_str(bool code, bool attributes, bool tensors) const {
  Printer p{code, attributes, tensors, {}, {}};
  p.module(0, "", *this);
  return p.out.str();
}

void Module::dump(bool code, bool attributes, bool tensors) const {
  std::fputs(dump_to_str(code, attributes, tensors).c_str(), stdout);
}

}  // namespace tenon::jit
