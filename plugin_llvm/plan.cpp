// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "tenon/abi/primitives.h"

namespace tenon::llvm_loops {
namespace {

using lp::Kind;

constexpr int64_t kChunk = 4096;         // elements of an item of an assignment
constexpr std::size_t kTiledNodes = 24;  // a tile repeats the nodes of a nest
constexpr double kGather = 8;            // times as much as a vector's load

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::set<int> loops_of(const lp::Store& store) {
  std::set<int> loops;
  for (const lp::Affine& it : store.indices)
    if (!it.loops.empty()) loops.insert(it.loops[0].first);
  return loops;
}

std::vector<bool> needed_nodes(const lp::Nest& nest, const std::vector<int>& stores) {
  std::vector<bool> needed(nest.nodes.size(), false);
  for (const int s : stores) needed[at(nest.stores[at(s)].node)] = true;
  for (std::size_t i = nest.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const int o : nest.nodes[i].operands)
      if (o >= 0) needed[at(o)] = true;
    for (const lp::Index& it : nest.nodes[i].indices)
      if (it.bound != lp::Bound::kProven) needed[at(it.node)] = true;
  }
  return needed;
}

class Planner {
 public:
  Planner(const lp::Program& program, const Group& group, const lp::Binding& binding,
          const std::vector<lp::Placement>& placements, int lanes)
      : binding_(binding), placements_(placements), lanes_(lanes), spec_(plan_.spec) {
    spec_.program = &program;
    spec_.nest = group.nest;
    spec_.stores = group.stores;
    find_accesses();
    find_loops();
  }

  Plan plan() {
    order_loops();
    if (!counts_) join_loops();
    if (spec_.loops.empty()) add_loop({true, -1}, 1);
    choose_vector();
    if (spec_.is_reduction()) {
      choose_tiles();
      choose_flush();
    }
    classify();
    find_numbers();
    return std::move(plan_);
  }

 private:
  struct Reach {  // of an access, in elements
    int64_t offset = 0;
    std::vector<int64_t> steps;  // by loop of the nest, then of the plan
  };

  const lp::Nest& nest() const { return spec_.body(); }

  void add_access(int node, int store, int array, const std::vector<const lp::Affine*>& indices) {
    spec_.accesses.push_back({node, store, {}});
    const lp::CAccess access{array, indices};
    const lp::Placement& where = placements_[at(array)];
    Reach reach;
    reach.offset = lp::detail::offset_of(access, binding_, where);
    for (int l = 0; l < static_cast<int>(nest().loops.size()); ++l)
      reach.steps.push_back(lp::detail::step_of(access, l, where));
    reaches_.push_back(std::move(reach));
  }

  void find_accesses() {
    const std::vector<bool> needed = needed_nodes(nest(), spec_.stores);
    for (std::size_t i = 0; i < needed.size(); ++i) {
      const lp::Node& node = nest().nodes[i];
      if (!needed[i]) continue;
      ++nodes_;
      counts_ = counts_ || node.kind == Kind::kLoop;
      if (node.kind != Kind::kRead) continue;
      std::vector<const lp::Affine*> indices;
      for (const lp::Index& it : node.indices)
        indices.push_back(it.bound == lp::Bound::kProven ? &it.affine : nullptr);
      add_access(static_cast<int>(i), -1, node.source, indices);
    }
    for (const int s : spec_.stores) {
      std::vector<const lp::Affine*> indices;
      for (const lp::Affine& it : nest().stores[at(s)].indices) indices.push_back(&it);
      add_access(-1, s, nest().stores[at(s)].array, indices);
    }
  }

  void add_loop(Loop loop, int64_t extent) {
    spec_.loops.push_back(loop);
    extents_.push_back(extent);
    for (Reach& it : reaches_) it.steps.push_back(0);
  }

  // Named ones first, those of one point aside.
  void find_loops() {
    const std::set<int> named = loops_of(nest().stores[at(spec_.stores[0])]);
    const lp::Shape& extents = binding_.extents[at(spec_.nest)];
    std::vector<int> order;
    for (const bool is_named : {true, false})
      for (int l = 0; l < static_cast<int>(extents.size()); ++l)
        if (extents[at(l)] != 1 && (named.count(l) > 0) == is_named) {
          order.push_back(l);
          spec_.loops.push_back({is_named, l});
          extents_.push_back(extents[at(l)]);
        }
    permute_steps(order);
  }

