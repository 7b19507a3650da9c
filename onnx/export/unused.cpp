// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Nodes that a rule wrote in case somebody takes their results, as the packed elements of a
// sequence that is unpacked again.
#include "onnx/export/unused.h"

#include <algorithm>

namespace tenon::onnx::exporting {

void add_used_names(const pb::GraphProto& g, std::set<std::string>& names) {
  for (const auto& o : g.output()) names.insert(o.name());
  for (const auto& n : g.node()) {
    names.insert(n.input().begin(), n.input().end());
    for (const auto& a : n.attribute())
      if (a.has_g()) add_used_names(a.g(), names);
  }
}

// A node comes after those that it uses.
void remove_unused_nodes(pb::GraphProto* graph) {
  std::set<std::string> used;
  for (const auto& o : graph->output()) used.insert(o.name());
  for (int i = graph->node_size(); i-- > 0;) {
    pb::NodeProto* n = graph->mutable_node(i);
    const bool needed = std::any_of(n->output().begin(), n->output().end(),
                                    [&](const std::string& o) { return used.count(o) != 0; });
    if (!needed) {
      n->Clear();
      continue;
    }
    used.insert(n->input().begin(), n->input().end());
    for (auto& a : *n->mutable_attribute()) {
      if (!a.has_g()) continue;
      remove_unused_nodes(a.mutable_g());
      add_used_names(a.g(), used);
    }
  }
  auto* nodes = graph->mutable_node();
  const auto kept = std::stable_partition(nodes->pointer_begin(), nodes->pointer_end(),
                                          [](const pb::NodeProto* n) { return n->output_size(); });
  const auto end = static_cast<int>(kept - nodes->pointer_begin());
  nodes->DeleteSubrange(end, graph->node_size() - end);
}

}  // namespace tenon::onnx::exporting
