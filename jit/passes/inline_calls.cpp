// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/language/composed.h"
#include "jit/passes/passes.h"
#include "jit/passes/values.h"
#include "tenon/jit/unit.h"

namespace tenon::jit {
namespace {

constexpr std::size_t kMaxNodes = 200000;
constexpr std::size_t kMaxDepth = 200;

// What a node calls; null: no call, or one that is known only when it runs.
Function* callee(const Node& n) {
  if (n.is("prim::CallFunction")) return n.function;
  if (!n.is("prim::CallMethod")) return nullptr;
  const ClassType* cls = as_class(n.input(0)->type());
  return cls ? cls->find_method(n.s("name")) : nullptr;
}

class Inliner {
 public:
  Inliner(Graph& g, bool keep_operators)
      : graph_(g), keep_operators_(keep_operators), size_(count_nodes(*g.block())) {}

  void block(Block& b) { range(b.param_node()->next(), b.return_node()); }

 private:
  void range(Node* n, const Node* end) {
    while (n != end) {
      Node* next = n->next();
      for (Block* inner : n->blocks()) block(*inner);
      if (Function* f = callee(*n)) call(*n, *f);
      n = next;
    }
  }

  void call(Node& n, Function& f) {
    if (const char* op = keep_operators_ ? language::composed_operator(f) : nullptr)
      return use_operator(n, op);
    bool recursive = std::find(active_.begin(), active_.end(), &f) != active_.end();
    if (recursive || f.is_being_defined() || active_.size() == kMaxDepth) return;
    const Graph& body = *f.graph();
    if (&body == &graph_ || body.inputs().size() != n.inputs().size() ||
        body.outputs().size() > 1 || n.outputs().size() != 1)
      return;
    std::size_t nodes = count_nodes(*body.block());
    if (size_ + nodes > kMaxNodes) return;
    size_ += nodes;
    expand(n, f, body);
  }

  // Several results are a tuple of the function.
  void use_operator(Node& n, const char* name) {
    const Graph::InsertPoint at(graph_, &n);
    Node* made = insert_call(graph_, name, n.inputs(), n);
    for (std::size_t k = 1; k < made->op->schema.returns.size(); ++k) made->add_output();
    for (std::size_t k = 0; k < made->outputs().size(); ++k)
      made->output(k)->set_type(made->op->schema.returns[k].type);
    Value* result = made->output(0);
    if (made->outputs().size() > 1) {
      result = graph_.insert(graph_.create("prim::TupleConstruct", made->outputs()))->output();
      result->set_type(n.output()->type());
    }
    n.output()->replace_all_uses_with(result);
    n.destroy();
  }

  void expand(Node& n, Function& f, const Graph& body) {
    std::map<const Value*, Value*> map;
    for (std::size_t i = 0; i < n.inputs().size(); ++i) map[body.inputs()[i]] = n.input(i);
    Node* before = n.prev();
    Value* result;
    {
      Graph::InsertPoint at(graph_, &n);
      std::vector<Value*> results = graph_.inline_block(*body.block(), map);
      result = results.empty() ? graph_.insert_constant(IValue(), n.range) : results[0];
    }
    n.output()->replace_all_uses_with(result);
    active_.push_back(&f);
    range(before->next(), &n);
    active_.pop_back();
    n.destroy();
  }

  Graph& graph_;
  bool keep_operators_;
  std::size_t size_;
  std::vector<const Function*> active_;
};

}  // namespace

void inline_calls(Graph& g, bool keep_operators) { Inliner(g, keep_operators).block(*g.block()); }

}  // namespace tenon::jit
