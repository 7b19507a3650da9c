// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes in branches and loops to tensors of outside. The program is changed before these are
// written: each block works on a copy of its own, which is a result of the branch or carried by the
// loop, and what comes later takes that result. Copies are Identity nodes of the model.
#include "jit/passes/nodes.h"
#include "onnx/export/exporter.h"
#include "tenon/jit/operator.h"

namespace tenon::onnx::exporting {
namespace {

using jit::Block;
using jit::Graph;
using jit::is_after;
using jit::is_in;
using jit::Node;
using jit::TypeKind;
using jit::Value;
using NewNames = std::map<const Value*, Value*>;

bool is_used_after(const Value& v, const Node& n) {
  return std::any_of(v.uses().begin(), v.uses().end(),
                     [&n](const jit::Use& u) { return is_after(u.user, n); });
}
bool is_used_in(const Value& v, const Node& n) {
  return std::any_of(v.uses().begin(), v.uses().end(),
                     [&n](const jit::Use& u) { return is_in(u.user, n); });
}

// What it may be a view of; null: it has memory of its own, or nothing is known.
Value* viewed_value(const Value& v) {
  const Node& maker = *v.node();
  if (maker.inputs().empty()) return nullptr;
  if (maker.is("prim::unchecked_cast") || maker.is("prim::ListUnpack")) return maker.input(0);
  const auto at = static_cast<std::size_t>(v.offset());
  const bool view = maker.op && at < maker.op->schema.returns.size() &&
                    !maker.op->schema.returns[at].alias.set.empty();
  return view ? maker.input(0) : nullptr;
}

// Where the views lead that nodes in `b` write: values of outside of n, and parameters of blocks.
void add_written(const Block& b, const Node& n, std::vector<Value*>& to) {
  for (const Node* w : b.nodes()) {
    for (const Block* inner : w->blocks()) add_written(*inner, n, to);
    for (std::size_t k = 0; k < w->inputs().size(); ++k) {
      if (!jit::writes_tensor(*w, k)) continue;
      Value* v = w->input(k);
      while (Value* of = is_in(v->node(), n) ? viewed_value(*v) : nullptr) v = of;
      if (std::find(to.begin(), to.end(), v) == to.end()) to.push_back(v);
    }
  }
}

// Whether the value, which is of a block of n, may show memory that one of the names shows.
bool may_show(const Value& v, const Node& n, const std::set<const Value*>& names,
              std::set<const Value*>& seen) {
  if (names.count(&v)) return true;
  if (!seen.insert(&v).second || !is_in(v.node(), n)) return false;
  const Node& maker = *v.node();
  if (const Value* of = viewed_value(v)) return may_show(*of, n, names, seen);
  const auto shows = [&](const Value* from) { return may_show(*from, n, names, seen); };
  const auto at = static_cast<std::size_t>(v.offset());
  if (maker.is("prim::If"))
    return shows(maker.block(0)->outputs()[at]) || shows(maker.block(1)->outputs()[at]);
  if (maker.is("prim::Loop"))
    return shows(maker.input(at + 2)) || shows(maker.block(0)->outputs()[at + 1]);
  if (!maker.op) return std::any_of(maker.inputs().begin(), maker.inputs().end(), shows);
  return false;
}

// Whether a node of the block puts one of the names into a list or an attribute.
bool keeps_name(const Block& b, const Node& n, const std::set<const Value*>& names) {
  for (const Node* m : b.nodes()) {
    for (const Block* inner : m->blocks())
      if (keeps_name(*inner, n, names)) return true;
    if (!changes_list(*m) && !m->is("prim::SetAttr")) continue;
    for (std::size_t k = 1; k < m->inputs().size(); ++k)
      if (std::set<const Value*> seen; may_show(*m->input(k), n, names, seen)) return true;
  }
  return false;
}
std::ptrdiff_t count_shown(const Block& b, const Node& n, const std::set<const Value*>& names) {
  return std::count_if(b.outputs().begin(), b.outputs().end(), [&](const Value* v) {
    std::set<const Value*> seen;
    return may_show(*v, n, names, seen);
  });
}

// By somebody who uses it, or a view of it.
bool is_written(const Value& v) {
  return std::any_of(v.uses().begin(), v.uses().end(), [&](const jit::Use& u) {
    if (jit::writes_tensor(*u.user, static_cast<std::size_t>(u.index))) return true;
    const auto& outputs = u.user->outputs();
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](const Value* o) { return viewed_value(*o) == &v && is_written(*o); });
  });
}

