// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/nest_loops.h"

#include <algorithm>

namespace tenon::llvm_loops {
namespace {

using lp::Kind;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// The dimension whose index is `loop` and something that does not depend on it; -1 if there is none
// or another one does.
int dimension_of(const lp::CAccess& access, int loop) {
  int found = -1;
  for (int d = 0; d < static_cast<int>(access.indices.size()); ++d) {
    if (!access.indices[at(d)]) continue;
    for (const auto& [which, by] : access.indices[at(d)]->loops) {
      if (which != loop) continue;
      if (by != 1 || found >= 0) return -1;
      found = d;
    }
  }
  return found;
}

}  // namespace

std::vector<bool> needed_nodes(const lp::Nest& nest, const std::vector<int>& stores,
                               const std::vector<std::pair<int, int>>& results) {
  std::vector<bool> needed(nest.nodes.size(), false);
  for (const int s : stores) needed[at(nest.stores[at(s)].node)] = true;
  for (std::size_t i = nest.nodes.size(); i-- > 0;) {
    const bool is_result = std::any_of(results.begin(), results.end(),
                                       [&](const auto& it) { return at(it.first) == i; });
    if (is_result) needed[i] = false;
    if (!needed[i]) continue;
    for (const int o : nest.nodes[i].operands)
      if (o >= 0) needed[at(o)] = true;
    for (const lp::Index& it : nest.nodes[i].indices)
      if (it.bound != lp::Bound::kProven) needed[at(it.node)] = true;
  }
  return needed;
}

std::set<int> loops_of(const lp::Store& store) {
  std::set<int> loops;
  for (const lp::Affine& it : store.indices)
    if (!it.loops.empty()) loops.insert(it.loops[0].first);
  return loops;
}

NestLoops::NestLoops(Spec& spec, const lp::Binding& binding,
                     const std::vector<lp::Placement>& placements)
    : spec_(spec), binding_(binding), placements_(placements) {
  find_accesses();
  const std::set<int> named = loops_of(spec_.body().stores[at(spec_.stores[0])]);
  const lp::Shape& extents = binding_.extents[at(spec_.nest)];
  for (const bool is_named : {true, false})
    for (int l = 0; l < static_cast<int>(extents.size()); ++l)
      if (extents[at(l)] != 1 && (named.count(l) > 0) == is_named) {
        spec_.loops.push_back({is_named, l});
        extents_.push_back(extents[at(l)]);
        members_.push_back({l});
      }
}

void NestLoops::find_accesses() {
  find_reads(needed_nodes(spec_.body(), spec_.stores), false);
  find_reads(needed_nodes(spec_.body(), spec_.late, spec_.results), true);
  for (const int s : spec_.stores) find_store(s, false);
  for (const int s : spec_.late) find_store(s, true);
}

void NestLoops::find_reads(const std::vector<bool>& needed, bool is_late) {
  for (std::size_t i = 0; i < needed.size(); ++i) {
    const lp::Node& node = spec_.body().nodes[i];
    if (!needed[i]) continue;
    counts_ = counts_ || node.kind == Kind::kLoop;
    if (!is_late) ++nodes_;
    if (!is_late && node.kind >= Kind::kCast) ++operations_;
    if (node.kind != Kind::kRead) continue;
    std::vector<const lp::Affine*> indices;
    for (const lp::Index& it : node.indices)
      indices.push_back(it.bound == lp::Bound::kProven ? &it.affine : nullptr);
    add_access({static_cast<int>(i), -1, is_late, {}}, node.source, indices);
  }
}

void NestLoops::find_store(int store, bool is_late) {
  if (!spec_.is_written(store)) return;
  const lp::Store& it = spec_.body().stores[at(store)];
  std::vector<const lp::Affine*> indices;
  for (const lp::Affine& index : it.indices) indices.push_back(&index);
  add_access({-1, store, is_late, {}}, it.array, indices);
}

int NestLoops::first_store() const {
  int i = 0;
  while (is_read(i)) ++i;
  return i;
}

void NestLoops::add_access(const Access& access, int array,
                           const std::vector<const lp::Affine*>& indices) {
  spec_.accesses.push_back(access);
  list_.push_back({{array, indices}, 0, {}});
  measure(list_.back());
}

void NestLoops::measure(Reach& reach) const {
  const lp::Placement& where = placement(reach.of.array);
  reach.offset = lp::detail::offset_of(reach.of, binding_, where);
  reach.steps.clear();
  for (int l = 0; l < static_cast<int>(spec_.body().loops.size()); ++l)
    reach.steps.push_back(lp::detail::step_of(reach.of, l, where));
}

int64_t NestLoops::points() const {
  int64_t n = 1;
  for (const int64_t it : extents_) n *= it;
  return n;
}

int64_t NestLoops::step(const Reach& reach, int loop) const {
  const std::vector<int>& members = members_[at(loop)];
  return members.empty() ? 0 : reach.steps[at(members.back())];
}

int64_t NestLoops::step(int access, int loop) const { return step(list_[at(access)], loop); }

int NestLoops::find(int original) const {
  for (int l = 0; l < count(); ++l)
    if (std::count(members_[at(l)].begin(), members_[at(l)].end(), original) > 0) return l;
  return -1;
}

void NestLoops::permute(const std::vector<int>& order) {
  std::vector<Loop> loops;
  std::vector<int64_t> extents;
  std::vector<std::vector<int>> members;
  for (const int l : order) {
    loops.push_back(spec_.loops[at(l)]);
    extents.push_back(extents_[at(l)]);
    members.push_back(std::move(members_[at(l)]));
  }
  spec_.loops = std::move(loops);
  extents_ = std::move(extents);
  members_ = std::move(members);
}

bool NestLoops::joins(int outer, int inner) const {
  return std::all_of(list_.begin(), list_.end(), [&](const Reach& it) {
    return step(it, outer) == step(it, inner) * extent(inner);
  });
}

void NestLoops::join(const std::vector<int>& apart) {
  if (counts_) return;
  const auto is_apart = [&](int loop) {
    return std::any_of(apart.begin(), apart.end(), [&](int it) { return find(it) == loop; });
  };
  for (int l = count(); l-- > 1;) {
    if (spec_.loops[at(l - 1)].named != spec_.loops[at(l)].named || !joins(l - 1, l)) continue;
    if (is_apart(l) || is_apart(l - 1)) continue;
    extents_[at(l - 1)] *= extents_[at(l)];
    spec_.loops[at(l - 1)].original = -1;
    members_[at(l - 1)].insert(members_[at(l - 1)].end(), members_[at(l)].begin(),
                               members_[at(l)].end());
    spec_.loops.erase(spec_.loops.begin() + l);
    extents_.erase(extents_.begin() + l);
    members_.erase(members_.begin() + l);
  }
}

void NestLoops::add_single() {
  spec_.loops.push_back({true, -1});
  extents_.push_back(1);
  members_.emplace_back();
}

std::optional<lp::Placement> NestLoops::find_packed(int array, int loop) const {
  std::vector<int> last;
  for (int i = 0; i < accesses() && last.empty(); ++i) {
    if (!is_read(i) || list_[at(i)].of.array != array) continue;
    if (step(i, loop) == 0 || step(i, loop) == 1) continue;
    for (const int l : members_[at(loop)]) {
      const int d = dimension_of(list_[at(i)].of, l);
      if (d < 0) return std::nullopt;
      last.push_back(d);
    }
  }
  if (last.empty()) return std::nullopt;
  NestLoops packed = *this;
  lp::Placement to = place_last(binding_.shapes[at(array)], last);
  packed.set_placement(array, to);
  for (int i = 0; i < accesses(); ++i)
    if (is_read(i) && list_[at(i)].of.array == array && packed.step(i, loop) > 1)
      return std::nullopt;
  for (const std::vector<int>& members : members_)  // joined loops must still be one
    for (std::size_t m = 1; m < members.size(); ++m)
      for (const Reach& it : packed.list_)
        if (it.steps[at(members[m - 1])] !=
            it.steps[at(members[m])] * binding_.extents[at(spec_.nest)][at(members[m])])
          return std::nullopt;
  return to;
}

const std::vector<const lp::Affine*>* NestLoops::only_indices(int array) const {
  const std::vector<const lp::Affine*>* found = nullptr;
  for (int i = 0; i < accesses(); ++i) {
    if (list_[at(i)].of.array != array) continue;
    if (found || !is_inner_read(i)) return nullptr;
    found = &list_[at(i)].of.indices;
  }
  return found;
}

void NestLoops::set_placement(int array, lp::Placement to) {
  placements_[at(array)] = std::move(to);
  for (Reach& it : list_)
    if (it.of.array == array) measure(it);
}

}  // namespace tenon::llvm_loops
