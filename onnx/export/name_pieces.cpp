// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pieces of a tensor (split, chunk, unbind) that the program writes to, or whose tensor it writes
// to, become views of their own: slices and selected indices, of which a write knows where it goes.
// So do elements of a list that it writes to.
#include "jit/passes/nodes.h"
#include "jit/passes/passes.h"
#include "onnx/export/exporter.h"
#include "tenon/jit/operator.h"

namespace tenon::onnx::exporting {
namespace {

using jit::Graph;
using jit::Node;
using jit::TypeKind;
using jit::Value;

bool is_split(const Node& n) {
  static const std::set<std::string, std::less<>> kSplits = {
      "aten::split", "aten::split_with_sizes", "aten::chunk", "aten::unbind"};
  return kSplits.count(n.kind()) != 0;
}

bool gives_views(const Node& n) {
  if (n.is("prim::ListUnpack") || n.is("aten::__getitem__") || is_split(n)) return true;
  return n.op && !n.op->schema.returns.empty() && !n.op->schema.returns[0].alias.set.empty();
}

const Value* whole_of(const Value* v) {
  while (gives_views(*v->node()) && !v->node()->inputs().empty()) v = v->node()->input(0);
  return v;
}
// Itself, or through its views.
bool is_written(const Value& v, std::set<const Value*>& seen) {
  if (!seen.insert(&v).second) return false;
  for (const jit::Use& u : v.uses()) {
    if (u.index != 0) continue;
    if (jit::writes_tensor(*u.user, static_cast<std::size_t>(u.index))) return true;
    if (!gives_views(*u.user)) continue;
    for (const Value* view : u.user->outputs())
      if (is_written(*view, seen)) return true;
  }
  return false;
}

// Which pieces, and who has them; empty if the list goes elsewhere, too.
std::map<Value*, int64_t> pieces_of(const Value& list) {
  std::map<Value*, int64_t> pieces;
  for (const jit::Use& u : list.uses()) {
    if (u.user->is("prim::ListUnpack")) {
      for (std::size_t k = 0; k < u.user->outputs().size(); ++k)
        pieces[u.user->output(k)] = static_cast<int64_t>(k);
      continue;
    }
    const bool item = u.user->is("aten::__getitem__") && u.index == 0;
    const std::optional<IValue> at = item ? jit::to_constant(u.user->input(1)) : std::nullopt;
    if (!at || at->toInt() < 0) return {};
    pieces[u.user->output()] = at->toInt();
  }
  return pieces;
}

class Pieces {
 public:
  Pieces(Graph& graph, const Node& split) : graph_(graph), split_(split) {}

  // Null if it cannot be told where piece k lies.
  Value* view(int64_t k) {
    if (split_.is("aten::unbind")) return one("aten::select", "int", {x(), dim(1), number(k)});
    if (split_.is("aten::split_with_sizes") || has_sizes()) {
      const std::optional<IValue> sizes = jit::to_constant(split_.input(1));
      if (!sizes || k >= static_cast<int64_t>(sizes->toIntVector().size())) return nullptr;
      const std::vector<int64_t> all = sizes->toIntVector();
      int64_t start = 0;
      for (int64_t i = 0; i < k; ++i) start += all[static_cast<std::size_t>(i)];
      return slice(number(start), number(start + all[static_cast<std::size_t>(k)]), dim(2));
    }
    Value* step = split_.input(1);
    if (split_.is("aten::chunk")) {  // rounded up
      Value* minus = one("aten::neg", "int", {one("aten::size", "int", {x(), dim(2)})});
      step = one("aten::neg", "int", {one("aten::floordiv", "int", {minus, step})});
    }
    return slice(one("aten::mul", "int", {step, number(k)}),
                 one("aten::mul", "int", {step, number(k + 1)}), dim(2));
  }

 private:
  Value* x() const { return split_.input(0); }
  Value* dim(std::size_t k) const { return split_.input(k); }
  Value* number(int64_t n) { return graph_.insert_constant(n, split_.range); }
  bool has_sizes() const { return split_.input(1)->type()->is(TypeKind::List); }
  Value* slice(Value* start, Value* end, Value* d) {
    return one("aten::slice", "Tensor", {x(), d, start, end, number(1)});
  }
  Value* one(const std::string& name, const char* overload, const std::vector<Value*>& inputs) {
    Node* n = graph_.insert(graph_.create(name, inputs));
    n->range = split_.range;
    n->op = jit::find_operator(name + "." + overload);
    n->output()->set_type(n->op->schema.returns.at(0).type);
    return n->output();
  }

  Graph& graph_;
  const Node& split_;
};

// Null: the element is not known, or the list changes.
Value* element_of(const Value& list, int64_t k) {
  const Node& maker = *list.node();
  if (!maker.is("prim::ListConstruct") || !is_only_name(list)) return nullptr;
  for (const jit::Use& u : list.uses())
    if (u.index == 0 && changes_list(*u.user)) return nullptr;
  const auto n = static_cast<int64_t>(maker.inputs().size());
  const int64_t at = k < 0 ? k + n : k;
  return at < 0 || at >= n ? nullptr : maker.input(static_cast<std::size_t>(at));
}

// Nobody takes the list as a whole, whose elements would not be those views.
bool is_taken_apart(const Value& list) {
  return std::all_of(list.uses().begin(), list.uses().end(), [](const jit::Use& u) {
    const Node& n = *u.user;
    return u.index == 0 &&
           (n.is("aten::__getitem__") || n.is("aten::len") || n.is("prim::ListUnpack"));
  });
}

// list[k] of constants.
void name_element(Graph& graph, Node& n) {
  const std::optional<IValue> at = jit::to_constant(n.input(1));
  if (!at || !at->isInt() || !n.output()->type()->is(TypeKind::Tensor)) return;
  const Value& list = *n.input(0);
  const bool split = is_split(*list.node()) && is_taken_apart(list) && at->toInt() >= 0;
  const Value* whole = split ? whole_of(&list) : n.output();
  std::set<const Value*> seen;
  if (!is_written(*whole, seen)) return;
  const jit::Graph::InsertPoint before(graph, &n);
  Value* known = element_of(list, at->toInt());
  if (!known && split) known = Pieces(graph, *list.node()).view(at->toInt());
  if (!known) return;
  n.output()->replace_all_uses_with(known);
  n.destroy();
}

void look(Graph& graph, jit::Block& b) {
  for (Node* n : b.nodes()) {
    for (jit::Block* inner : n->blocks()) look(graph, *inner);
    if (n->is("aten::__getitem__")) {
      name_element(graph, *n);
      continue;
    }
    if (!is_split(*n)) continue;
    std::set<const Value*> seen;
    if (!is_written(*whole_of(n->output()), seen)) continue;
    const jit::Graph::InsertPoint at(graph, n);
    Pieces pieces(graph, *n);
    for (const auto& [piece, k] : pieces_of(*n->output()))
      if (Value* view = pieces.view(k)) piece->replace_all_uses_with(view);
  }
}

}  // namespace

void name_pieces(Graph& graph, Node* from, Node* to) {
  for (Node* n = from; n != to;) {
    Node* next = n->next();
    for (jit::Block* inner : n->blocks()) look(graph, *inner);
    if (n->is("aten::__getitem__")) name_element(graph, *n);
    n = next;
  }
}
void name_pieces(Graph& graph) {
  look(graph, *graph.block());
  jit::eliminate_dead_code(graph);
}

}  // namespace tenon::onnx::exporting
