// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The order of nodes. ONNX wants each after those whose outputs it takes; runtimes take models of
// any order, and some writers keep none.
#pragma once

#include "onnx/proto/model.pb.h"

namespace tenon::onnx {

// Sorts the nodes of the graph, of the graphs in it, and of the functions, where one comes before a
// node that it needs. Those of a cycle stay as they are.
void sort_nodes(pb::ModelProto& model);

}  // namespace tenon::onnx
