// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pointwise operators between dequantize and quantize. What is a function of one tensor of bytes
// is a table of 256 integers, computed here; a sum or product of two is one operator:
//   quantize(silu(dequantize(x)))                               aten::_byte_table
//   quantize(relu(add(dequantize(x), dequantize(y))))           aten::_quantized_add
// Tables give the same integers as the operators that they replace. A processor may round the
// product and the sum at once: in the middle between two integers another one may come out.
#include <algorithm>
#include <set>
#include <unordered_map>
#include <vector>

#include "jit/ir/alias.h"
#include "jit/passes/node_pass.h"
#include "jit/passes/passes.h"
#include "jit/passes/quantized_step.h"
#include "jit/passes/values.h"
#include "tenon/jit/operator.h"
#include "tenon/ops.h"

namespace tenon::jit {
namespace {

// Each element of the result depends on the same element of tensors and on numbers.
bool is_pointwise(const Node& n) {
  static const std::set<std::string, std::less<>> all{
      "aten::relu",       "aten::relu6",    "aten::sigmoid",   "aten::tanh",
      "aten::silu",       "aten::gelu",     "aten::hardswish", "aten::hardsigmoid",
      "aten::hardtanh",   "aten::clamp",    "aten::clamp_min", "aten::clamp_max",
      "aten::leaky_relu", "aten::elu",      "aten::celu",      "aten::selu",
      "aten::mish",       "aten::softplus", "aten::threshold", "aten::log_sigmoid",
      "aten::abs",        "aten::neg",      "aten::sign",      "aten::erf",
      "aten::exp",        "aten::expm1",    "aten::log",       "aten::log1p",
      "aten::sqrt",       "aten::rsqrt",    "aten::square",    "aten::reciprocal",
      "aten::sin",        "aten::cos",      "aten::floor",     "aten::ceil",
      "aten::round",      "aten::pow",      "aten::add",       "aten::sub",
      "aten::rsub",       "aten::mul",      "aten::div",       "aten::maximum",
      "aten::minimum"};
  return n.op && n.outputs().size() == 1 && n.blocks().empty() && all.count(n.kind()) != 0;
}

// The integers of a step, from the lowest.
Tensor every_integer(const Step& s) {
  return arange(s.lowest(), s.lowest() + 256, TensorOptions(kLong)).to(s.dtype);
}

class PointwiseFusion final : public NodePass {
 public:
  explicit PointwiseFusion(Graph& g) : NodePass(g), facts_(g) {}

 private:
  struct Source {
    Value* integers;
    Step step;
  };
  // What a quantize node computes, back to where tensors are dequantized.
  struct Region {
    std::vector<Node*> nodes;  // in order
    std::unordered_map<const Value*, Source> sources;
    bool is_table() const {
      const Source& first = sources.begin()->second;
      return std::all_of(sources.begin(), sources.end(), [&](const auto& s) {
        return s.second.integers == first.integers && s.second.step == first.step;
      });
    }
    bool contains(const Node* n) const {
      return std::find(nodes.begin(), nodes.end(), n) != nodes.end();
    }
  };

  void visit(Node& n) override {
    const auto to = is_step(n, "quantize_per_tensor") ? step_of(n) : std::nullopt;
    if (!to || !has_whole_range(n, *to)) return;
    Region region;
    if (!collect(n.input(0), region) || region.sources.empty()) return;
    if (!stays_inside(region, n)) return;
    Value* result = region.is_table() ? look_up(region, n, *to) : combine(region, n, *to);
    if (!result) return;
    facts_.replaced(n.output(), result);
    n.output()->replace_all_uses_with(result);
    n.destroy();
    for (auto it = region.nodes.rbegin(); it != region.nodes.rend(); ++it) (*it)->destroy();
    changed_ = true;
  }

