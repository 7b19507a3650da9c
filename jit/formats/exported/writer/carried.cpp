// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Branches and loops by data that write to a tensor of outside. The file's cond and while_loop only
// compute: each block works on a copy, which is a result of the branch or carried by the loop, and
// what comes later takes that result.
#include <algorithm>
#include <functional>

#include "jit/formats/exported/writer/program_writer.h"
#include "jit/passes/nodes.h"

namespace tenon::jit::formats {
namespace {

bool may_give_view(const Node& n) { return !n.op || gives_view(n); }

// Where the views lead that nodes in `b` write, if that is outside of n.
void add_written(const Block& b, const Node& n, std::vector<Value*>& to) {
  for (const Node* w : b.nodes()) {
    for (const Block* inner : w->blocks()) add_written(*inner, n, to);
    for (std::size_t k = 0; w->op && k < w->op->schema.arguments.size(); ++k) {
      if (!w->op->schema.arguments[k].alias.write) continue;
      Value* v = w->input(k);
      if (v->type()->is(TypeKind::List)) continue;
      while (is_in(v->node(), n) && may_give_view(*v->node()) && !v->node()->inputs().empty())
        v = v->node()->input(0);
      if (!is_in(v->node(), n) && std::find(to.begin(), to.end(), v) == to.end()) to.push_back(v);
    }
  }
}

// It has memory of its own, made beside n, that no other value shows.
bool has_one_name(const Value& v, const Node& n, bool is_own) {
  const Node& maker = *v.node();
  if (!v.type()->is(TypeKind::Tensor) || maker.owning_block() != n.owning_block() ||
      (may_give_view(maker) && !is_own))
    return false;
  return std::all_of(v.uses().begin(), v.uses().end(), [&](const Use& u) {
    const Node& user = *u.user;
    if (&user == &n) return false;
    if (is_in(&user, n) || is_after(&user, n) || !may_give_view(user)) return true;
    return user.op && std::all_of(user.outputs().begin(), user.outputs().end(),
                                  [](const Value* o) { return o->uses().empty(); });
  });
}

void replace_uses(Value* v, Value* by, const std::function<bool(const Node*)>& of) {
  for (const Use& u : std::vector<Use>(v->uses()))
    if (of(u.user)) u.user->replace_input(u.index, by);
}

Value* copy_at_begin(Block& b, Value* v) {
  Graph& graph = *b.graph();
  const Graph::InsertPoint at(graph, b.param_node()->next());
  Node* n = graph.insert(graph.create("aten::clone", {v, graph.insert_constant(IValue())}));
  n->op = find_operator("aten::clone");
  return n->output()->set_type(Type::tensor());
}

}  // namespace

void ProgramWriter::carry_writes(Node& n) {
  std::vector<Value*> written;
  for (const Block* b : n.blocks()) add_written(*b, n, written);
  for (const Value* v : written)
    if (!has_one_name(*v, n, carried_.count(v) != 0)) return;
  for (Value* v : written) {
    const bool loop = n.is("prim::Loop");
    for (Block* b : n.blocks()) {
      Value* from = loop ? b->add_input("", Type::tensor()) : v;
      Value* copy = copy_at_begin(*b, from);
      replace_uses(v, copy,
                   [&](const Node* user) { return user != copy->node() && is_in(user, *b); });
      b->register_output(copy);
    }
    if (loop) n.add_input(v);
    Value* after = n.add_output(Type::tensor());
    carried_.insert(after);
    replace_uses(v, after, [&](const Node* user) { return is_after(user, n); });
  }
}

}  // namespace tenon::jit::formats
