// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A group stands where its last node stood, so its other nodes move down to there: past nodes that
// neither use their results nor write what they read.
#include "jit/fuse/find_groups.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "jit/fuse/pointwise.h"
#include "jit/ir/alias.h"

namespace tenon::jit::fuse {
namespace {

constexpr std::size_t kMaxNodes = 128;
constexpr int kMaxDistance = 512;  // nodes between the first and the last

using Nodes = std::vector<Node*>;  // in order

bool is_plain_constant(const Value* v) {
  if (!v->node()->is("prim::Constant")) return false;
  const auto c = to_constant(v);
  return c && !c->isTensor();
}

// Tensors and numbers are what a program takes.
bool takes_inputs(const Node& n) {
  for (const Value* v : n.inputs()) {
    const TypeKind kind = v->type()->kind();
    const bool fits = kind == TypeKind::Tensor || kind == TypeKind::Int ||
                      kind == TypeKind::Float || kind == TypeKind::Bool;
    if (!fits && !is_plain_constant(v)) return false;
  }
  return true;
}

bool is_fusable(const Node& n) { return rule_of(n) != nullptr && takes_inputs(n); }

class Finder {
 public:
  Finder(Block& block, const AliasFacts& facts) : facts_(facts) {
    int i = 0;
    for (Node* n : block.nodes()) order_[n] = i++;
    for (Node* n : block.nodes())
      if (is_fusable(*n)) join(n);
  }

  std::vector<Nodes> groups() const {
    std::map<int, Nodes> found;  // by the place of the last node
    for (const auto& [node, group] : group_of_)
      if (group->size() > 1 && is_used(*group)) found[order_.at(group->back())] = *group;
    std::vector<Nodes> out;
    out.reserve(found.size());
    for (auto& [place, nodes] : found) out.push_back(std::move(nodes));
    return out;
  }

 private:
  using Group = std::shared_ptr<Nodes>;

  void join(Node* n) {
    std::vector<Group> before;  // whose results n takes; the nearest first
    for (const Value* v : n->inputs()) {
      const auto at = group_of_.find(v->node());
      if (at != group_of_.end() &&
          std::find(before.begin(), before.end(), at->second) == before.end())
        before.push_back(at->second);
    }
    std::sort(before.begin(), before.end(), [&](const Group& a, const Group& b) {
      return order_.at(a->back()) > order_.at(b->back());
    });
    const Group joined = std::make_shared<Nodes>(Nodes{n});
    for (const Group& g : before) {
      if (g->size() + joined->size() > kMaxNodes || !can_move(*g, *joined, n)) continue;
      joined->insert(joined->end(), g->begin(), g->end());
      std::sort(joined->begin(), joined->end(),
                [&](const Node* a, const Node* b) { return order_.at(a) < order_.at(b); });
    }
    for (const Node* member : *joined) group_of_[member] = joined;
  }

  static bool contains(const Nodes& nodes, const Node* n) {
    return std::find(nodes.begin(), nodes.end(), n) != nodes.end();
  }

  // Whether a result is used outside: exported programs keep nodes that nothing uses.
  static bool is_used(const Nodes& group) {
    return std::any_of(group.begin(), group.end(), [&](const Node* n) {
      const auto& uses = n->output()->uses();
      return std::any_of(uses.begin(), uses.end(),
                         [&](const Use& u) { return !contains(group, u.user); });
    });
  }

  // Where in the block of these nodes the use is.
  int place_of(const Node* user, const Block* block) const {
    while (user->owning_block() != block) user = user->owning_block()->owning_node();
    const auto at = order_.find(user);
    return at == order_.end() ? INT32_MAX : at->second;  // the return node
  }

