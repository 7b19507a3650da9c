// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Attributes that the program sets in a branch or a loop, or writes in place, become values:
// results of the branches, carried by the loops. A model keeps no state, so that nobody reads them
// after.
#include <algorithm>

#include "jit/passes/nodes.h"
#include "onnx/export/carry_attributes.h"
#include "tenon/jit/operator.h"

namespace tenon::onnx::exporting {
namespace {

using jit::Block;
using jit::Graph;
using jit::Node;
using jit::TypeKind;
using jit::Value;

// Of an object, by its path from the module.
using Key = std::pair<std::vector<std::string>, std::string>;

class Attributes {
 public:
  Attributes(Graph& g, IValue root) : graph_(g), root_(std::move(root)) { look(*g.block()); }

  void carry() {
    if (!followed_) return;
    for (const auto& [key, nodes] : nodes_)
      if (needs_value(nodes) && is_alone(key)) carry(key, *nodes.front());
  }

 private:
  // The path of an object; nothing: it is not of the module.
  std::optional<std::vector<std::string>> path_of(const Value& v) const {
    if (&v == graph_.inputs().at(0)) return std::vector<std::string>{};
    if (!v.node()->is("prim::GetAttr")) return std::nullopt;
    auto path = path_of(*v.node()->input(0));
    if (path) path->push_back(v.node()->s("name"));
    return path;
  }
  std::optional<Key> key_of(const Node& n) const {
    if (!n.is("prim::GetAttr") && !n.is("prim::SetAttr")) return std::nullopt;
    auto path = path_of(*n.input(0));
    if (!path) return std::nullopt;
    return Key{*path, n.s("name")};
  }
  void look(const Block& b) {
    for (Node* n : b.nodes()) {
      for (const Block* inner : n->blocks()) look(*inner);
      const bool access = n->is("prim::GetAttr") || n->is("prim::SetAttr");
      const auto key = key_of(*n);
      if (access && !key && !n->input(0)->node()->is("prim::CreateObject")) followed_ = false;
      if (n->is("prim::GetAttr") && n->output()->type()->is(TypeKind::Class)) continue;
      if (key) nodes_[*key].push_back(n);
    }
  }
  bool needs_value(const std::vector<Node*>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(), [this](const Node* n) {
      if (n->is("prim::SetAttr")) return n->owning_block() != graph_.block();
      return is_written(*n->output());
    });
  }
  static bool is_written(const Value& v) {
    return std::any_of(v.uses().begin(), v.uses().end(), [](const jit::Use& u) {
      const Node& user = *u.user;
      if (jit::writes_tensor(user, static_cast<std::size_t>(u.index))) return true;
      if (!user.op || user.outputs().size() != 1 || u.index != 0) return false;
      return !user.op->schema.returns.at(0).alias.set.empty() && is_written(*user.output());
    });
  }

  IValue value_of(const Key& key) const {
    IValue at = root_;
    for (const std::string& name : key.first) at = at.toObject()->getAttr(name);
    return at.toObject()->getAttr(key.second);
  }
  // No other attribute that is written has its memory.
  bool is_alone(const Key& key) const {
    const IValue mine = value_of(key);
    if (!mine.isTensor() || !mine.toTensor().defined() || !mine.toTensor().has_storage())
      return true;
    return std::none_of(nodes_.begin(), nodes_.end(), [&](const auto& other) {
      if (other.first == key) return false;
      const IValue v = value_of(other.first);
      return v.isTensor() && v.toTensor().defined() && v.toTensor().has_storage() &&
             v.toTensor().is_alias_of(mine.toTensor());
    });
  }

  void carry(const Key& key, const Node& access) {
    const Graph::InsertPoint at(graph_, graph_.block()->param_node()->next());
    Value* first = insert_read(owner_of(*access.input(0)), key.second, type_of(access), access);
    if (first->type()->is(TypeKind::Tensor)) first = copy_of(first);
    follow(*graph_.block(), key, first);
  }
  Value* owner_of(const Value& v) {
    if (&v == graph_.inputs().at(0)) return graph_.inputs().at(0);
    const Node& read = *v.node();
    return insert_read(owner_of(*read.input(0)), read.s("name"), v.type(), read);
  }
  Value* insert_read(Value* owner, const std::string& name, jit::TypePtr type, const Node& like) {
    Node* n = graph_.create("prim::GetAttr", {owner});
    n->set("name", name);
    n->range = like.range;
    made_.insert(n);
    return graph_.insert(n)->output()->set_type(std::move(type));
  }
  static jit::TypePtr type_of(const Node& access) {
    if (access.is("prim::GetAttr")) return access.output()->type();
    return jit::as_class(access.input(0)->type())->find_attribute(access.s("name"))->type;
  }
  Value* copy_of(Value* v) {
    Node* n = graph_.create("aten::clone", {v, graph_.insert_constant(IValue())});
    n->op = jit::operators_named("aten::clone").at(0);
    n->range = v->node()->range;
    n->output()->set_type(v->type());
    return graph_.insert(n)->output();
  }
  bool sets(const Block& b, const Key& key) const {
    for (const Node* n : b.nodes()) {
      if (n->is("prim::SetAttr") && key_of(*n) == key) return true;
      for (const Block* inner : n->blocks())
        if (sets(*inner, key)) return true;
    }
    return false;
  }
  // What the attribute is at the end of the block, which begins with `now`.
  Value* follow(Block& b, const Key& key, Value* now) {
    for (Node* n : b.nodes()) {
      if (n->is("prim::If") || n->is("prim::Loop"))
        now = n->is("prim::If") ? follow_branches(*n, key, now) : follow_loop(*n, key, now);
      if (made_.count(n) || key_of(*n) != key) continue;
      if (n->is("prim::SetAttr"))
        now = n->input(1);
      else
        n->output()->replace_all_uses_with(now);
      n->destroy();
    }
    return now;
  }
  Value* follow_branches(Node& n, const Key& key, Value* now) {
    const bool set = sets(*n.block(0), key) || sets(*n.block(1), key);
    for (Block* b : n.blocks()) {
      Value* end = follow(*b, key, now);
      if (set) b->register_output(end);
    }
    return set ? n.add_output(now->type()) : now;
  }
  Value* follow_loop(Node& n, const Key& key, Value* now) {
    Block& body = *n.block(0);
    if (!sets(body, key)) return follow(body, key, now), now;
    Value* in = body.add_input("", now->type());
    n.add_input(now);
    body.register_output(follow(body, key, in));
    return n.add_output(now->type());
  }

  Graph& graph_;
  IValue root_;
  std::map<Key, std::vector<Node*>> nodes_;
  std::set<const Node*> made_;
  bool followed_ = true;
};

}  // namespace

void carry_attributes(Graph& g, const IValue& root) { Attributes(g, root).carry(); }

}  // namespace tenon::onnx::exporting