bool shows(const IValue& v, const Tensor& memory) {
  return v.isTensor() && v.toTensor().defined() && v.toTensor().has_storage() &&
         v.toTensor().is_alias_of(memory);
}
bool shows(const Item* i, const Tensor& memory) {
  if (!i) return false;
  if (shows(i->example, memory)) return true;
  if (!i->example.isList() || !is_tensor_list(i->example)) return false;
  const auto& items = i->example.toListRef().items;
  return std::any_of(items.begin(), items.end(), [&](const IValue& t) { return shows(t, memory); });
}

// The tensor itself, before the writes in place that gave the value.
Value* before_writes(Value* v) {
  while (jit::writes_tensor(*v->node(), 0)) v = v->node()->input(0);
  return v;
}

// A result that is one tensor of outside, written or not, is that tensor.
void drop_same_result(Node& n, std::size_t k) {
  Value *first = n.block(0)->outputs().at(k), *second = n.block(1)->outputs().at(k);
  Value* same = before_writes(first);
  if (!first->type()->is(TypeKind::Tensor) || before_writes(second) != same) return;
  if (is_in(same->node(), n)) return;
  n.output(k)->replace_all_uses_with(same);
  for (Block* b : n.blocks()) b->return_node()->remove_input(static_cast<int>(k));
  n.erase_output(static_cast<int>(k));
}
// So is what a loop carries and only writes.
void drop_same_carried(Node& n, std::size_t k) {
  Block& body = *n.block(0);
  Value *in = body.inputs().at(k + 1), *out = body.outputs().at(k + 1);
  if (!in->type()->is(TypeKind::Tensor) || before_writes(out) != in) return;
  Value* same = n.input(k + 2);
  const auto at = static_cast<int>(k);
  in->replace_all_uses_with(same);
  n.output(k)->replace_all_uses_with(same);
  body.return_node()->remove_input(at + 1);
  body.param_node()->erase_output(at + 1);
  n.remove_input(at + 2);
  n.erase_output(at);
}

void drop_same(Node& n) {
  for (const Block* b : n.blocks())
    for (Node* inner : b->nodes()) drop_same(*inner);
  const bool branch = n.is("prim::If"), loop = n.is("prim::Loop");
  for (std::size_t k = n.outputs().size(); (branch || loop) && k-- > 0;)
    branch ? drop_same_result(n, k) : drop_same_carried(n, k);
}

Value* insert_clone(Graph& g, Value* v) {
  const auto& all = jit::operators_named("aten::clone");
  Node* n = g.create("aten::clone", {v, g.insert_constant(IValue())});
  n->op = all.at(0);
  n->range = v->node()->range;
  n->output()->set_type(v->type());
  return g.insert(n)->output();
}

template <class F>
void replace_uses(Value& old, Value* by, F in_scope) {
  for (const jit::Use& u : std::vector<jit::Use>(old.uses()))  // a copy: replacing changes the list
    if (in_scope(u.user)) u.user->replace_input(u.index, by);
}

}  // namespace

// The names of a tensor that a branch or a loop writes.
struct Exporter::SharedNames {
  Value* base;                // whose memory it is
  std::vector<Value*> views;  // in the order of the program
  bool after = false;         // one of them is used after the node
};

