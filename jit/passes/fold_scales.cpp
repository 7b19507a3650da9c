// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Scales and shifts of the channels that a layer with constant weights gives become part of its
// weight and bias: batch normalization in evaluation, and arithmetic with constants. The new
// weights are computed in double on the host.
#include <algorithm>
#include <map>

#include "jit/ir/alias.h"
#include "jit/passes/node_pass.h"
#include "jit/passes/passes.h"
#include "jit/passes/shape_facts.h"
#include "jit/passes/values.h"
#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/jit/operator.h"
#include "tenon/ops.h"

namespace tenon::jit {
namespace {

// A convolution or linear layer whose weight and bias are constants.
struct Layer {
  Node* node = nullptr;
  Tensor weight, bias;      // bias may be undefined
  int64_t channel_dim = 0;  // of the weight; groups of a transposed convolution split the other
  int64_t groups = 1, channels = 0;
  int64_t out_dims = 0;  // how many dimensions the result has after its channels; -1: none
  bool transposed = false;
  std::optional<int64_t> rank;  // of the result, where known
};

struct Affine {
  Tensor scale, shift;  // double, on the host, [channels]; undefined: 1 and 0
};

bool is_layer(const Node& n, bool& transposed) {
  static const std::map<std::string, bool, std::less<>> kinds{
      {"aten::linear", false},          {"aten::conv1d", false},
      {"aten::conv2d", false},          {"aten::conv3d", false},
      {"aten::conv_transpose1d", true}, {"aten::conv_transpose2d", true},
      {"aten::conv_transpose3d", true}, {"aten::convolution", false},
      {"aten::_convolution", false}};
  const auto it = kinds.find(n.kind());
  if (it == kinds.end() || !n.op) return false;
  transposed = it->second;
  if (const Value* flag = argument(n, "transposed")) {
    const std::optional<bool> t = bool_of(flag);
    if (!t) return false;
    transposed = *t;
  }
  return true;
}

std::optional<Layer> layer_of(Node& n) {
  Layer out;
  if (n.inputs().size() < 3 || !is_layer(n, out.transposed)) return std::nullopt;
  const std::optional<Tensor> weight = tensor_of(n.input(1)), bias = tensor_of(n.input(2));
  if (!weight || (!bias && !is_none(n.input(2))) || !weight->is_floating_point())
    return std::nullopt;
  if (weight->dim() < 2 || weight->layout() != kStrided) return std::nullopt;
  out.node = &n;
  out.weight = *weight;
  if (bias) out.bias = *bias;
  if (const Value* g = argument(n, "groups")) {
    const std::optional<int64_t> groups = int_of(g);
    if (!groups || *groups < 1) return std::nullopt;
    out.groups = *groups;
  }
  out.channel_dim = out.transposed ? 1 : 0;
  out.channels = weight->size(out.channel_dim) * (out.transposed ? out.groups : 1);
  out.out_dims = weight->dim() - 2;
  if (bias && (bias->dim() != 1 || bias->size(0) != out.channels)) return std::nullopt;
  return out;
}

Tensor in_double(const Tensor& t) { return t.detach().to(kCPU).to(kDouble); }

// The constant as one number for each channel of what the layer gives.
std::optional<Tensor> per_channel(const Value* v, const Layer& layer) {
  if (const std::optional<double> n = number_of(v)) return full({layer.channels}, *n, kDouble);
  const std::optional<Tensor> t = tensor_of(v);
  if (!t || !t->is_floating_point() || t->layout() != kStrided) return std::nullopt;
  if (t->dim() > 0 && t->scalar_type() != layer.weight.scalar_type()) return std::nullopt;
  if (t->numel() == 1 && t->dim() <= layer.out_dims + 1)
    return in_double(*t).reshape({1}).expand({layer.channels});
  // [C] of a linear layer, [C, 1, 1] of a convolution, or [1, C, 1, 1] if the result has a batch.
  const int64_t at = t->dim() - layer.out_dims - 1;
  const bool batch = at == 1 && layer.rank == t->dim();
  if ((at != 0 && !batch) || t->size(at) != layer.channels || t->numel() != layer.channels)
    return std::nullopt;
  return in_double(*t).reshape({layer.channels});
}

std::optional<Affine> from_batch_norm(const Node& n, const Layer& layer) {
  const Value* training = argument(n, "training");
  if (!training || bool_of(training) != std::optional(false)) return std::nullopt;
  // Of a linear layer the channels are the second dimension only if there are two.
  if (layer.node->is("aten::linear") && layer.rank != 2) return std::nullopt;
  const std::optional<Tensor> mean = tensor_of(argument(n, "running_mean")),
                              var = tensor_of(argument(n, "running_var")),
                              weight = tensor_of(argument(n, "weight")),
                              bias = tensor_of(argument(n, "bias"));
  const std::optional<double> eps = number_of(argument(n, "eps"));
  if (!mean || !var || !eps) return std::nullopt;
  if ((!weight && !is_none(argument(n, "weight"))) || (!bias && !is_none(argument(n, "bias"))))
    return std::nullopt;
  for (const std::optional<Tensor>* t : {&mean, &var, &weight, &bias})
    if (*t && (**t).numel() != layer.channels) return std::nullopt;
  Affine out;
  out.scale = (in_double(*var) + *eps).rsqrt();
  if (weight) out.scale = out.scale * in_double(*weight);
  out.shift = -in_double(*mean) * out.scale;
  if (bias) out.shift = out.shift + in_double(*bias);
  return out;
}

// x * c, x / c, x + c, x - c with the layer's result x, and c * x, c + x.
std::optional<Affine> from_arithmetic(const Node& n, const Layer& layer) {
  const Value* x = layer.node->output();
  if (n.inputs().size() < 2) return std::nullopt;
  const bool first = n.input(0) == x;
  if (!first && n.input(1) != x) return std::nullopt;
  const std::optional<Tensor> c = per_channel(n.input(first ? 1 : 0), layer);
  if (!c) return std::nullopt;
  const bool sum =
      n.is("aten::add") || n.is("aten::sub") || n.is("aten::add_") || n.is("aten::sub_");
  if (sum && n.inputs().size() != 3) return std::nullopt;
  if (!sum && n.inputs().size() != 2) return std::nullopt;
  if (sum && !is_number(n.input(2), 1)) return std::nullopt;
  Affine out;
  if (n.is("aten::mul") || (n.is("aten::mul_") && first)) out.scale = *c;
  if (first && (n.is("aten::div") || n.is("aten::div_"))) out.scale = 1 / *c;
  if (n.is("aten::add") || (n.is("aten::add_") && first)) out.shift = *c;
  if (first && (n.is("aten::sub") || n.is("aten::sub_"))) out.shift = -*c;
  if (!out.scale.defined() && !out.shift.defined()) return std::nullopt;
  return out;
}

std::optional<Affine> affine_of(const Node& n, const Layer& layer) {
  if (!n.op) return std::nullopt;
  if (n.is("aten::batch_norm"))
    return n.input(0) == layer.node->output() ? from_batch_norm(n, layer) : std::nullopt;
  return from_arithmetic(n, layer);
}

// Of the weight's dtype, on the host.
Tensor scaled_transposed(const Layer& layer, const Tensor& scale) {
  // [in, out / groups, ...]: channel g * (out / groups) + i is row i of the g-th part of `in`.
  const Tensor weight = in_double(layer.weight);
  const int64_t in = weight.size(0), own = weight.size(1);
  std::vector<int64_t> shape(static_cast<std::size_t>(weight.dim()) + 1, 1);
  std::vector<int64_t> split{layer.groups, in / layer.groups};
  split.insert(split.end(), weight.sizes().begin() + 1, weight.sizes().end());
  shape[0] = layer.groups;
  shape[2] = own;
  return (weight.reshape(split) * scale.reshape(shape))
      .reshape(weight.sizes())
      .to(layer.weight.scalar_type());
}

// Some channels at a time: the memory of large numbers in double would be new to the process each
// time, which costs more than the products.
Tensor scaled_weight(const Layer& layer, const Tensor& scale) {
  if (layer.transposed) return scaled_transposed(layer, scale);
  constexpr int64_t kElements = 65536;
  const Tensor weight = layer.weight.detach().to(kCPU);
  std::vector<int64_t> shape(static_cast<std::size_t>(weight.dim()), 1);
  const int64_t each = std::max<int64_t>(1, weight.numel() / std::max<int64_t>(1, layer.channels)),
                step = std::max<int64_t>(1, kElements / each);
  Tensor out = empty(weight.sizes(), weight.scalar_type());
  for (int64_t at = 0; at < layer.channels; at += step) {
    shape[0] = std::min(step, layer.channels - at);
    out.narrow(0, at, shape[0])
        .copy_(in_double(weight.narrow(0, at, shape[0])) *
               scale.narrow(0, at, shape[0]).reshape(shape));
  }
  return out;
}

class Folding final : public NodePass {
 public:
  explicit Folding(Graph& g) : NodePass(g), facts_(g), shapes_(g) {}

