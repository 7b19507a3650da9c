// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Layers of numbers that stand between quantized_decomposed operators become layers of integers:
//   quantize(relu(convolution(dequantize(x), dequantize(weight), bias)))
// is one tenon_quantized::convolution, without quantize one that gives float32. Linear layers are
// products of rows. Sums of integers are exact, where those of floats are rounded: a result may be
// another integer where the number lies in the middle between two.
#include <algorithm>
#include <cmath>
#include <set>

#include "jit/ir/alias.h"
#include "jit/passes/node_pass.h"
#include "jit/passes/passes.h"
#include "jit/passes/product.h"
#include "jit/passes/quantized_step.h"
#include "jit/passes/values.h"
#include "tenon/jit/operator.h"
#include "tenon/ops.h"

namespace tenon::jit {
namespace {

constexpr const char *kConvolution = "tenon_quantized::convolution",
                     *kShifted = "tenon_quantized::shifted_convolution",
                     *kRows = "tenon_quantized::product",
                     *kShiftedRows = "tenon_quantized::shifted_product";

// A weight of signed integers, along the dimension of its filters: (integer + shift) * scale.
struct IntegerWeight {
  Tensor integers, scales;  // int8; float64 of shape [1] or [filters]
  int64_t shift = 0;
};

// Integers of uint8 around 128 are those of int8 around 0, others those around a shift. On other
// devices than the CPU integers that are to be shifted are not faster than floats.
std::optional<IntegerWeight> centered(const Tensor& q, const Tensor& scales, const Tensor& zeros) {
  const int64_t middle = q.scalar_type() == kByte ? 128 : 0;
  if (q.scalar_type() != kByte && q.scalar_type() != kChar) return std::nullopt;
  if (!scales.gt(0).all().item<bool>()) return std::nullopt;
  const int64_t zero = zeros.reshape({-1})[0].item<int64_t>();
  if (zeros.ne(zero).any().item<bool>()) return std::nullopt;
  if (zero != middle && !q.device().is_cpu()) return std::nullopt;
  const Tensor integers = middle ? q.to(kInt).sub(middle).to(kChar) : q;
  return IntegerWeight{integers, scales.to(kDouble).reshape({-1}), middle - zero};
}

std::optional<IntegerWeight> weight_of(const Node& n, int64_t filters_dim) {
  if (n.inputs().empty() || !gives_single(n)) return std::nullopt;
  const auto q = tensor_of(n.input(0));
  if (!q) return std::nullopt;
  if (is_step(n, "dequantize_per_tensor")) {
    const auto s = step_of(n);
    if (!s || s->dtype != q->scalar_type()) return std::nullopt;
    return centered(*q, full({1}, s->scale, TensorOptions(kDouble)), full({1}, s->zero, kLong));
  }
  if (!is_step(n, "dequantize_per_channel")) return std::nullopt;
  const auto scales = tensor_of(argument(n, "scales"));
  const auto axis = int_of(argument(n, "axis"));
  const Value* zero = argument(n, "zero_points");
  const auto zeros =
      is_none(zero) ? std::optional(tenon::zeros({1}, TensorOptions(kLong))) : tensor_of(zero);
  if (!scales || !axis || !zeros || (*axis + q->dim()) % q->dim() != filters_dim)
    return std::nullopt;
  if (scales->numel() != q->size(filters_dim)) return std::nullopt;
  return centered(*q, *scales, *zeros);
}

// The upper end of an activation whose lower end is 0; nothing for other nodes.
std::optional<double> upper_end(const Node& n) {
  const std::string kind =
      n.kind().back() == '_' ? n.kind().substr(0, n.kind().size() - 1) : n.kind();
  if (kind == "aten::relu") return HUGE_VAL;
  if (kind == "aten::relu6") return 6;
  const bool clamps = kind == "aten::clamp" || kind == "aten::hardtanh";
  if (!clamps || n.inputs().size() != 3 || !is_number(n.input(1), 0)) return std::nullopt;
  return is_none(n.input(2)) ? HUGE_VAL : number_of(n.input(2));
}
// Whether it exchanges the two dimensions of a matrix.
bool exchanges(const Node& n) {
  if (n.is("aten::t")) return true;
  if (n.is("aten::permute")) return ints_of(n.input(1)) == std::vector<int64_t>{1, 0};
  return n.is("aten::transpose") && int_of(n.input(1)) && int_of(n.input(2)) &&
         (*int_of(n.input(1)) + *int_of(n.input(2)) + 4) % 2 == 1;
}

bool changes_shape(const Node& n) {
  static const std::set<std::string, std::less<>> all{"aten::view", "aten::reshape",
                                                      "aten::flatten"};
  return n.op && all.count(n.kind()) != 0;
}

class QuantizedFusion final : public NodePass {
 public:
  explicit QuantizedFusion(Graph& g) : NodePass(g), facts_(g) {}

