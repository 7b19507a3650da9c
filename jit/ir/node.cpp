// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tenon/jit/graph.h"

namespace tenon::jit {
namespace {

void drop_use(std::vector<Use>& uses, const Node* user, int index) {
  auto it = std::find_if(uses.begin(), uses.end(),
                         [&](const Use& u) { return u.user == user && u.index == index; });
  if (it != uses.end()) uses.erase(it);
}

void shift_use(std::vector<Use>& uses, const Node* user, int index, int by) {
  for (Use& u : uses)
    if (u.user == user && u.index == index) {
      u.index += by;
      return;
    }
}

}  // namespace

Value* Node::add_input(Value* v) {
  v->uses_.push_back({this, static_cast<int>(inputs_.size())});
  inputs_.push_back(v);
  return v;
}

Value* Node::insert_input(int i, Value* v) {
  for (int k = static_cast<int>(inputs_.size()) - 1; k >= i; --k)
    shift_use(inputs_[static_cast<std::size_t>(k)]->uses_, this, k, 1);
  inputs_.insert(inputs_.begin() + i, v);
  v->uses_.push_back({this, i});
  return v;
}

void Node::replace_input(int i, Value* v) {
  Value*& slot = inputs_.at(static_cast<std::size_t>(i));
  if (slot == v) return;
  drop_use(slot->uses_, this, i);
  slot = v;
  v->uses_.push_back({this, i});
}

void Node::remove_input(int i) {
  drop_use(inputs_.at(static_cast<std::size_t>(i))->uses_, this, i);
  for (std::size_t k = static_cast<std::size_t>(i) + 1; k < inputs_.size(); ++k)
    shift_use(inputs_[k]->uses_, this, static_cast<int>(k), -1);
  inputs_.erase(inputs_.begin() + i);
}

void Node::remove_all_inputs() {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    drop_use(inputs_[i]->uses_, this, static_cast<int>(i));
  inputs_.clear();
}

Value* Node::add_output(TypePtr type) {
  outputs_.push_back(graph_->new_value(this, static_cast<int>(outputs_.size()), std::move(type)));
  return outputs_.back();
}

void Node::erase_output(int i) {
  Value* v = outputs_.at(static_cast<std::size_t>(i));
  TENON_CHECK(v->uses_.empty(), Error, "graph: %", v->debug_name(), " of ", kind(),
              " is used and cannot be removed");
  v->set_name({});
  outputs_.erase(outputs_.begin() + i);
  for (std::size_t k = static_cast<std::size_t>(i); k < outputs_.size(); ++k)
    outputs_[k]->offset_ = static_cast<int>(k);
}

Block* Node::add_block() {
  blocks_.push_back(graph_->new_block(this));
  return blocks_.back();
}

void Node::erase_block(int i) {
  Block* b = blocks_.at(static_cast<std::size_t>(i));
  b->return_->remove_all_inputs();
  // Last first, so that no output has a use when its node goes.
  for (Node* n = b->return_->prev_; n != b->param_;) {
    Node* before = n->prev_;
    n->destroy();
    n = before;
  }
  while (!b->param_->outputs_.empty())
    b->param_->erase_output(static_cast<int>(b->param_->outputs_.size()) - 1);
  blocks_.erase(blocks_.begin() + i);
}

const Attribute& Node::attribute(const std::string& name) const {
  auto it = attributes_.find(name);
  TENON_CHECK(it != attributes_.end(), Error, "graph: ", kind(), " has no attribute ", name);
  return it->second;
}

Node* Node::set(std::string name, Attribute a) {
  attributes_.insert_or_assign(std::move(name), std::move(a));
  return this;
}

const std::string& Node::s(const std::string& name) const {
  const auto* text = std::get_if<std::string>(&attribute(name));
  TENON_CHECK(text, Error, "graph: attribute ", name, " of ", kind(), " is not a string");
  return *text;
}

const IValue& Node::ival(const std::string& name) const {
  const auto* value = std::get_if<IValue>(&attribute(name));
  TENON_CHECK(value, Error, "graph: attribute ", name, " of ", kind(), " is not a value");
  return *value;
}

Node* Node::insert_before(Node* n) {
  TENON_CHECK(!block_, Error, "graph: ", kind(), " is in a block already");
  TENON_CHECK(n->prev_, Error, "graph: nothing goes before the parameters of a block");
  block_ = n->block_;
  prev_ = n->prev_;
  next_ = n;
  prev_->next_ = this;
  n->prev_ = this;
  return this;
}

Node* Node::insert_after(Node* n) {
  TENON_CHECK(n->next_, Error, "graph: nothing goes after the end of a block");
  return insert_before(n->next_);
}

void Node::unlink() {
  if (!block_) return;
  if (graph_->insert_before_ == this) graph_->insert_before_ = next_;
  prev_->next_ = next_;
  next_->prev_ = prev_;
  prev_ = next_ = nullptr;
  block_ = nullptr;
}

void Node::move_before(Node* n) {
  if (n == this) return;
  unlink();
  insert_before(n);
}

void Node::destroy() {
  for (std::size_t i = blocks_.size(); i > 0; --i) erase_block(static_cast<int>(i) - 1);
  while (!outputs_.empty()) erase_output(static_cast<int>(outputs_.size()) - 1);
  remove_all_inputs();
  unlink();
  attributes_.clear();  // the graph keeps the node's memory, but not its tensors
}

}  // namespace tenon::jit