namespace {

// The tensor and its views again, made of `base` before the insertion point.
NewNames insert_names(Graph& g, Value* old, const std::vector<Value*>& views, Value* base) {
  NewNames made{{old, base}};
  for (Value* v : views) {
    const Node& maker = *v->node();
    if (jit::writes_tensor(maker, 0)) {
      made[v] = made.at(maker.input(0));
      continue;
    }
    std::vector<Value*> inputs;
    for (Value* i : maker.inputs()) inputs.push_back(made.count(i) ? made.at(i) : i);
    Node* again = g.create(maker.kind(), inputs);
    again->op = maker.op;
    again->range = maker.range;
    again->output()->set_type(v->type());
    made[v] = g.insert(again)->output();
  }
  return made;
}

// In the block the names are those of a copy, which is returned.
Value* use_copy(Block& b, Value* old, const std::vector<Value*>& views, Value* from) {
  Graph& g = *b.graph();
  const Graph::InsertPoint at(g, b.param_node()->next());
  Value* copy = insert_clone(g, from);
  for (const auto& [name, made] : insert_names(g, old, views, copy)) {
    const Node *maker = made->node(), *copies = copy->node();
    replace_uses(*const_cast<Value*>(name), made, [&](const Node* user) {
      return user != copies && user != maker && is_in(user, b);
    });
  }
  return copy;
}

}  // namespace

// Whose memory the value shows, if the block of n made it; else null.
const Value* Exporter::made_beside(const Node& n, const Value* v) const {
  while (const Value* of = viewed(*v)) v = of;
  const Node& maker = *v->node();
  const bool input = &maker == program_->param_node();
  return (maker.op || input) && maker.owning_block() == n.owning_block() ? v : nullptr;
}

// Nothing: the memory has a name that is not followed, and the writes are refused where they stand.
std::optional<Exporter::SharedNames> Exporter::names_of(const Node& n, const Value* written) const {
  const Item* first = find_item(written);
  if (!first || !first->example.isTensor() || !first->example.toTensor().has_storage()) return {};
  const Tensor memory = first->example.toTensor();
  const Value* base = made_beside(n, written);
  if (!base) return {};
  const Node& maker = *base->node();
  for (const Tensor& t : program_tensors_)
    if (shows(t, memory)) return {};
  for (const auto& [attribute, i] : attributes_)
    if (shows(i.get(), memory)) return {};
  SharedNames names{const_cast<Value*>(base), {}, false};
  std::set<const Value*> all, views;
  for (const auto& [value, i] : items_) {
    if (is_in(value->node(), n)) continue;
    const bool used = is_used_in(*value, n) || exporting::is_used_after(*value, n);
    if (!shows(i.get(), memory)) continue;
    if (i->example.isList() && used) return {};
    all.insert(value);
    if (!used) continue;
    names.after = names.after || exporting::is_used_after(*value, n);
    const Value* v = value;
    for (const Value* of = viewed(*v); of; of = viewed(*v)) {
      if (v->node()->owning_block() != n.owning_block()) return {};
      views.insert(v);
      v = of;
    }
    if (v != base) return {};
  }
  for (const Value* v : n.inputs())
    if (all.count(v)) return {};
  const bool stays = names.after || n.is("prim::Loop");
  for (const Block* b : n.blocks())
    if (stays && (count_shown(*b, n, all) > 0 || keeps_name(*b, n, all))) return {};
  for (const Node* at = maker.is("prim::Param") ? n.owning_block()->param_node()->next() : &maker;
       at != &n; at = at->next())
    for (Value* v : at->outputs())
      if (views.count(v)) names.views.push_back(v);
  return names;
}

void Exporter::carry(Node& n, const SharedNames& names) {
  Graph& g = *n.graph();
  const bool loop = n.is("prim::Loop");
  Value* out = nullptr;
  if (loop) {
    Block& body = *n.block(0);
    Value* in = body.add_input("", names.base->type());
    n.add_input(names.base);
    body.register_output(use_copy(body, names.base, names.views, in));
    out = n.add_output(names.base->type());
  } else {
    for (Block* b : n.blocks()) {
      const auto used = [&](const Value* v) {
        return std::any_of(v->uses().begin(), v->uses().end(),
                           [&](const jit::Use& u) { return is_in(u.user, *b); });
      };
      const bool any =
          used(names.base) || std::any_of(names.views.begin(), names.views.end(), used);
      Value* copy = any ? use_copy(*b, names.base, names.views, names.base) : names.base;
      if (names.after) b->register_output(copy);
    }
    if (names.after) out = n.add_output(names.base->type());
  }
  if (!names.after) return;
  const Graph::InsertPoint at(g, n.next());
  Value* copy = insert_clone(g, out);
  const auto made = insert_names(g, names.base, names.views, copy);
  for (const auto& [name, by] : made) {
    const auto is_new = [&](const Node* user) {
      return std::any_of(made.begin(), made.end(),
                         [&](const auto& m) { return m.second->node() == user; });
    };
    replace_uses(*const_cast<Value*>(name), by,
                 [&](const Node* user) { return !is_new(user) && is_after(user, n); });
  }
}

