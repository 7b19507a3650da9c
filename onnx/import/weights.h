// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "onnx/proto/model.pb.h"
#include "tenon/jit/graph.h"

namespace tenon::onnx {

// Names of values that nodes take where they have weights: the operands of products, sums and
// convolutions, scales and shifts of normalizations, tables of embeddings; also through Transpose,
// Reshape and the like. Statistics of BatchNormalization are none.
std::set<std::string> find_weights(const pb::GraphProto& g);

// Constants and what decides them are computed, dead nodes removed.
void finish_graph(jit::Graph& g);

}  // namespace tenon::onnx