  void permute_steps(const std::vector<int>& order) {
    for (Reach& it : reaches_) {
      std::vector<int64_t> steps;
      steps.reserve(order.size());
      for (const int l : order) steps.push_back(it.steps[at(l)]);
      it.steps = std::move(steps);
    }
  }

  void permute(const std::vector<int>& order) {
    permute_steps(order);
    std::vector<Loop> loops;
    std::vector<int64_t> extents;
    for (const int l : order) {
      loops.push_back(spec_.loops[at(l)]);
      extents.push_back(extents_[at(l)]);
    }
    spec_.loops = std::move(loops);
    extents_ = std::move(extents);
  }

  const Reach& first_store() const { return reaches_[reaches_.size() - spec_.stores.size()]; }

  void order_loops() {
    std::vector<int> order(spec_.loops.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      const bool both = spec_.loops[at(a)].named && spec_.loops[at(b)].named;
      return both && std::abs(first_store().steps[at(a)]) > std::abs(first_store().steps[at(b)]);
    });
    permute(order);
  }

  void join_loops() {
    for (std::size_t l = spec_.loops.size(); l-- > 1;) {
      const bool fits = spec_.loops[l - 1].named == spec_.loops[l].named &&
                        std::all_of(reaches_.begin(), reaches_.end(), [&](const Reach& it) {
                          return it.steps[l - 1] == it.steps[l] * extents_[l];
                        });
      if (!fits) continue;
      extents_[l - 1] *= extents_[l];
      spec_.loops[l - 1].original = -1;
      const auto i = static_cast<std::ptrdiff_t>(l);
      for (Reach& it : reaches_) {
        it.steps[l - 1] = it.steps[l];
        it.steps.erase(it.steps.begin() + i);
      }
      spec_.loops.erase(spec_.loops.begin() + i);
      extents_.erase(extents_.begin() + i);
    }
  }

  double cost_along(int loop) const {
    double cost = 0;
    const bool named = spec_.loops[at(loop)].named;
    for (std::size_t i = 0; i < reaches_.size(); ++i) {
      const int64_t step = reaches_[i].steps[at(loop)];
      if (!named && spec_.accesses[i].node < 0) continue;
      const double weight = spec_.accesses[i].node < 0 && spec_.is_reduction() ? 0.1 : 1;
      cost += weight * (step == 0 ? 0.3 : step == 1 ? 1 : kGather);
    }
    const int64_t vectors = (extents_[at(loop)] + lanes_ - 1) / lanes_;
    const double n = static_cast<double>(extents_[at(loop)]), w = lanes_;
    return (cost + 0.5) * (static_cast<double>(vectors) * w / n) + (named ? 0 : 4 * w / n);
  }

  void choose_vector() {
    int best = -1;
    double least = 0;
    for (int l = static_cast<int>(spec_.loops.size()); l-- > 0;) {
      const double cost = cost_along(l);
      if (best < 0 || cost < least) {
        best = l;
        least = cost;
      }
    }
    spec_.vector_loop = best;
    if (spec_.loops[at(best)].named) return;
    std::vector<int> order;  // the innermost of the reduced ones
    for (int l = 0; l < static_cast<int>(spec_.loops.size()); ++l)
      if (l != best) order.push_back(l);
    order.push_back(best);
    permute(order);
    spec_.vector_loop = static_cast<int>(order.size()) - 1;
  }

  // Reads that need not be repeated for the points of a tile along the loop.
  int shared_reads(int loop) const {
    int n = 0;
    for (std::size_t i = 0; i < reaches_.size(); ++i)
      n += spec_.accesses[i].node >= 0 && reaches_[i].steps[at(loop)] == 0 ? 1 : 0;
    return n;
  }

  static int tile_of(int64_t extent, int most) {
    for (int t = most; t > 1; --t)
      if (extent % t == 0) return t;
    return extent >= most ? most : 1;
  }

  void choose_tiles() {
    const bool across = spec_.is_across();
    const int64_t along = extents_[at(spec_.vector_loop)];
    if (nodes_ > kTiledNodes) return;
    if (across) spec_.vectors = along >= 4 * lanes_ ? 4 : along >= 2 * lanes_ ? 2 : 1;
    for (int t = 0; t < (across ? 1 : 2); ++t) {
      int best = -1;
      for (int l = 0; l < static_cast<int>(spec_.loops.size()); ++l) {
        if (!spec_.loops[at(l)].named || l == spec_.vector_loop || l == spec_.tile_loop[0])
          continue;
        if (extents_[at(l)] > 1 && shared_reads(l) > 0 &&
            (best < 0 || shared_reads(l) >= shared_reads(best)))
          best = l;
      }
      if (best < 0) return;
      spec_.tile_loop[t] = best;
      spec_.tile[t] = tile_of(extents_[at(best)], 4);
      if (spec_.tile[t] == 1) spec_.tile_loop[t] = -1;
      if (spec_.tile_loop[t] < 0) return;
    }
  }

