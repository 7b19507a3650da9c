// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Attributes that branches and loops by data set or write in place. Such a node gets the attribute
// as it was before, gives what it becomes, and the attribute is set, or the buffer written, after
// it.
#include <algorithm>
#include <functional>
#include <optional>

#include "jit/formats/exported/writer/program_writer.h"
#include "jit/passes/nodes.h"

namespace tenon::jit::formats {
namespace {

using ObjectOf = std::function<std::optional<IValue>(const Value*)>;

// One attribute of one object, in one branch or loop.
class Carrier {
 public:
  Carrier(Node& n, Value* object, std::string name, ObjectOf object_of)
      : n_(n), graph_(*n.graph()), name_(std::move(name)), object_of_(std::move(object_of)) {
    object_ = make_outside(object);
    object_value_ = *object_of_(object_);
  }

  // A name that the attribute has from before, too.
  void set_name_outside(Value* v) { was_read_ = v; }
  // New nodes: before the branch or loop, and after it.
  std::pair<Node*, Node*> carry(bool in_place, TypePtr type) {
    Node* read = insert_read(&n_, object_, name_, type);
    const bool loop = n_.is("prim::Loop");
    for (Block* b : n_.blocks()) {
      now_ = loop ? b->add_input("", type) : read->output();
      if (in_place) now_ = insert_copy(*b);
      if (was_read_) replace_uses_in(*b, *was_read_);
      follow(*b);
      b->register_output(now_);
    }
    if (loop) n_.add_input(read->output());
    Value* end = n_.add_output(type);
    Node* after = in_place ? graph_.create("aten::copy_", {read->output(), end, insert_false()})
                           : graph_.create("prim::SetAttr", {object_, end}, 0);
    if (in_place) {
      after->op = find_operator("aten::copy_");
      after->output()->set_type(type);
    } else {
      after->set("name", name_);
    }
    after->range = n_.range;
    return {read, after->insert_after(&n_)};
  }
  // What the nodes before it read of objects.
  std::vector<Node*> objects;

 private:
  bool is_this(const Node& n) const {
    if (n.s("name") != name_) return false;
    const auto v = object_of_(n.input(0));
    return v && v->toObject().get() == object_value_.toObject().get();
  }
  Value* make_outside(Value* v) {
    if (!is_in(v->node(), n_)) return v;
    Value* from = make_outside(v->node()->input(0));
    Node* read = insert_read(&n_, from, v->node()->s("name"), v->type());
    objects.push_back(read);
    return read->output();
  }
  Node* insert_read(Node* before, Value* object, const std::string& name, const TypePtr& type) {
    const Graph::InsertPoint at(graph_, before);
    Node* read = graph_.insert(graph_.create("prim::GetAttr", {object}));
    read->set("name", name);
    read->range = n_.range;
    read->output()->set_type(type);
    return read;
  }
  Value* insert_false() {
    const Graph::InsertPoint at(graph_, &n_);
    Value* v = graph_.insert_constant(false);
    objects.push_back(v->node());
    return v;
  }
  Value* insert_copy(Block& b) {
    const Graph::InsertPoint at(graph_, b.param_node()->next());
    Node* n = graph_.insert(graph_.create("aten::clone", {now_, graph_.insert_constant(IValue())}));
    n->op = find_operator("aten::clone");
    return n->output()->set_type(Type::tensor());
  }
  void replace_uses_in(const Block& b, const Value& v) {
    for (const Use& u : std::vector<Use>(v.uses()))
      if (is_in(u.user, b) && u.user != now_->node()) u.user->replace_input(u.index, now_);
  }
  void follow(Block& b) {
    for (Node* n : b.nodes()) {
      for (Block* inner : n->blocks()) follow(*inner);
      if (n->is("prim::GetAttr") && is_this(*n)) {
        n->output()->replace_all_uses_with(now_);
        n->destroy();
      } else if (n->is("prim::SetAttr") && is_this(*n)) {
        now_ = n->input(1);
        n->destroy();
      }
    }
  }

  Node& n_;
  Graph& graph_;
  std::string name_;
  ObjectOf object_of_;
  Value *object_ = nullptr, *now_ = nullptr, *was_read_ = nullptr;
  IValue object_value_;
};

// A read of an attribute that a node there writes in place, itself or through a view.
const Node* find_written(const Block& b, const Node& n) {
  for (const Node* w : b.nodes()) {
    for (const Block* inner : w->blocks())
      if (const Node* found = find_written(*inner, n)) return found;
    for (std::size_t k = 0; w->op && k < w->op->schema.arguments.size(); ++k) {
      if (!writes_tensor(*w, k)) continue;
      const Value* v = w->input(k);
      while (is_in(v->node(), n) && gives_view(*v->node()) && !v->node()->inputs().empty())
        v = v->node()->input(0);
      if (v->node()->is("prim::GetAttr")) return v->node();
    }
  }
  return nullptr;
}

TypePtr type_of_attribute(const Value& object, const std::string& name) {
  return as_class(object.type())->find_attribute(name)->type;
}

const Node* find_set(const Node& n) {
  for (const Block* b : n.blocks())
    for (const Node* m : b->nodes())
      if (m->is("prim::SetAttr")) return m;
  return nullptr;
}

}  // namespace

// A branch, or a loop that may be one, by data.
void ProgramWriter::visit_by_data(const Node& n) {
  const auto [before, after] = carry_attributes(const_cast<Node&>(n));
  for (const Node* each : before) visit(*each);
  if (n.is("prim::If"))
    visit_branch(n, at(n.input(0)));
  else
    visit_loop(n);
  for (const Node* each : after) visit(*each);
}

// Of a value that is an object of the module.
std::optional<IValue> ProgramWriter::object_of(const Value* v) const {
  if (const auto it = items_.find(v); it != items_.end())
    return it->second->example.isObject() ? std::optional(it->second->example) : std::nullopt;
  if (!v->node()->is("prim::GetAttr")) return std::nullopt;
  const auto from = object_of(v->node()->input(0));
  if (!from) return std::nullopt;
  const IValue inner = from->toObject()->getAttr(v->node()->s("name"));
  return inner.isObject() ? std::optional(inner) : std::nullopt;
}

// Gives the nodes that come before n and after it. Inner branches and loops first, so that all
// writes are in the blocks of n itself.
std::pair<std::vector<Node*>, std::vector<Node*>> ProgramWriter::carry_attributes(Node& n) {
  for (const Block* b : n.blocks())
    for (Node* inner : b->nodes())
      if (!inner->blocks().empty()) (void)carry_attributes(*inner);
  std::vector<Node*> before, after;
  const auto carry = [&](const Node* found, bool in_place) {
    Value* object = found->input(0);
    const auto of = object_of(object);
    if (!of) return false;
    const std::string name = found->s("name");
    const TypePtr type = in_place ? Type::tensor() : type_of_attribute(*object, name);
    Carrier c(n, object, name, [this](const Value* v) { return object_of(v); });
    if (in_place && !is_in(found, n)) c.set_name_outside(found->output());
    const auto [read, end] = c.carry(in_place, type);
    before.insert(before.end(), c.objects.begin(), c.objects.end());
    before.push_back(read);
    after.push_back(end);
    return true;
  };
  while (const Node* set = find_set(n))
    if (!carry(set, false)) break;
  for (const Block* b : n.blocks())
    while (const Node* written = find_written(*b, n))
      if (!carry(written, true)) break;
  return {before, after};
}

}  // namespace tenon::jit::formats
