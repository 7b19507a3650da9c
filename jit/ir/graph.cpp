// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/jit/graph.h"

#include <mutex>
#include <set>

#include "runtime/base/leaf_mutex.h"

namespace tenon::jit {
namespace {

// Kinds are kept for the life of the process, each once.
struct Kinds {
  core::LeafMutex mutex;
  std::set<std::string, std::less<>> all;
};
Kinds& g_kinds = *new Kinds;

const std::string* intern(std::string_view kind) {
  std::lock_guard lock(g_kinds.mutex);
  auto it = g_kinds.all.find(kind);
  if (it == g_kinds.all.end()) it = g_kinds.all.emplace(kind).first;
  return &*it;
}

}  // namespace

Value* Block::add_input(std::string_view name, TypePtr type) {
  Value* v = param_->add_output(std::move(type));
  return name.empty() ? v : v->set_name(name);
}

int Block::register_output(Value* v) {
  return_->add_input(v);
  return static_cast<int>(return_->inputs().size()) - 1;
}

std::vector<Node*> Block::nodes() const {
  std::vector<Node*> out;
  for (Node* n = param_->next(); n != return_; n = n->next()) out.push_back(n);
  return out;
}

Graph::Graph() {
  block_ = new_block(nullptr);
  set_insert_point(block_);
}
Graph::~Graph() = default;

Node* Graph::create(std::string_view kind, const std::vector<Value*>& inputs,
                    std::size_t n_outputs) {
  nodes_.emplace_back(new Node);
  Node* n = nodes_.back().get();
  n->kind_ = intern(kind);
  n->graph_ = this;
  for (Value* v : inputs) n->add_input(v);
  for (std::size_t i = 0; i < n_outputs; ++i) n->add_output();
  return n;
}

Node* Graph::insert(Node* n) { return n->insert_before(insert_before_); }

Value* Graph::insert_constant(IValue v, const SourceRange& where, TypePtr type) {
  Node* n = create("prim::Constant");
  n->range = where;
  n->output()->set_type(type ? std::move(type) : type_of(v));
  n->set("value", std::move(v));
  return insert(n)->output();
}

Block* Graph::new_block(Node* owner) {
  blocks_.emplace_back(new Block);
  Block* b = blocks_.back().get();
  b->graph_ = this;
  b->owner_ = owner;
  b->param_ = create("prim::Param", {}, 0);
  b->return_ = create("prim::Return", {}, 0);
  b->param_->next_ = b->return_;
  b->return_->prev_ = b->param_;
  b->param_->block_ = b->return_->block_ = b;
  return b;
}

Value* Graph::new_value(Node* n, int offset, TypePtr type) {
  values_.emplace_back(new Value);
  Value* v = values_.back().get();
  v->node_ = n;
  v->offset_ = offset;
  v->id_ = next_id_++;
  v->type_ = type ? std::move(type) : TypePtr(Type::tensor());
  return v;
}

namespace {

using ValueMap = std::map<const Value*, Value*>;

Attribute copy_attribute(const Attribute& a) {
  if (const auto* g = std::get_if<std::shared_ptr<Graph>>(&a)) return (*g)->copy();
  return a;
}

void copy_block(const Block& from, Block& to, ValueMap& map);

Value* mapped(Graph& to, Value* v, const ValueMap& map) {
  auto it = map.find(v);
  if (it != map.end()) return it->second;
  TENON_CHECK(v->node()->graph() == &to, Error, "graph: %", v->debug_name(),
              " is of another graph, and has no copy in this one");
  return v;
}

// Not in any block yet.
Node* copy_node(const Node& n, Graph& to, ValueMap& map) {
  std::vector<Value*> inputs;
  for (Value* v : n.inputs()) inputs.push_back(mapped(to, v, map));
  Node* copy = to.create(n.kind(), inputs, n.outputs().size());
  copy->op = n.op;
  copy->function = n.function;
  copy->range = n.range;
  for (const auto& [name, a] : n.attributes()) copy->set(name, copy_attribute(a));
  for (std::size_t i = 0; i < n.outputs().size(); ++i) {
    copy->output(i)->set_type(n.output(i)->type())->set_name(n.output(i)->name());
    map[n.output(i)] = copy->output(i);
  }
  for (const Block* b : n.blocks()) copy_block(*b, *copy->add_block(), map);
  return copy;
}

void copy_block(const Block& from, Block& to, ValueMap& map) {
  for (Value* v : from.inputs()) map[v] = to.add_input(v->name(), v->type());
  for (const Node* n : from.nodes()) to.append(copy_node(*n, *to.graph(), map));
  for (Value* v : from.outputs()) to.register_output(mapped(*to.graph(), v, map));
}

}  // namespace

std::vector<Value*> Graph::inline_block(const Block& b, ValueMap& map) {
  for (const Node* n : b.nodes()) insert(copy_node(*n, *this, map));
  std::vector<Value*> out;
  for (Value* v : b.outputs()) out.push_back(mapped(*this, v, map));
  return out;
}

std::shared_ptr<Graph> Graph::copy() const {
  auto out = std::make_shared<Graph>();
  ValueMap map;
  copy_block(*block_, *out->block_, map);
  for (const auto& [from, to] : map) to->id_ = from->id_;
  out->next_id_ = next_id_;
  out->name_numbers_ = name_numbers_;
  return out;
}

std::optional<IValue> to_constant(const Value* v) {
  const Node* n = v->node();
  if (!n->is("prim::Constant")) return std::nullopt;
  auto it = n->attributes().find("value");
  if (it == n->attributes().end()) return std::nullopt;
  const auto* value = std::get_if<IValue>(&it->second);
  return value ? std::optional(*value) : std::nullopt;
}

}  // namespace tenon::jit