 private:
  void visit(Node& n) override {
    while (follow(n)) changed_ = true;
  }

  bool is_written(const Layer& layer) const {
    return facts_.has_writers(layer.node->input(1)) ||
           (layer.bias.defined() && facts_.has_writers(layer.node->input(2)));
  }

  // Takes in what follows the layer.
  bool follow(Node& n) {
    std::optional<Layer> layer = layer_of(n);
    if (layer) layer->rank = shapes_.of(n.output()).rank();
    if (!layer || is_written(*layer)) return false;
    Node* user = only_user(n.output());
    const std::optional<Affine> affine = user ? affine_of(*user, *layer) : std::nullopt;
    if (!affine || user->outputs().size() != 1) return false;
    set_weights(n, *layer, *affine);
    user->output()->replace_all_uses_with(n.output());
    user->destroy();
    return true;
  }

  void set_weights(Node& n, const Layer& layer, const Affine& a) {
    const NoGradGuard no_grad;
    const Graph::InsertPoint at(graph_, &n);
    const auto put = [&](int input, const Tensor& t) {
      const Tensor as_before =
          t.to(layer.weight.scalar_type()).contiguous().to(layer.weight.device());
      n.replace_input(input, graph_.insert_constant(as_before, n.range, Type::tensor()));
    };
    if (a.scale.defined()) put(1, scaled_weight(layer, a.scale));
    Tensor bias = layer.bias.defined() ? in_double(layer.bias) : Tensor();
    if (bias.defined() && a.scale.defined()) bias = bias * a.scale;
    if (a.shift.defined()) bias = bias.defined() ? bias + a.shift : a.shift;
    if (bias.defined()) put(2, bias);
  }

  AliasFacts facts_;
  ShapeFacts shapes_;
};

}  // namespace

bool fold_scales(Graph& g) { return Folding(g).run(); }

}  // namespace tenon::jit
