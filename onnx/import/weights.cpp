// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/import/weights.h"

#include <map>

#include "jit/passes/passes.h"

namespace tenon::onnx {
namespace {

// The inputs that are weights: a bit each.
const std::map<std::string, unsigned>& weight_inputs() {
  static const auto& m = *new std::map<std::string, unsigned>{
      {"Conv", 6},          {"ConvTranspose", 6},
      {"Gemm", 7},          {"MatMul", 3},
      {"Einsum", ~0u},      {"BatchNormalization", 6},
      {"Add", 3},           {"Sub", 3},
      {"Mul", 3},           {"Div", 3},
      {"PRelu", 2},         {"InstanceNormalization", 6},
      {"Gather", 1},        {"LayerNormalization", 6},
      {"LSTM", 0x8e},       {"GroupNormalization", 6},
      {"GRU", 0xe},         {"RNN", 0xe},
      {"BiasGelu", 2},      {"RMSNormalization", 2},
      {"FastGelu", 2},      {"SkipLayerNormalization", 0x1c},
      {"DeformConv", 0xa},  {"EmbedLayerNormalization", 0x7c},
      {"Attention", 6},     {"SimplifiedLayerNormalization", 2},
      {"FusedMatMul", 3},   {"SkipSimplifiedLayerNormalization", 0xc},
      {"FusedConv", 6},     {"FusedGemm", 7},
      {"GatherND", 1},      {"CausalConvWithState", 6},
      {"GatherElements", 1}};
  return m;
}

// Of the first input: what is a weight after it, as the exponential of a scale that was learned,
// was one before.
bool passes_through(const std::string& op) {
  static const auto& all = *new std::set<std::string>{
      "Transpose", "Reshape", "Unsqueeze", "Squeeze",  "Identity",  "Cast",      "Flatten",
      "Expand",    "Split",   "Slice",     "Concat",   "Tile",      "Pad",       "Resize",
      "Exp",       "Neg",     "Softplus",  "Sigmoid",  "Tanh",      "Softmax",   "Abs",
      "Clip",      "Sqrt",    "CastLike",  "ReduceL2", "ReduceSum", "ScatterND", "ScatterElements"};
  return all.count(op) != 0;
}

void visit(const pb::GraphProto& g, std::set<std::string>& out, int depth) {
  if (depth > 60) return;
  for (int k = g.node_size() - 1; k >= 0; --k) {
    const pb::NodeProto& n = g.node(k);
    for (const pb::AttributeProto& a : n.attribute())
      if (a.has_g()) visit(a.g(), out, depth + 1);
    const bool own = n.domain().empty() || n.domain() == "ai.onnx";
    const auto it = weight_inputs().find(n.op_type());
    unsigned inputs = it != weight_inputs().end() ? it->second : 0;
    // A function of the model: what it does with its inputs is not looked at.
    if (!own && n.domain() != "com.microsoft" && n.domain() != "ai.onnx.ml") inputs = ~0u;
    if (own && passes_through(n.op_type())) {
      for (const std::string& o : n.output())
        if (out.count(o) != 0) inputs = n.op_type() == "Concat" ? ~0u : 1u;
    }
    for (int i = 0; i < n.input_size(); ++i)
      if ((inputs >> std::min(i, 31)) & 1u) out.insert(n.input(i));
  }
}

}  // namespace

std::set<std::string> find_weights(const pb::GraphProto& g) {
  std::set<std::string> out;
  visit(g, out, 0);
  return out;
}

void finish_graph(jit::Graph& g) {
  constexpr int kMaxRounds = 4;
  jit::lower_tuples(g);
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = jit::propagate_constants(g);
    changed |= jit::simplify(g);
    changed |= jit::unroll_loops(g);
    changed |= jit::eliminate_dead_code(g);
    if (!changed) break;
  }
}

}  // namespace tenon::onnx
