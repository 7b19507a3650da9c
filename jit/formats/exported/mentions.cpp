// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/exported/mentions.h"

#include <algorithm>

namespace tenon::jit::formats {
namespace {

bool is_name(const std::string& key, const Json& value) {
  return (key == "name" || key == "as_name") && value.is_string();
}

}  // namespace

bool mentions(const Json& j, const Names& names) {
  const auto in = [&](const Json& each) { return mentions(each, names); };
  if (j.is_array()) return std::any_of(j.begin(), j.end(), in);
  if (!j.is_object()) return false;
  for (const auto& [key, value] : j.items())
    if (is_name(key, value) ? names.count(value.get_ref<const std::string&>()) != 0 : in(value))
      return true;
  return false;
}

void add_names(const Json& j, Names& names) {
  if (j.is_array())
    for (const Json& each : j) add_names(each, names);
  if (!j.is_object()) return;
  for (const auto& [key, value] : j.items()) {
    if (is_name(key, value))
      names.insert(value.get<std::string>());
    else
      add_names(value, names);
  }
}

void add_used_names(const Json& graph, Names& names) {
  add_names(member(graph, "outputs"), names);
  for (const Json& node : list_of(member(graph, "nodes"), "nodes")) {
    for (const Json& in : list_of(member(node, "inputs"), "inputs")) {
      const Tagged t = tagged(member(in, "arg"), "an argument");
      if (t.tag == "as_graph")
        add_used_names(member(t.value, "graph"), names);
      else
        add_names(member(in, "arg"), names);
    }
  }
}

}  // namespace tenon::jit::formats
