// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/shape_facts.h"

#include "jit/passes/shape_rules.h"

namespace tenon::jit {

ShapeFacts::ShapeFacts(const Graph& g) { ShapeRules(g, *this).run(); }

const TensorFacts& ShapeFacts::of(const Value* v) const {
  static const TensorFacts nothing = [] {
    TensorFacts t;
    t.lead = -1;
    return t;
  }();
  const auto it = tensors_.find(v);
  return it == tensors_.end() ? nothing : it->second;
}

bool ShapeFacts::same_shape(const Value* a, const Value* b) const {
  const auto x = tensors_.find(a), y = tensors_.find(b);
  return x != tensors_.end() && y != tensors_.end() && x->second.lead == y->second.lead &&
         x->second.last == y->second.last;
}

bool ShapeFacts::same_shape_and_dtype(const Value* a, const Value* b) const {
  return same_shape(a, b) && of(a).dtype && of(a).dtype == of(b).dtype;
}

std::optional<int64_t> ShapeFacts::size(const Value* v, int64_t dim) const {
  const TensorFacts& t = of(v);
  const auto n = static_cast<int64_t>(t.last.size());
  if (dim >= 0 && t.lead != 0) return std::nullopt;
  const int64_t at = dim < 0 ? dim + n : dim;
  if (at < 0 || at >= n || t.last[static_cast<std::size_t>(at)] < 0) return std::nullopt;
  return t.last[static_cast<std::size_t>(at)];
}

std::optional<int64_t> ShapeFacts::rank_given_by(const Value* v) const {
  const auto it = ranks_.find(v);
  return it == ranks_.end() ? std::nullopt : std::optional(it->second);
}

bool ShapeFacts::keeps_rank(const Node& n) {
  if (!n.op || n.outputs().size() != 1 || !n.output()->type()->is(TypeKind::Tensor)) return false;
  return ShapeRules::keeps_rank(n.kind());
}

void ShapeFacts::replaced(const Value* old, const Value* by) {
  if (auto it = tensors_.find(old); it != tensors_.end()) tensors_[by] = TensorFacts(it->second);
}

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