 private:
  struct Layer {
    const ProductLayout* layout = nullptr;
    Product product;
    Node* dequantize = nullptr;  // of the input
    Node* view = nullptr;        // between it and the layer, or null
    Step input;
    IntegerWeight weight;
    std::optional<Tensor> bias;
    std::vector<Node*> chain;  // the layer and what follows; the last one gives the result
    bool relu = false;
    std::optional<Step> output;
  };

  void visit(Node& n) override {
    if (!n.owning_block()) return;
    const ProductLayout* l = product_layout(n);
    if (!l) return;
    Layer layer;
    layer.layout = l;
    if (!read(n, layer)) return;
    follow(n, layer);
    replace(n, layer);
  }

  // The node that gave it from integers that nobody writes, and its step.
  Node* dequantized(const Value* v, Step& step) {
    Node* n = v->node();
    if (!is_step(*n, "dequantize_per_tensor") || !gives_single(*n)) return nullptr;
    const auto s = step_of(*n);
    if (!s || facts_.has_writers(n->input(0)) || facts_.has_writers(v)) return nullptr;
    step = *s;
    return n;
  }

  bool read(Node& n, Layer& layer) {
    const ProductLayout& l = *layer.layout;
    Value* x = n.input(static_cast<std::size_t>(l.input));
    if (!l.convolution && changes_shape(*x->node()) && !facts_.has_writers(x)) {
      layer.view = x->node();
      x = layer.view->input(0);
    }
    layer.dequantize = dequantized(x, layer.input);
    if (!layer.dequantize) return false;
    if (n.is("aten::addmm") && !(is_number(n.input(3), 1) && is_number(n.input(4), 1)))
      return false;
    return read_weight(n.input(static_cast<std::size_t>(l.weight)), layer) && read_bias(n, layer);
  }

  bool read_weight(const Value* v, Layer& layer) {
    const ProductLayout& l = *layer.layout;
    bool transposed = l.transposed;  // [in, out]
    const Node* w = v->node();
    if (!l.convolution && w->op && exchanges(*w)) {
      transposed = !transposed;
      w = w->input(0)->node();
    }
    auto weight = weight_of(*w, transposed ? 1 : 0);
    if (!weight || facts_.has_writers(v)) return false;
    if (!l.convolution && weight->integers.dim() != 2) return false;
    if (transposed) weight->integers = weight->integers.t();
    layer.weight = *weight;
    layer.product.weight = layer.weight.integers;
    layer.product.convolution = l.convolution;
    return true;
  }

  bool read_bias(Node& n, Layer& layer) {
    const ProductLayout& l = *layer.layout;
    if (l.convolution && !fill_convolution(n, layer.product)) return false;
    const Value* v = l.bias < 0 ? nullptr : n.input(static_cast<std::size_t>(l.bias));
    return !v || is_none(v) || take_bias(v, layer);
  }
  bool take_bias(const Value* v, Layer& layer) {
    const auto t = known(v);
    const int64_t filters = layer.weight.integers.size(0);
    if (!t || t->dim() != 1 || t->size(0) != filters || !t->is_floating_point()) return false;
    layer.bias = *t;
    return true;
  }
  // A constant, or what dequantize gives of constants.
  std::optional<Tensor> known(const Value* v) {
    if (facts_.has_writers(v)) return std::nullopt;
    if (const auto t = tensor_of(v)) return t;
    const Node& n = *v->node();
    if (!n.op || !dequantizes(n)) return std::nullopt;
    Stack stack;
    for (const Value* in : n.inputs()) {
      const auto c = to_constant(in);
      if (!c) return std::nullopt;
      stack.push_back(*c);
    }
    n.op->call(stack, n.inputs().size());
    return stack.back().toTensor();
  }

