// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/export/write_form.h"

#include "onnx/export/call.h"
#include "onnx/export/form.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx::exporting {
namespace {

using Values = std::map<std::string, Names>;

// The values of an argument: several for a list of tensors, "" for None.
Names values_of(Call& c, const std::string& argument) {
  Item* i = c.find(argument.c_str());
  need(i != nullptr, "its form names '" + argument + "', and its schema has no such argument");
  if (!is_tensor_list(i->example)) return {c.in_or(argument.c_str())};
  Names names;
  for (const ItemPtr& p : i->parts) names.push_back(c.exporter.name_of(*p));
  need(i->has_parts, "its form takes a list whose length is not known");
  return names;
}

Attrs attributes_of(const Call& c, const FormNode& n) {
  Attrs attrs;
  for (const FormAttr& a : n.attributes) {
    if (a.argument.empty()) {
      attrs.push_back({a.name, a.value});
      continue;
    }
    const Item* i = c.find(a.argument.c_str());
    need(i != nullptr, "its form names '" + a.argument + "', and its schema has no such argument");
    need(i->constant, "argument '" + a.argument + "' is computed by the program");
    attrs.push_back({a.name, i->example});
  }
  return attrs;
}

}  // namespace

void write_form(Call& c, const Form& form) {
  Values values;
  for (const std::string& p : form.parameters) values[p] = values_of(c, p);
  const auto take = [&](const std::string& name) -> const Names& {
    const auto at = values.find(name);
    need(at != values.end(), "its form uses '" + name + "', which nothing gives");
    return at->second;
  };
  for (const FormNode& n : form.nodes) {
    Names inputs;
    for (const std::string& name : n.inputs) {
      const Names& given = name.empty() ? Names{""} : take(name);
      inputs.insert(inputs.end(), given.begin(), given.end());
    }
    const Names made =
        c.exporter.node(n.type, inputs, attributes_of(c, n), n.outputs.size(), n.domain);
    for (std::size_t k = 0; k < made.size(); ++k) values[n.outputs[k]] = {made[k]};
  }
  need(form.results.size() == c.results.size(),
       core::join("its form gives ", form.results.size(), " results, and the operator ",
                  c.results.size()));
  for (std::size_t k = 0; k < form.results.size(); ++k) c.give(take(form.results[k]).at(0), k);
}

}  // namespace tenon::onnx::exporting