  // Float32 adds at most kBlock terms: over as many of the inner loops as have no more.
  void choose_flush() {
    int reduced = 0;
    for (const Loop& it : spec_.loops) reduced += it.named ? 0 : 1;
    int64_t terms = 1;
    int level = reduced;
    while (level > 0) {
      const int64_t n = extents_[extents_.size() - at(reduced - level) - 1];
      if (terms * n > kBlock) break;
      terms *= n;
      --level;
    }
    spec_.blocked = level == reduced && level > 0;
    spec_.flush_level = spec_.blocked ? level - 1 : level;
  }

  void classify() {
    for (std::size_t i = 0; i < reaches_.size(); ++i)
      for (std::size_t l = 0; l < spec_.loops.size(); ++l) {
        const int64_t step = reaches_[i].steps[l];
        const bool unit = step == 1 && static_cast<int>(l) == spec_.vector_loop;
        spec_.accesses[i].classes.push_back(step == 0 ? kNoStep : unit ? kUnit : kAny);
      }
  }

  void find_numbers() {
    std::vector<int64_t>& list = plan_.numbers;
    list = extents_;
    const int64_t along = extents_[at(spec_.vector_loop)];
    const int64_t chunk = spec_.is_reduction() ? int64_t{lanes_} * spec_.vectors : kChunk;
    list.push_back(chunk);
    for (const Reach& it : reaches_) {
      list.push_back(it.offset);
      list.insert(list.end(), it.steps.begin(), it.steps.end());
    }
    for (const Access& it : spec_.accesses) {
      if (it.node < 0) continue;
      const lp::Node& node = nest().nodes[at(it.node)];
      for (std::size_t d = 0; d < node.indices.size(); ++d) {
        if (node.indices[d].bound == lp::Bound::kProven) continue;
        list.push_back(binding_.shapes[at(node.source)][d]);
        list.push_back(placements_[at(node.source)].strides[d]);
      }
    }
    list.insert(list.end(), binding_.sizes.begin(), binding_.sizes.end());
    list.insert(list.end(), binding_.whole.begin(), binding_.whole.end());
    int64_t points = 1;
    plan_.items = 1;
    for (const int64_t n : extents_) points *= n;
    for (const Digit& it : digits(spec_)) {
      const int64_t block = it.block == 0 ? chunk : it.block;
      plan_.items *= ((it.block == 0 ? along : extents_[at(it.loop)]) + block - 1) / block;
    }
    plan_.points_per_item = std::max<int64_t>(1, points / std::max<int64_t>(1, plan_.items));
  }

  const lp::Binding& binding_;
  const std::vector<lp::Placement>& placements_;
  int lanes_;
  Plan plan_;
  Spec& spec_;
  std::vector<Reach> reaches_;  // by access
  std::vector<int64_t> extents_;
  std::size_t nodes_ = 0;
  bool counts_ = false;  // a value is the number of a loop
};

}  // namespace

std::vector<Group> groups_of(const lp::Program& program) {
  std::vector<Group> groups;
  for (int n = 0; n < static_cast<int>(program.nests.size()); ++n) {
    const std::vector<lp::Store>& stores = program.nests[at(n)].stores;
    std::vector<std::pair<std::set<int>, Group>> here;
    for (int s = 0; s < static_cast<int>(stores.size()); ++s) {
      const std::set<int> loops = loops_of(stores[at(s)]);
      const auto same =
          std::find_if(here.begin(), here.end(), [&](const auto& it) { return it.first == loops; });
      if (same == here.end())
        here.push_back({loops, {n, {s}}});
      else
        same->second.stores.push_back(s);
    }
    for (auto& [loops, group] : here) {
      for (const int s : group.stores)
        if ((stores[at(s)].update == lp::Update::kAssign) !=
            (stores[at(group.stores[0])].update == lp::Update::kAssign))
          return {};
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

Plan make_plan(const lp::Program& program, const Group& group, const lp::Binding& binding,
               const std::vector<lp::Placement>& placements, int lanes) {
  return Planner(program, group, binding, placements, lanes).plan();
}

}  // namespace tenon::llvm_loops