  // The addition of a bias, relu and quantize, each the only reader of what is before.
  void follow(Node& n, Layer& layer) {
    layer.chain = {&n};
    for (Node* next = only_user(n.output()); next; next = only_user(next->output())) {
      if (next->outputs().size() != 1 || !next->op || layer.output) return;
      const Value* v = layer.chain.back()->output();
      if (next->is("aten::add") && !layer.layout->convolution && !layer.bias && !layer.relu &&
          next->inputs().size() == 3 && is_number(next->input(2), 1)) {
        if (!take_bias(next->input(next->input(0) == v ? 1 : 0), layer)) return;
      } else if (const auto end = layer.relu ? std::nullopt : upper_end(*next)) {
        const Node* after = only_user(next->output());
        const auto to =
            after && is_step(*after, "quantize_per_tensor") ? step_of(*after) : std::nullopt;
        if (*end != HUGE_VAL && !(to && has_whole_range(*after, *to) && saturates(*to, *end)))
          return;
        layer.relu = true;
      } else if (is_step(*next, "quantize_per_tensor")) {
        const auto to = step_of(*next);
        if (!to || !has_whole_range(*next, *to)) return;
        layer.output = to;
      } else {
        return;
      }
      layer.chain.push_back(next);
    }
  }

  Value* constant(const Node& n, IValue v, const TypePtr& type) {
    return graph_.insert_constant(std::move(v), n.range, type);
  }

  // Products of integers are worth the scales of input and weight.
  std::vector<Value*> numbers(const Node& n, const Layer& layer) {
    const Tensor units = layer.weight.scales * layer.input.scale;
    const Tensor factor = (layer.output ? units / layer.output->scale : units).to(kFloat);
    Value* bias = layer.bias
                      ? constant(n, (layer.bias->to(kDouble) / units).to(kFloat), Type::tensor())
                      : constant(n, IValue(), Type::none());
    return {constant(n, layer.weight.integers.contiguous(), Type::tensor()), bias,
            constant(n, factor, Type::tensor())};
  }
  std::vector<Value*> result(const Node& n, const Layer& layer) {
    const ScalarType dtype = layer.output ? layer.output->dtype : kFloat;
    return {constant(n, layer.input.zero, Type::integer()),
            constant(n, static_cast<int64_t>(dtype), Type::integer()),
            constant(n, layer.output ? layer.output->zero : int64_t{0}, Type::integer()),
            constant(n, layer.relu, Type::boolean())};
  }

  void replace(Node& n, Layer& layer) {
    Node* last = layer.chain.back();
    const Graph::InsertPoint at(graph_, last);
    Value* x = layer.dequantize->input(0);
    if (layer.view) x = insert_on(graph_, *layer.view, x)->output();
    std::vector<Value*> inputs{x};
    for (Value* v : numbers(n, layer)) inputs.push_back(v);
    if (layer.layout->convolution) {
      const Product& p = layer.product;
      for (const auto* list : {&p.stride, &p.padding, &p.dilation})
        inputs.push_back(constant(n, IValue(*list), Type::list(Type::integer())));
      inputs.push_back(constant(n, p.groups, Type::integer()));
    }
    for (Value* v : result(n, layer)) inputs.push_back(v);
    const char* kind = layer.layout->convolution ? kConvolution : kRows;
    if (layer.weight.shift != 0) {
      kind = layer.layout->convolution ? kShifted : kShiftedRows;
      inputs.push_back(constant(n, layer.weight.shift, Type::integer()));
    }
    Node* made = insert_call(graph_, kind, inputs, n);
    last->output()->replace_all_uses_with(made->output());
    for (auto it = layer.chain.rbegin(); it != layer.chain.rend(); ++it) (*it)->destroy();
    changed_ = true;
  }

  AliasFacts facts_;
};

}  // namespace

bool fuse_quantized(Graph& g) {
  if (!find_operator(kConvolution) || !find_operator(kRows)) return false;
  const bool moved = move_quantized(g);
  return QuantizedFusion(g).run() || moved;
}

}  // namespace tenon::jit
