// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators as nodes of ONNX, which plugins give as text (tenon/abi/ext/onnx.h).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/jit/graph.h"

namespace tenon::onnx::exporting {

// An attribute whose value is an argument of the call has its name in `argument`.
struct FormAttr {
  std::string name, argument;
  IValue value;
};
struct FormNode {
  std::string domain, type;
  std::vector<std::string> inputs, outputs;
  std::vector<FormAttr> attributes;
};
struct Form {
  std::string op;
  std::vector<std::string> parameters, results;
  std::vector<FormNode> nodes;
};

// ValueError says in which line what was expected.
std::vector<Form> parse_forms(std::string_view text);
// By operator, of the plugins that are open; the last one counts. ValueError names the plugin.
std::map<std::string, Form> plugin_forms();

}  // namespace tenon::onnx::exporting
