// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reads the formulas of a definition and decides what its autograd node keeps.
#include <algorithm>
#include <cctype>

#include "tools/opgen/emit.h"

namespace opgen {
namespace {

bool name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

const char* const kGeometryCalls[] = {".sizes()",       ".options()", ".dim()",     ".numel()",
                                      ".scalar_type()", ".size(",     ".geometry()"};

void keep(NodePlan& plan, const Saved& s) {
  for (const Saved& k : plan.saved) {
    if (k.name == s.name && k.kind == s.kind) return;
  }
  plan.saved.push_back(s);
}

Saved::Kind kind_of(const Arg& a) {
  if (!a.type.tensor()) return Saved::Value;
  if (a.type.list) return Saved::TensorList;
  return a.type.optional ? Saved::OptTensor : Saved::Tensor;
}

std::string rewrite_name(const Definition& definition, NodePlan& plan, const std::string& name,
                         const std::string& rest, int line) {
  if (name == "grad") return "grads[0]";
  for (std::size_t i = 0; i < definition.schema.results.size(); ++i) {
    const Result& r = definition.schema.results[i];
    std::string known =
        r.name.empty() ? (definition.schema.results.size() == 1 ? "result" : "") : r.name;
    if (!known.empty() && name == "grad_" + known) return "grads[" + std::to_string(i) + "]";
    if (!known.empty() && name == known) {
      keep(plan, {name, Saved::OutTensor, nullptr, static_cast<int>(i)});
      return name;
    }
  }
  for (const Arg& a : definition.schema.args) {
    if (a.name != name) continue;
    if (a.type.tensor() && a.type.list && rest.rfind(".geometry()", 0) == 0) {
      keep(plan, {name, Saved::ListGeometry, &a});
      return "this->" + name + "_geometry";
    }
    if (a.type.plain_tensor() &&
        (rest.rfind(".strides()", 0) == 0 || rest.rfind(".storage_offset()", 0) == 0)) {
      keep(plan, {name, Saved::StridedGeometry, &a});
      return "this->" + name + "_strided";
    }
    if (a.type.plain_tensor() && !a.type.optional) {
      for (const char* call : kGeometryCalls) {
        if (rest.rfind(call, 0) == 0) {
          keep(plan, {name, Saved::Geometry, &a});
          return "this->" + name + "_geometry";
        }
      }
    }
    keep(plan, {name, kind_of(a), &a});
    return kind_of(a) == Saved::Value ? "this->" + name + "_" : name;
  }
  if (name == "result")
    throw DefinitionError(definition.file, line,
                          "this definition has several results: name them in its schema");
  return name;
}

std::string rewrite(const Definition& definition, NodePlan& plan, const Grad& g) {
  std::string out;
  const std::string& e = g.expr;
  for (std::size_t i = 0; i < e.size();) {
    if (!name_char(e[i]) || std::isdigit(static_cast<unsigned char>(e[i]))) {
      if (std::isdigit(static_cast<unsigned char>(e[i]))) {
        while (i < e.size() && (name_char(e[i]) || e[i] == '.')) out += e[i++];
        continue;
      }
      out += e[i++];
      continue;
    }
    std::size_t b = i;
    while (i < e.size() && name_char(e[i])) ++i;
    std::string name = e.substr(b, i - b);
    bool member = b > 0 && (e[b - 1] == '.' || e[b - 1] == ':' ||
                            (b > 1 && e[b - 1] == '>' && e[b - 2] == '-'));
    bool called = i < e.size() && (e[i] == '(' || e[i] == ':');
    out += member || called ? name : rewrite_name(definition, plan, name, e.substr(i), g.line);
  }
  return out;
}

}  // namespace

std::string node_name(const Definition& definition) {
  std::string out;
  bool upper = true;
  for (char c : definition.ident()) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  // Two definitions may differ by underscores alone (_softmax, softmax).
  return (definition.schema.name[0] == '_' ? "Under" : "") + out + "Backward";
}

bool is_differentiable(const NodePlan& plan, std::size_t result, std::size_t n_results) {
  const auto reads = [&](const std::string& gradient) {
    return std::any_of(plan.formulas.begin(), plan.formulas.end(),
                       [&](const std::string& f) { return f.find(gradient) != std::string::npos; });
  };
  return n_results == 1 || !reads("grads[") || reads("grads[" + std::to_string(result) + "]");
}

NodePlan plan_node(const Definition& definition) {
  NodePlan plan;
  for (const Grad& g : definition.grads) plan.formulas.push_back(rewrite(definition, plan, g));
  for (const Arg& a : definition.schema.args) {
    for (const Grad& g : definition.grads) {
      if (std::find(g.targets.begin(), g.targets.end(), a.name) != g.targets.end())
        plan.inputs.push_back(&a);
    }
  }
  plan.reduces = definition.infer.rfind("pointwise", 0) == 0;
  if (plan.reduces) {
    for (const Arg* a : plan.inputs) {
      if (a->type.plain_tensor() && !a->type.optional) keep(plan, {a->name, Saved::Geometry, a});
    }
  }
  return plan;
}

}  // namespace opgen
