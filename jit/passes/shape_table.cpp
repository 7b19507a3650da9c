// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which rule an operator has.
#include "jit/passes/shape_rules.h"

namespace tenon::jit {
namespace {

template <class Map, class Rule>
void add(Map& all, std::initializer_list<const char*> names, Rule rule) {
  for (const char* name : names) {
    all.emplace(core::join("aten::", name), rule);
    all.emplace(core::join("aten::", name, "_"), rule);
  }
}

}  // namespace

const std::map<std::string, ShapeRules::Rule, std::less<>>& ShapeRules::rules() {
  using S = ShapeRules;
  static const auto all = [] {
    std::map<std::string, Rule, std::less<>> out;
    add(out, {"relu",       "relu6",      "gelu",          "silu",        "sigmoid",
              "tanh",       "hardswish",  "hardsigmoid",   "hardtanh",    "leaky_relu",
              "elu",        "mish",       "softmax",       "log_softmax", "layer_norm",
              "batch_norm", "group_norm", "instance_norm", "dropout",     "feature_dropout",
              "contiguous", "clone",      "detach",        "neg",         "exp",
              "sqrt",       "rsqrt",      "abs",           "erf",         "softplus",
              "clamp",      "clamp_min",  "clamp_max",     "alias",       "square",
              "cos",        "sin",        "log",           "selu",        "celu",
              "rms_norm",   "reciprocal"},
        &S::same);
    add(out, {"add", "sub", "mul", "div", "pow", "maximum", "minimum", "rsub"}, &S::binary);
    add(out, {"eq", "ne", "lt", "le", "gt", "ge"}, &S::compare);
    add(out, {"conv1d", "conv2d", "conv3d", "convolution", "_convolution"}, &S::convolution);
    add(out, {"max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d"},
        &S::pool);
    add(out, {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"},
        &S::adaptive_pool);
    add(out, {"matmul", "mm", "bmm", "addmm"}, &S::matmul);
    add(out, {"view", "reshape", "expand"}, &S::view);
    add(out, {"transpose", "swapaxes", "swapdims", "t"}, &S::transpose);
    for (const char* name : {"chunk", "split", "split_with_sizes", "tensor_split"})
      out.emplace(core::join("aten::", name), &S::pieces);
    out.emplace("aten::__getitem__", &S::piece);
    out.emplace("prim::ListUnpack", &S::piece);
    out.emplace("aten::cat", &S::cat);
    out.emplace("aten::to", &S::to);
    out.emplace("aten::linear", &S::linear);
    out.emplace("aten::_linear_epilogue", &S::linear);
    out.emplace("aten::_conv_epilogue", &S::convolution);
    out.emplace("aten::scaled_dot_product_attention", &S::attention);
    out.emplace("aten::embedding", &S::embedding);
    out.emplace("aten::permute", &S::permute);
    out.emplace("aten::flatten", &S::flatten);
    out.emplace("aten::unsqueeze", &S::unsqueeze);
    out.emplace("aten::select", &S::select);
    out.emplace("aten::size", &S::size);
    out.emplace("aten::dim", &S::rank);
    out.emplace("aten::sym_size", &S::size);
    out.emplace("exported::check_sizes", &S::check_sizes);
    out.emplace("aten::floordiv", &S::arithmetic);
    return out;
  }();
  return all;
}

bool ShapeRules::keeps_rank(const std::string& kind) {
  const auto it = rules().find(kind);
  return it != rules().end() &&
         (it->second == &ShapeRules::same || it->second == &ShapeRules::convolution ||
          it->second == &ShapeRules::pool || it->second == &ShapeRules::adaptive_pool);
}

}  // namespace tenon::jit
