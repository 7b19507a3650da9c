// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What only moves, picks or joins numbers between dequantize and quantize moves integers:
//   quantize(reshape(permute(dequantize(x))))      reshape(permute(x)), where the steps are one
//   quantize(cat([dequantize(x), dequantize(y)]))  cat([x, quantize(dequantize(y))])
// Tensors of another step are quantized before they are joined, and after they were moved; each
// number on its own becomes the same integer.
#include <optional>
#include <set>
#include <vector>

#include "jit/ir/alias.h"
#include "jit/passes/node_pass.h"
#include "jit/passes/quantized_step.h"
#include "jit/passes/values.h"
#include "tenon/jit/operator.h"

namespace tenon::jit {
namespace {

bool moves_or_picks(const Node& n) {
  static const std::set<std::string, std::less<>> all{"aten::view",
                                                      "aten::reshape",
                                                      "aten::flatten",
                                                      "aten::unflatten",
                                                      "aten::permute",
                                                      "aten::transpose",
                                                      "aten::t",
                                                      "aten::unsqueeze",
                                                      "aten::squeeze",
                                                      "aten::slice",
                                                      "aten::select",
                                                      "aten::narrow",
                                                      "aten::expand",
                                                      "aten::contiguous",
                                                      "aten::channel_shuffle",
                                                      "aten::pixel_shuffle",
                                                      "aten::max_pool2d",
                                                      "aten::pixel_unshuffle"};
  return n.op && n.outputs().size() == 1 && all.count(n.kind()) != 0;
}

class IntegerMoves final : public NodePass {
 public:
  explicit IntegerMoves(Graph& g) : NodePass(g), facts_(g) {}

 private:
  // What a value is made of.
  struct Source {
    Step step;
    bool fresh = false, moved = false;  // no view of integers from elsewhere; behind some node
  };
  // Integers in the place of a value, and the node that gave numbers of the first of them.
  struct Integers {
    Value* value;
    const Node* dequantize;
    Step step;
  };

  void visit(Node& n) override {
    if (!n.owning_block() || !is_step(n, "quantize_per_tensor")) return;
    const auto to = step_of(n);
    if (!to || !has_whole_range(n, *to)) return;
    const auto from = source(n.input(0), n, *to);
    if (!from) return;
    // The result was fresh: what is not may take its place only where nobody writes it and it stays
    // inside.
    const bool shared = facts_.has_writers(n.output()) || facts_.escapes(n.output()),
               serves = from->step == *to && (from->fresh || !shared);
    if (!serves && !from->moved) return;
    const Graph::InsertPoint at(graph_, &n);
    const Integers made = moved(n.input(0), n, *to);
    Value* result = serves ? made.value : quantized(made, n);
    facts_.replaced(n.output(), result);
    n.output()->replace_all_uses_with(result);
    n.destroy();
    changed_ = true;
  }

  // The node that gave it from integers that nobody writes.
  const Node* dequantized(const Value* v) const {
    const Node* n = v->node();
    const bool plain = is_step(*n, "dequantize_per_tensor") && gives_single(*n) && step_of(*n);
    return plain && !facts_.has_writers(n->input(0)) && !facts_.has_writers(v) ? n : nullptr;
  }

  // Nothing where `v` is not made of integers by what may move them, or is used elsewhere, too.
  std::optional<Source> source(const Value* v, const Node& user, const Step& to) const {
    if (const Node* d = dequantized(v)) return Source{*step_of(*d)};
    const Node& n = *v->node();
    if (only_user(v) != &user || facts_.has_writers(v)) return std::nullopt;
    if (n.is("aten::cat")) return joined_source(n, to);
    if (!moves_or_picks(n)) return std::nullopt;
    auto from = source(n.input(0), n, to);
    if (!from) return std::nullopt;
    return Source{from->step, from->fresh || n.is("aten::max_pool2d"), true};
  }
  std::optional<Source> joined_source(const Node& cat, const Step& to) const {
    const Node& list = *cat.input(0)->node();
    if (!list.is("prim::ListConstruct") || list.inputs().empty()) return std::nullopt;
    if (only_user(cat.input(0)) != &cat) return std::nullopt;
    for (const Value* v : list.inputs())
      if (!source(v, list, to)) return std::nullopt;
    return Source{to, true, true};
  }

  Value* quantized(const Integers& x, const Node& quantize) {
    return insert_on(graph_, quantize, insert_on(graph_, *x.dequantize, x.value)->output())
        ->output();
  }

  // Where source() found something. `quantize` has the step `to`.
  Integers moved(Value* v, const Node& quantize, const Step& to) {
    if (const Node* d = dequantized(v)) return {d->input(0), d, *step_of(*d)};
    const Node& n = *v->node();
    if (!n.is("aten::cat")) {
      const Integers from = moved(n.input(0), quantize, to);
      return {insert_on(graph_, n, from.value)->output(), from.dequantize, from.step};
    }
    std::vector<Value*> parts;
    const Node* dequantize = nullptr;
    for (Value* part : n.input(0)->node()->inputs()) {
      const Integers x = moved(part, quantize, to);
      parts.push_back(x.step == to ? x.value : quantized(x, quantize));
      dequantize = x.dequantize;
    }
    Node* list = graph_.create("prim::ListConstruct", parts);
    list->range = n.range;
    list->output()->set_type(n.input(0)->type());
    graph_.insert(list);
    return {insert_on(graph_, n, list->output())->output(), dequantize, to};
  }

  AliasFacts facts_;
};

}  // namespace

bool move_quantized(Graph& g) { return IntegerMoves(g).run(); }

}  // namespace tenon::jit