  // All of `group` to n, where the nodes of `others` end up, too.
  bool can_move(const Nodes& group, const Nodes& others, const Node* n) const {
    const int end = order_.at(n);
    if (end - order_.at(group.front()) > kMaxDistance) return false;
    for (const Node* member : group)
      for (const Use& use : member->output()->uses()) {
        if (place_of(use.user, n->owning_block()) >= end) continue;
        if (!contains(group, use.user) && !contains(others, use.user)) return false;
      }
    for (const Node* k = group.front()->next(); k != n; k = k->next()) {
      if (k->is("prim::Constant") || contains(group, k) || contains(others, k)) continue;
      for (const Node* member : group)
        if (order_.at(member) < order_.at(k) && facts_.conflict(member, k)) return false;
    }
    return true;
  }

  const AliasFacts& facts_;
  std::unordered_map<const Node*, int> order_;
  std::unordered_map<const Node*, Group> group_of_;
};

class Maker {
 public:
  Maker(Graph& g, const Nodes& members) : graph_(g), members_(members) {}

  void make() {
    const Graph::InsertPoint at(graph_, members_.back());
    made_ = graph_.insert(graph_.create(kGroup, {}, 0));
    for (const Node* n : members_) copy(*n);
    for (const Node* n : members_) {
      const auto& uses = n->output()->uses();
      if (std::all_of(uses.begin(), uses.end(), [&](const Use& u) { return is_member(u.user); }))
        continue;
      sub_->register_output(inside_.at(n->output()));
      Value* out = made_->add_output(n->output()->type());
      n->output()->replace_all_uses_with(out);
    }
    made_->set("Subgraph", sub_);
    for (auto it = members_.rbegin(); it != members_.rend(); ++it) (*it)->destroy();
  }

 private:
  bool is_member(const Node* n) const {
    return std::find(members_.begin(), members_.end(), n) != members_.end();
  }

  void copy(const Node& n) {
    std::vector<Value*> inputs;
    for (Value* v : n.inputs()) inputs.push_back(input(v));
    Node* c = sub_->create(n.kind(), inputs);
    c->op = n.op;
    c->range = n.range;
    c->output()->set_type(n.output()->type());
    sub_->insert(c);
    inside_[n.output()] = c->output();
  }

  Value* input(Value* v) {
    if (const auto at = inside_.find(v); at != inside_.end()) return at->second;
    if (is_plain_constant(v))
      return inside_[v] = sub_->insert_constant(*to_constant(v), v->node()->range, v->type());
    made_->add_input(v);
    return inside_[v] = sub_->add_input({}, v->type());
  }

  Graph& graph_;
  const Nodes& members_;
  std::shared_ptr<Graph> sub_ = std::make_shared<Graph>();
  Node* made_ = nullptr;
  std::unordered_map<const Value*, Value*> inside_;
};

bool has_pair(const Block& b) {
  for (const Node* n : b.nodes()) {
    for (const Block* inner : n->blocks())
      if (has_pair(*inner)) return true;
    if (!is_fusable(*n)) continue;
    for (const Value* v : n->inputs())
      if (v->node()->owning_block() == &b && is_fusable(*v->node())) return true;
  }
  return false;
}

void find_in(Graph& g, Block& b, const AliasFacts& facts,
             std::vector<std::pair<Graph*, Nodes>>& found) {
  for (Node* n : b.nodes())
    for (Block* inner : n->blocks()) find_in(g, *inner, facts, found);
  for (Nodes& nodes : Finder(b, facts).groups()) found.emplace_back(&g, std::move(nodes));
}

}  // namespace

std::shared_ptr<const Graph> find_groups(const std::shared_ptr<const Graph>& graph) {
  if (!has_pair(*graph->block())) return graph;
  const std::shared_ptr<Graph> g = graph->copy();
  const AliasFacts facts(*g);
  std::vector<std::pair<Graph*, Nodes>> found;
  find_in(*g, *g->block(), facts, found);
  for (const auto& [in, nodes] : found) Maker(*in, nodes).make();
  return found.empty() ? graph : g;
}

}  // namespace tenon::jit::fuse
