// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/fuse.h"

#include <algorithm>
#include <map>
#include <set>

#include "plugin_llvm/nest_loops.h"

namespace tenon::llvm_loops {
namespace {

constexpr std::ptrdiff_t kMaxLate = 24;  // nodes, which a tile of sums repeats

std::size_t at(int i) { return static_cast<std::size_t>(i); }

using LoopMap = std::map<int, int>;  // from loops of one nest to those of another

// One loop in each, and the rest the same: then the loops go together.
bool match(const lp::Affine& from, const lp::Affine& to, LoopMap& loops) {
  if (from.constant != to.constant || from.sizes != to.sizes ||
      from.loops.size() != to.loops.size() || from.loops.size() > 1)
    return false;
  if (from.loops.empty()) return true;
  if (from.loops[0].second != 1 || to.loops[0].second != 1) return false;
  const auto [it, is_new] = loops.emplace(from.loops[0].first, to.loops[0].first);
  return is_new || it->second == to.loops[0].first;
}

bool match(const lp::Node& read, const lp::Store& store, LoopMap& loops) {
  for (std::size_t d = 0; d < read.indices.size(); ++d)
    if (read.indices[d].bound != lp::Bound::kProven ||
        !match(read.indices[d].affine, store.indices[d], loops))
      return false;
  return true;
}

class Fusion {
 public:
  Fusion(const lp::Program& program, const lp::Binding& binding) : binding_(binding) {
    out_.program = program;
  }

  Fused run(const std::vector<Group>& groups) {
    for (const Group& it : groups) {
      LoopMap loops;
      if (!out_.groups.empty() && can_join(out_.groups.back(), it, loops))
        join(out_.groups.back(), it, loops);
      else
        out_.groups.push_back(it);
    }
    for (Group& it : out_.groups) find_unwritten(it);
    return std::move(out_);
  }

 private:
  const lp::Nest& nest(const Group& g) const { return out_.program.nests[at(g.nest)]; }
  const lp::Store& store(const Group& g, int s) const { return nest(g).stores[at(s)]; }

  static std::vector<int> stores_of(const Group& g) {
    std::vector<int> list = g.stores;
    list.insert(list.end(), g.late.begin(), g.late.end());
    return list;
  }

  // Of arrays in memory, results of the group's own stores aside.
  std::vector<const lp::Node*> reads_of(const Group& g) const {
    std::vector<const lp::Node*> list;
    const std::vector<bool> needed = needed_nodes(nest(g), stores_of(g), g.results);
    for (std::size_t i = 0; i < needed.size(); ++i)
      if (needed[i] && nest(g).nodes[i].kind == lp::Kind::kRead) list.push_back(&nest(g).nodes[i]);
    return list;
  }

  int find_store(const Group& g, int array) const {
    for (const int s : stores_of(g))
      if (store(g, s).array == array) return s;
    return -1;
  }

  bool stores_from_neutral(const Group& g) const {
    return std::all_of(g.stores.begin(), g.stores.end(),
                       [&](int s) { return store(g, s).from_neutral; });
  }

  bool can_join(const Group& sum, const Group& after, LoopMap& loops) const {
    if (store(after, after.stores[0]).update != lp::Update::kAssign || !stores_from_neutral(sum) ||
        !is_small(after))
      return false;
    bool reads = false;
    for (const lp::Node* it : reads_of(after)) {
      const int s = find_store(sum, it->source);
      if (s >= 0 && !match(*it, store(sum, s), loops)) return false;
      reads = reads || s >= 0;
    }
    return reads && is_bijection(sum, after, loops) && !overwrites(sum, after);
  }

  bool is_small(const Group& g) const {
    const std::vector<bool> needed = needed_nodes(nest(g), g.stores);
    for (std::size_t i = 0; i < needed.size(); ++i)
      if (needed[i] && nest(g).nodes[i].kind == lp::Kind::kPhilox) return false;
    return std::count(needed.begin(), needed.end(), true) <= kMaxLate;
  }

  // Of all loops of the nest after, onto all that the stores of the sum name.
  bool is_bijection(const Group& sum, const Group& after, const LoopMap& loops) const {
    const std::set<int> named = loops_of(store(sum, sum.stores[0]));
    std::set<int> to;
    for (const auto& [l, m] : loops) {
      to.insert(m);
      if (binding_.extents[at(after.nest)][at(l)] != binding_.extents[at(sum.nest)][at(m)])
        return false;
    }
    return to == named && loops.size() == to.size() && loops.size() == nest(after).loops.size();
  }

  // What a point stores, other points of the sum must not read.
  bool overwrites(const Group& sum, const Group& after) const {
    for (const int s : after.stores) {
      const int array = store(after, s).array;
      if (find_store(sum, array) >= 0) return true;
      for (const lp::Node* it : reads_of(sum))
        if (it->source == array) return true;
    }
    return false;
  }

  static lp::Affine mapped(const lp::Affine& from, const LoopMap& loops) {
    lp::Affine to = from;
    to.loops.clear();
    for (const auto& [l, by] : from.loops) lp::add_term(to.loops, loops.at(l), by);
    return to;
  }

  void join(Group& sum, const Group& after, const LoopMap& loops) {
    const lp::Nest from = nest(after);
    lp::Nest& to = out_.program.nests[at(sum.nest)];
    const int shift = static_cast<int>(to.nodes.size());
    const std::vector<bool> needed = needed_nodes(from, after.stores);
    for (std::size_t i = 0; i < from.nodes.size(); ++i) {
      const int s =
          from.nodes[i].kind == lp::Kind::kRead ? find_store(sum, from.nodes[i].source) : -1;
      if (needed[i] && s >= 0) sum.results.emplace_back(shift + static_cast<int>(i), s);
      to.nodes.push_back(moved(from.nodes[i], shift, loops));
    }
    for (const int s : after.stores) {
      lp::Store it = from.stores[at(s)];
      for (lp::Affine& index : it.indices) index = mapped(index, loops);
      it.node += shift;
      sum.late.push_back(static_cast<int>(to.stores.size()));
      to.stores.push_back(std::move(it));
    }
  }

  static lp::Node moved(lp::Node node, int shift, const LoopMap& loops) {
    for (int& it : node.operands) it += it >= 0 ? shift : 0;
    if (node.kind == lp::Kind::kLoop) node.source = loops.at(node.source);
    for (lp::Index& it : node.indices) {
      if (it.bound == lp::Bound::kProven)
        it.affine = mapped(it.affine, loops);
      else
        it.node += shift;
    }
    return node;
  }

  void find_unwritten(Group& group) {
    out_.unwritten.resize(out_.program.arrays.size(), false);
    for (const auto& [node, s] : group.results) {
      const int array = store(group, s).array;
      if (out_.program.arrays[at(array)].role != lp::Role::kTemporary) continue;
      if (out_.unwritten[at(array)] || is_used_elsewhere(group, array)) continue;
      group.unwritten.push_back(s);
      out_.unwritten[at(array)] = true;
    }
  }

  bool is_used_elsewhere(const Group& group, int array) const {
    for (const Group& it : out_.groups) {
      if (&it != &group && find_store(it, array) >= 0) return true;
      for (const lp::Node* read : reads_of(it))
        if (read->source == array) return true;
    }
    return false;
  }

  const lp::Binding& binding_;
  Fused out_;
};

}  // namespace

Fused fuse(const lp::Program& program, const lp::Binding& binding,
           const std::vector<Group>& groups) {
  return Fusion(program, binding).run(groups);
}

}  // namespace tenon::llvm_loops
