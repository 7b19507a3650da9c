// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes the autograd nodes of a family: what each saves, and its formulas with #line marks to the
// definition.
#include <algorithm>
#include <filesystem>

#include "tools/opgen/emit.h"

namespace opgen {

bool uses(const std::string& formula, const std::string& name) {
  for (std::size_t at = formula.find(name); at != std::string::npos;
       at = formula.find(name, at + 1)) {
    auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    bool begins = at == 0 || (!word(formula[at - 1]) && formula[at - 1] != '.' &&
                              formula[at - 1] != ':' && formula[at - 1] != '>');
    std::size_t end = at + name.size();
    bool ends = end >= formula.size() || (!word(formula[end]) && formula[end] != '(');
    if (begins && ends) return true;
  }
  return false;
}

namespace {

std::string owned_type(const Type& t) {
  if (t.list) {
    std::string item = t.base == "int"     ? "int64_t"
                       : t.base == "float" ? "double"
                       : t.base == "bool"  ? "bool"
                                           : t.base;
    if (t.base == "bool" && t.fixed) return cpp_arg_type(t);
    return t.optional ? "SavedOptList<" + item + ">" : "SavedList<" + item + ">";
  }
  if (t.base == "str") return t.optional ? "std::optional<std::string>" : "std::string";
  std::string cpp = cpp_arg_type(t);
  if (cpp.rfind("const ", 0) == 0) cpp = cpp.substr(6, cpp.size() - 7);
  return cpp;
}

bool has_list(const NodePlan& plan) {
  return std::any_of(plan.inputs.begin(), plan.inputs.end(),
                     [](const Arg* a) { return a->type.list; });
}

std::string member(const Saved& s) {
  switch (s.kind) {
    case Saved::Tensor:
    case Saved::OptTensor:
    case Saved::OutTensor:
      return "  SavedTensor " + s.name + "_;\n";
    case Saved::TensorList:
      return "  SavedTensorList " + s.name + "_;\n";
    case Saved::Geometry:
      return "  SavedGeometry " + s.name + "_geometry;\n";
    case Saved::StridedGeometry:
      return "  SavedStridedGeometry " + s.name + "_strided;\n";
    case Saved::ListGeometry:
      return "  SavedListGeometry " + s.name + "_geometry;\n";
    case Saved::Value:
      return "  " + owned_type(s.arg->type) + " " + s.name + "_;\n";
  }
  return "";
}

bool holds_tensors(const Saved& s) {
  return s.kind == Saved::Tensor || s.kind == Saved::OutTensor || s.kind == Saved::TensorList ||
         s.kind == Saved::OptTensor;
}

std::string unpack(const Saved& s) {
  switch (s.kind) {
    case Saved::Tensor:
    case Saved::OutTensor:
      return "    Tensor " + s.name + " = this->" + s.name + "_.unpack(*this);\n";
    case Saved::OptTensor:
      return "    std::optional<Tensor> " + s.name + " = this->" + s.name +
             "_.unpack_optional(*this);\n";
    case Saved::TensorList:
      return "    std::vector<Tensor> " + s.name + " = this->" + s.name + "_.unpack(*this);\n";
    default:
      return "";
  }
}

// The formula as a function of the gradient and of the one tensor that it reads.
std::string on_values(const Definition& definition, const NodePlan& plan,
                      const std::string& formula) {
  std::string read, body = formula;
  for (const Saved& s : plan.saved) {
    if (!holds_tensors(s) || !uses(formula, s.name)) continue;
    if (!read.empty())
      throw DefinitionError(definition.file, definition.grads[0].line,
                            "a formula on values reads one tensor");
    read = s.name;
  }
  if (read.empty())
    throw DefinitionError(definition.file, definition.grads[0].line,
                          "a formula on values reads a tensor");
  const std::string grad = "grads[0]";
  for (std::size_t at; (at = body.find(grad)) != std::string::npos;)
    body.replace(at, grad.size(), "grad");
  return "on_values(grads[0], " + read + ", [&](const Tensor& grad, const Tensor& " + read +
         ") -> Tensor { return " + body + "; })";
}

std::string formula_block(const Definition& definition, const NodePlan& plan, std::size_t k) {
  const Grad& g = definition.grads[k];
  const std::string& f = plan.formulas[k];
  std::string need, mask;
  for (const std::string& t : g.targets) {
    need += (need.empty() ? "" : " || ") + std::string("needs_") + t;
    mask += (mask.empty() ? "" : ", ") + std::string("needs_") + t;
  }
  std::string out = "  if (" + need + ") {\n";
  for (const Saved& s : plan.saved) {
    if (holds_tensors(s) && uses(f, s.name)) out += unpack(s);
  }
  std::string n = std::to_string(g.targets.size());
  bool named = std::any_of(plan.saved.begin(), plan.saved.end(),
                           [](const Saved& x) { return x.name == "mask"; });
  if (uses(f, "mask") && !named)
    out += "    const std::array<bool, " + n + "> mask = {" + mask + "};\n";
  std::string line = "#line " + std::to_string(g.line) + " \"" + definition.file + "\"\n";
  if (g.targets.size() > 1) {
    out += line + "    auto all = " + f + ";\n";
    for (std::size_t i = 0; i < g.targets.size(); ++i) {
      const std::string& t = g.targets[i];
      out += "    if (needs_" + t + ") out[at_" + t + "] = std::move(std::get<" +
             std::to_string(i) + ">(all));\n";
    }
    return out + "  }\n";
  }
  const std::string& t = g.targets[0];
  auto arg = std::find_if(plan.inputs.begin(), plan.inputs.end(),
                          [&](const Arg* a) { return a->name == t; });
  if ((*arg)->type.list) {
    out += line + "    put_list(out + at_" + t + ", n_" + t + "_, " + f + ");\n";
  } else if (f == "not_implemented") {
    out += "    derivative_missing(\"" + definition.schema.full() + "\", \"" + t + "\");\n";
  } else if (definition.on_values) {
    out += line + "    out[at_" + t + "] = reduce_grad(" + on_values(definition, plan, f) +
           ", this->" + t + "_geometry);\n";
  } else if (plan.reduces && !(*arg)->type.optional) {
    out += line + "    out[at_" + t + "] = reduce_grad(" + f + ", this->" + t + "_geometry);\n";
  } else {
    out += line + "    out[at_" + t + "] = " + f + ";\n";
  }
  return out + "  }\n";
}

std::string declaration(const Definition& definition, const NodePlan& plan) {
  std::string name = node_name(definition);
  std::string out = "struct " + name + " final : NodeWith<" +
                    (has_list(plan) ? "0" : std::to_string(plan.inputs.size())) + "> {\n";
  out += "  std::string name() const override { return \"" + name + "\"; }\n";
  out += "  void run(Tensor* grads, Tensor* out) override;\n  void release_saved() override;\n";
  for (const Saved& s : plan.saved) out += member(s);
  for (const Arg* a : plan.inputs) {
    if (a->type.list) out += "  uint32_t n_" + a->name + "_ = 0;\n";
  }
  return out + "};\n";
}

std::string definition(const Definition& definition, const NodePlan& plan,
                       const std::string& own_path) {
  std::string name = node_name(definition);
  std::string out =
      "void " + name + "::run([[maybe_unused]] Tensor* grads, [[maybe_unused]] Tensor* out) {\n";
  std::size_t n = definition.schema.results.size();
  std::string blocks, none;
  for (std::size_t k = 0; k < definition.grads.size(); ++k)
    blocks += formula_block(definition, plan, k);
  // Of the gradients that a formula uses one is there.
  for (std::size_t i = 0; i < n; ++i) {
    std::string grad = "grads[" + std::to_string(i) + "]";
    if (n == 1 || blocks.find(grad) != std::string::npos)
      none += (none.empty() ? "!" : " && !") + grad + ".defined()";
  }
  if (!none.empty()) out += "  if (" + none + ") return;\n";
  std::string at = "0";
  for (const Arg* a : plan.inputs) {
    out += "  const uint32_t at_" + a->name + " = " + at + ";\n";
    std::string count = a->type.list ? "n_" + a->name + "_" : "1";
    out += "  const bool needs_" + a->name + " = needs(at_" + a->name + ", " + count + ");\n";
    at = "at_" + a->name + " + " + count;
  }
  (void)own_path;
  out += blocks + "}\n\nvoid " + name + "::release_saved() {\n";
  for (const Saved& s : plan.saved) {
    if (holds_tensors(s)) out += "  " + s.name + "_.release();\n";
  }
  return out + "}\n\n";
}

}  // namespace

void emit_nodes(const std::vector<Definition>& definitions, const std::string& family,
                const std::string& folder) {
  std::string head =
      std::string(kGenerated) +
      "#pragma once\n\n#include \"tenon/call/generated.h\"\n\nnamespace tenon::autograd {\n";
  std::string body =
      std::string(kGenerated) + "#include \"nodes_" + family +
      ".gen.h\"\n\n#include \"tenon/autograd/formulas.h\"\n\nnamespace tenon::autograd {\nusing "
      "namespace formulas;\n\n";
  for (const Definition& r : definitions) {
    if (r.family != family || r.grads.empty()) continue;
    NodePlan plan = plan_node(r);
    head += "\n" + declaration(r, plan);
    body += definition(r, plan, folder);
  }
  write_if_changed(folder + "/nodes_" + family + ".gen.h",
                   head + "}  // namespace tenon::autograd\n");
  write_if_changed(folder + "/nodes_" + family + ".gen.cpp",
                   body + "}  // namespace tenon::autograd\n");
}

}  // namespace opgen
