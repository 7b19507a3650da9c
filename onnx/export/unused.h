// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "onnx/proto/model.pb.h"

namespace tenon::onnx::exporting {

// What the nodes of the graph and of graphs in it take, and the graphs' results.
void add_used_names(const pb::GraphProto& g, std::set<std::string>& names);
// Of the graph, and of graphs in it.
void remove_unused_nodes(pb::GraphProto* graph);

}  // namespace tenon::onnx::exporting