// A loop that writes to what it carries: the first turn finds a tensor of outside there, which has
// no other name from then on.
void Exporter::carry_copy(Node& loop, Value& in) {
  const auto k = static_cast<std::size_t>(in.offset()) + 1;
  const Item* first = find_item(loop.input(k));
  if (!first || !first->example.isTensor() || !first->example.toTensor().has_storage()) return;
  if (!made_beside(loop, loop.input(k))) return;
  const Tensor memory = first->example.toTensor();
  for (const auto& [value, i] : items_) {
    if (is_in(value->node(), loop)) continue;
    const bool used = is_used_in(*value, loop) || exporting::is_used_after(*value, loop);
    if (used && shows(i.get(), memory)) return;
  }
  for (std::size_t i = 2; i < loop.inputs().size(); ++i)
    if (i != k && shows(find_item(loop.input(i)), memory)) return;
  const std::set<const Value*> names{&in};
  const Block& body = *loop.block(0);
  if (count_shown(body, loop, names) > 1 || keeps_name(body, loop, names)) return;
  use_copy(*loop.block(0), &in, {}, &in);
}

// Nobody else has the memory of the result, whichever way it was made.
bool Exporter::is_own_result(const Node& n, std::size_t k) const {
  std::vector<const Value*> from;
  for (const Block* b : n.blocks()) from.push_back(b->outputs().at(k + n.is("prim::Loop")));
  if (n.is("prim::Loop")) from.push_back(n.input(k + 2));
  for (const Value* v : from) {
    while (const Value* of = is_in(v->node(), n) ? viewed_value(*v) : nullptr) v = of;
    const Block& b = *n.block(0);
    const bool param = n.is("prim::Loop") && v->node() == b.param_node();
    const std::set<const Value*> names{v};
    for (const Block* inner : n.blocks())
      if (count_shown(*inner, n, names) > 1 || keeps_name(*inner, n, names)) return false;
    if (param || (is_in(v->node(), n) && v->node()->op)) continue;
    const Item* i = is_in(v->node(), n) ? nullptr : find_item(v);
    if (!i || !i->example.isTensor() || !i->example.toTensor().has_storage()) return false;
    if (!made_beside(n, v)) return false;
    const Tensor memory = i->example.toTensor();
    for (const Tensor& t : program_tensors_)
      if (t.is_alias_of(memory)) return false;
    for (const auto& [value, other] : items_)
      if (shows(other.get(), memory) && exporting::is_used_after(*value, n)) return false;
  }
  return true;
}

// What is written later is a tensor that a node made.
void Exporter::own_results(Node& n) {
  const Graph::InsertPoint at(*n.graph(), n.next());
  for (std::size_t k = 0; k < n.outputs().size(); ++k) {
    Value* out = n.output(k);
    if (!out->type()->is(TypeKind::Tensor) || !is_written(*out) || !is_own_result(n, k)) continue;
    const std::vector<jit::Use> uses = out->uses();
    Value* copy = insert_clone(*n.graph(), out);
    for (const jit::Use& u : uses) u.user->replace_input(u.index, copy);
  }
}

std::vector<Node*> Exporter::carry_writes(const Node& node) {
  Node& n = *node.prev()->next();
  const Node* rest = n.next();
  drop_same(n);
  std::vector<Value*> written;
  for (const Block* b : n.blocks()) add_written(*b, n, written);
  for (Value* v : written) {
    const bool carried = n.is("prim::Loop") && v->node() == n.block(0)->param_node();
    if (carried && v->offset() > 0) carry_copy(n, *v);
    if (is_in(v->node(), n)) continue;
    if (const std::optional<SharedNames> names = names_of(n, v)) carry(n, *names);
  }
  own_results(n);
  std::vector<Node*> made;
  for (Node* m = n.next(); m != rest; m = m->next()) made.push_back(m);
  return made;
}

}  // namespace tenon::onnx::exporting