  // False where the value is computed in another way.
  bool collect(Value* v, Region& region) {
    constexpr std::size_t kMaxNodes = 32;
    Node* n = v->node();
    if (region.sources.count(v) != 0 || region.contains(n)) return true;
    if (const auto c = to_constant(v)) return !c->isTensor() || c->toTensor().dim() == 0;
    if (facts_.has_writers(v)) return false;
    if (is_step(*n, "dequantize_per_tensor")) {
      const auto step = step_of(*n);
      if (!step || !gives_single(*n) || facts_.has_writers(n->input(0))) return false;
      region.sources.emplace(v, Source{n->input(0), *step});
      return true;
    }
    if (!is_pointwise(*n) || region.nodes.size() == kMaxNodes) return false;
    for (Value* in : n->inputs())
      if (!collect(in, region)) return false;
    region.nodes.push_back(n);
    return true;
  }

  bool stays_inside(const Region& region, const Node& end) const {
    return std::all_of(region.nodes.begin(), region.nodes.end(), [&](const Node* n) {
      const auto& uses = n->output()->uses();
      return std::all_of(uses.begin(), uses.end(),
                         [&](const Use& u) { return u.user == &end || region.contains(u.user); });
    });
  }

  // What the nodes give for all integers; nothing where it is not a number for each.
  static std::optional<Tensor> numbers_of(const Region& region) {
    std::unordered_map<const Value*, IValue> known;
    const Step& s = region.sources.begin()->second.step;
    const Tensor all = tenon::_dequantize(every_integer(s), s.scale, s.zero);
    for (const auto& [v, source] : region.sources) known.emplace(v, all);
    for (const Node* n : region.nodes) {
      Stack stack;
      for (const Value* in : n->inputs()) {
        const auto it = known.find(in);
        stack.push_back(it != known.end() ? it->second : *to_constant(in));
      }
      n->op->call(stack, n->inputs().size());
      known[n->output()] = stack.back();
    }
    const IValue last = region.nodes.empty() ? all : known.at(region.nodes.back()->output());
    if (!last.isTensor()) return std::nullopt;
    const Tensor& t = last.toTensor();
    if (t.scalar_type() != kFloat || t.sizes() != all.sizes()) return std::nullopt;
    return t;
  }

  Value* look_up(const Region& region, Node& n, const Step& to) {
    const auto numbers = numbers_of(region);
    if (!numbers) return nullptr;
    const Graph::InsertPoint at(graph_, &n);
    const Tensor table = tenon::_quantize(*numbers, 1.0 / to.scale, to.zero, to.dtype);
    Value* constant = graph_.insert_constant(table, n.range, Type::tensor());
    return insert_call(graph_, "aten::_byte_table",
                       {region.sources.begin()->second.integers, constant}, n)
        ->output();
  }

  // One sum or product of both, and relu.
  Value* combine(const Region& region, Node& n, const Step& to) {
    if (region.nodes.empty() || region.nodes.size() > 2) return nullptr;
    const Node& first = *region.nodes.front();
    const bool sum = first.is("aten::add"), relu = region.nodes.size() == 2;
    if (!sum && !first.is("aten::mul")) return nullptr;
    if (relu && !region.nodes.back()->is("aten::relu")) return nullptr;
    if (sum && !(first.inputs().size() == 3 && is_number(first.input(2), 1))) return nullptr;
    const auto a = region.sources.find(first.input(0)), b = region.sources.find(first.input(1));
    if (a == region.sources.end() || b == region.sources.end()) return nullptr;
    const Graph::InsertPoint at(graph_, &n);
    const auto number = [&](double v) {
      return graph_.insert_constant(v, n.range, Type::floating());
    };
    const auto integer = [&](int64_t v) {
      return graph_.insert_constant(v, n.range, Type::integer());
    };
    const Source &x = a->second, &y = b->second;
    return insert_call(graph_, sum ? "aten::_quantized_add" : "aten::_quantized_mul",
                       {x.integers, y.integers, number(x.step.scale), integer(x.step.zero),
                        number(y.step.scale), integer(y.step.zero), number(1.0 / to.scale),
                        integer(to.zero), integer(static_cast<int64_t>(to.dtype)),
                        graph_.insert_constant(relu, n.range, Type::boolean())},
                       n)
        ->output();
  }

  AliasFacts facts_;
};

}  // namespace

bool fuse_quantized_pointwise(Graph& g) { return PointwiseFusion(g).run(); }

}  // namespace tenon::jit
