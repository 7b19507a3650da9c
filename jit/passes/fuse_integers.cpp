// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions of integers that are written in float64, as ONNX's ConvInteger is read, become
// convolutions of integers:
//   to(convolution(to(x, float64) - to(zero, float64), weight), int32)
// is one tenon_quantized::integer_convolution. What x and zero are is seen when it runs: if they
// are not 8-bit integers and one of them, it computes what the nodes did.
#include "jit/ir/alias.h"
#include "jit/passes/node_pass.h"
#include "jit/passes/passes.h"
#include "jit/passes/product.h"
#include "jit/passes/values.h"
#include "tenon/jit/operator.h"
#include "tenon/ops.h"

namespace tenon::jit {
namespace {

constexpr const char* kIntegers = "tenon_quantized::integer_convolution";

bool converts(const Node& n, ScalarType dtype) {
  return n.is("aten::to") && n.inputs().size() == 5 &&
         int_of(n.input(1)) == static_cast<int64_t>(dtype);
}

// int8, and what each is to be raised by.
struct ShiftedWeight {
  Tensor integers;
  int64_t shift = 0;
};

std::optional<ShiftedWeight> shifted(const Tensor& weight) {
  if (weight.scalar_type() != kDouble || !weight.device().is_cpu() || weight.numel() == 0 ||
      !weight.eq(weight.round()).all().item<bool>())
    return std::nullopt;
  const double low = weight.min().item<double>(), high = weight.max().item<double>();
  if (high - low > 255 || low < -255 || high > 255) return std::nullopt;
  const int64_t shift = static_cast<int64_t>(high > 127 ? high - 127 : low < -128 ? low + 128 : 0);
  return ShiftedWeight{(weight - shift).to(kChar), shift};
}

class IntegerFusion final : public NodePass {
 public:
  explicit IntegerFusion(Graph& g) : NodePass(g), facts_(g) {}

 private:
  void visit(Node& n) override {
    if (!n.owning_block() || !converts(n, kInt)) return;
    Node& layer = *n.input(0)->node();
    if (!layer.is("aten::convolution") || !layer.op || only_user(layer.output()) != &n ||
        !is_none(argument(layer, "bias")) || facts_.has_writers(layer.output()))
      return;
    const auto weight = known(layer.input(1));
    if (!weight) return;
    Product p;
    p.weight = *weight;
    const auto small = fill_convolution(layer, p) ? shifted(*weight) : std::nullopt;
    Value *x = nullptr, *zero = nullptr;
    if (small && read_input(layer.input(0), x, zero)) replace(n, layer, p, *small, x, zero);
  }

  // A constant, or what is left of `to(constant) - zero` because it is larger than its bytes.
  std::optional<Tensor> known(const Value* v) const {
    if (facts_.has_writers(v)) return std::nullopt;
    if (const auto t = tensor_of(v)) return t;
    const Node& n = *v->node();
    if (!converts(n, kDouble) && !(n.is("aten::sub") && n.inputs().size() == 3))
      return std::nullopt;
    const auto first = known(n.input(0));
    if (!first || !n.op) return std::nullopt;
    Stack stack{*first};
    for (std::size_t i = 1; i < n.inputs().size(); ++i) {
      const auto c = to_constant(n.input(i));
      if (!c) return std::nullopt;
      stack.push_back(*c);
    }
    n.op->call(stack, n.inputs().size());
    return stack.back().toTensor();
  }

  // What is converted to float64; null if it is not.
  Value* integers(Value* v) const {
    Node& n = *v->node();
    if (!converts(n, kDouble) || facts_.has_writers(v) || facts_.has_writers(n.input(0)))
      return nullptr;
    return n.input(0);
  }
  bool read_input(Value* v, Value*& x, Value*& zero) const {
    const Node& n = *v->node();
    if (!n.is("aten::sub")) return (x = integers(v)) != nullptr;
    if (n.inputs().size() != 3 || !is_number(n.input(2), 1) || facts_.has_writers(v)) return false;
    x = integers(n.input(0));
    zero = n.input(1);
    if (tensor_of(zero)) return x && !facts_.has_writers(zero);
    zero = integers(zero);
    return x && zero;
  }

  void replace(Node& n, const Node& layer, const Product& p, const ShiftedWeight& weight, Value* x,
               Value* zero) {
    const Graph::InsertPoint at(graph_, &n);
    const auto constant = [&](IValue v, const TypePtr& type) {
      return graph_.insert_constant(std::move(v), n.range, type);
    };
    std::vector<Value*> inputs{x, zero ? zero : constant(IValue(), Type::none()),
                               constant(weight.integers.contiguous(), Type::tensor()),
                               constant(weight.shift, Type::integer())};
    for (const auto* list : {&p.stride, &p.padding, &p.dilation})
      inputs.push_back(constant(IValue(*list), Type::list(Type::integer())));
    inputs.push_back(constant(p.groups, Type::integer()));
    n.output()->replace_all_uses_with(insert_call(graph_, kIntegers, inputs, layer)->output());
    n.destroy();
    changed_ = true;
  }

  AliasFacts facts_;
};

}  // namespace

bool fuse_integers(Graph& g) { return find_operator(kIntegers) && IntegerFusion(g).run(); }

}  // namespace tenon::jit
