// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "plugin_llvm/nest_loops.h"
#include "plugin_llvm/panels.h"
#include "plugin_llvm/tiles.h"
#include "tenon/abi/primitives.h"

namespace tenon::llvm_loops {
namespace {

constexpr int64_t kChunk = 4096;         // elements of an item of an assignment
constexpr std::size_t kTiledNodes = 24;  // a tile repeats the nodes of a nest
constexpr int64_t kMaxUnrolled = 5;
constexpr int kMaxTile = 4;          // of each loop where vectors run along a sum
constexpr double kGather = 8;        // times as much as a vector's load
constexpr double kPack = 32;         // of copying an element once
constexpr int64_t kGrain = 1 << 15;  // points of a task
constexpr int64_t kShare = 128;      // and at least of one, for each element of a panel

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class Planner {
 public:
  Planner(const lp::Program& program, const Group& group, const lp::Binding& binding,
          const std::vector<lp::Placement>& placements, int lanes, int row)
      : binding_(binding),
        lanes_(lanes),
        row_(row),
        spec_(first(program, group)),
        schedule_(spec_.body().schedule),
        placements_(placements),
        loops_(spec_, binding, placements) {}

  Plan plan() {
    order_loops();
    join_loops();
    if (loops_.count() == 0) loops_.add_single();
    choose_vector();
    pack_arrays();
    if (spec_.is_reduction()) {
      if (schedule_.vector >= 0)
        follow_tiles();
      else
        choose_tiles();
      choose_ends();
      choose_flush();
      choose_unrolled();
      if (spec_.is_across()) make_panels();
    }
    classify();
    find_numbers();
    choose_grain();
    return std::move(plan_);
  }

 private:
  Spec& first(const lp::Program& program, const Group& group) {
    static_cast<Group&>(plan_.spec) = group;
    plan_.spec.program = &program;
    return plan_.spec;
  }

  bool is_named(int loop) const { return spec_.loops[at(loop)].named; }

  bool is_row(int loop) const { return row_ >= 0 && loops_.find(row_) == loop; }

  // As the schedule says, or with the longest step of the first store outside.
  void order_loops() {
    std::vector<int> order(spec_.loops.size());
    std::iota(order.begin(), order.end(), 0);
    const std::vector<int>& given = schedule_.order;
    const auto rank = [&](int l) {
      return std::find(given.begin(), given.end(), spec_.loops[at(l)].original) - given.begin();
    };
    const int store = loops_.first_store();
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      if (is_named(a) != is_named(b)) return is_named(a);
      if (is_row(a) != is_row(b)) return is_row(a);
      if (!given.empty()) return rank(a) < rank(b);
      return is_named(a) && std::abs(loops_.step(store, a)) > std::abs(loops_.step(store, b));
    });
    loops_.permute(order);
  }

  void join_loops() {
    std::vector<int> apart;
    if (row_ >= 0) apart.push_back(row_);
    if (schedule_.vector >= 0) apart.push_back(schedule_.vector);
    for (const auto& [loop, points] : schedule_.tiles) apart.push_back(loop);
    loops_.join(apart);
  }

  // Of an access of vectors along the loop, in loads of a vector.
  double cost_of_read(int access, int loop) const {
    const int64_t step = loops_.step(access, loop);
    if (step == 0) return 0.3;
    if (step == 1) return 1;
    const std::optional<double> packed = cost_of_pack(access, loop);
    return packed ? std::min(kGather, 1 + *packed) : kGather;
  }

  // Of copying its array, by the points of the nest; none where that does not help.
  std::optional<double> cost_of_pack(int access, int loop) const {
    const int array = loops_.array(access);
    if (!loops_.is_inner_read(access) || !loops_.find_packed(array, loop)) return std::nullopt;
    double elements = 1;
    for (const int64_t n : binding_.shapes[at(array)]) elements *= static_cast<double>(n);
    return kPack * elements / static_cast<double>(loops_.points());
  }

  double cost_along(int loop) const {
    double cost = 0;
    for (int i = 0; i < loops_.accesses(); ++i) {
      if (!is_named(loop) && !loops_.is_inner_read(i)) continue;
      const double weight = !loops_.is_inner_read(i) && spec_.is_reduction() ? 0.1 : 1;
      cost += weight * cost_of_read(i, loop);
    }
    const int64_t vectors = (loops_.extent(loop) + lanes_ - 1) / lanes_;
    const double n = static_cast<double>(loops_.extent(loop)), w = lanes_;
    return (cost + 0.5) * (static_cast<double>(vectors) * w / n) + (is_named(loop) ? 0 : 4 * w / n);
  }

  int find_vector() const {
    const int given = schedule_.vector < 0 ? -1 : loops_.find(schedule_.vector);
    if (given >= 0) return given;
    int best = -1;
    double least = 0;
    for (int l = loops_.count(); l-- > 0;) {
      if (is_row(l)) continue;
      const double cost = cost_along(l);
      if (best < 0 || cost < least) {
        best = l;
        least = cost;
      }
    }
    return best;
  }

  void choose_vector() {
    const int best = find_vector();
    spec_.vector_loop = best;
    if (is_named(best)) return;
    std::vector<int> order;  // the innermost of the reduced ones
    for (int l = 0; l < loops_.count(); ++l)
      if (l != best) order.push_back(l);
    order.push_back(best);
    loops_.permute(order);
    spec_.vector_loop = static_cast<int>(order.size()) - 1;
  }

  // A schedule that names the loop of vectors names all arrays to pack, too.
  bool should_pack(int access) const {
    const std::vector<int>& given = schedule_.packed;
    if (schedule_.vector >= 0 || !given.empty())
      return std::find(given.begin(), given.end(), loops_.array(access)) != given.end();
    const std::optional<double> cost = cost_of_pack(access, spec_.vector_loop);
    return cost && 1 + *cost < kGather;
  }

  void pack_arrays() {
    for (int i = 0; i < loops_.accesses(); ++i) {
      const int64_t step = loops_.step(i, spec_.vector_loop);
      if (!loops_.is_read(i) || step == 0 || step == 1 || !should_pack(i)) continue;
      const int array = loops_.array(i);
      std::optional<lp::Placement> to = loops_.find_packed(array, spec_.vector_loop);
      if (!to) continue;
      loops_.set_placement(array, *to);
      plan_.packs.push_back({array, std::move(*to)});
    }
  }

  // Of copies, where a task can make its own.
  void make_panels() {
    const int64_t extent = loops_.extent(spec_.vector_loop);
    const int64_t width = std::min(chunk(), (extent + lanes_ - 1) / lanes_ * lanes_);
    std::vector<Pack> whole;
    for (Pack& it : plan_.packs) {
      std::optional<Panel> panel =
          find_panel(spec_, loops_, binding_, placements_[at(it.array)], it.array, width);
      if (!panel) {
        whole.push_back(std::move(it));
        continue;
      }
      loops_.set_placement(it.array, {0, panel->to});
      plan_.panels.push_back(std::move(*panel));
    }
    plan_.packs = std::move(whole);
    if (!plan_.panels.empty()) plan_.blocks = find_blocks(spec_, loops_, width);
  }

  // Elements of the vector loop that an item has.
  int64_t chunk() const { return spec_.is_reduction() ? int64_t{lanes_} * spec_.vectors : kChunk; }

  // Reads that need not be repeated for the points of a tile along the loop.
  int shared_reads(int loop) const {
    int n = 0;
    for (int i = 0; i < loops_.accesses(); ++i)
      n += loops_.is_inner_read(i) && loops_.step(i, loop) == 0 ? 1 : 0;
    return n;
  }

  static int tile_of(int64_t extent, int most) {
    for (int t = most; t > 1; --t)
      if (extent % t == 0) return t;
    return extent >= most ? most : 1;
  }

  // The named loop along which a tile shares the most reads; -1 if none does.
  int find_tile_loop() const {
    int best = -1;
    for (int l = 0; l < loops_.count(); ++l) {
      if (!is_named(l) || l == spec_.vector_loop || l == spec_.tile_loop[0]) continue;
      if (loops_.extent(l) > 1 && shared_reads(l) > 0 &&
          (best < 0 || shared_reads(l) >= shared_reads(best)))
        best = l;
    }
    return best;
  }

  void set_tile(int t, int loop, int points) {
    if (points < 2) return;
    spec_.tile_loop[t] = loop;
    spec_.tile[t] = points;
  }

  void choose_tiles() {
    if (loops_.nodes() > kTiledNodes) return;
    const int loop = find_tile_loop();
    if (spec_.is_across()) {
      const TileShape shape = choose_tile(work_of_tile(loop));
      spec_.vectors = shape.vectors;
      if (loop >= 0) set_tile(0, loop, shape.points);
      return;
    }
    if (loop < 0) return;
    set_tile(0, loop, tile_of(loops_.extent(loop), kMaxTile));
    if (spec_.tile_loop[0] < 0) return;
    const int second = find_tile_loop();
    if (second >= 0) set_tile(1, second, tile_of(loops_.extent(second), kMaxTile));
  }

  TileWork work_of_tile(int loop) const {
    TileWork work;
    work.lanes = lanes_;
    work.along = loops_.extent(spec_.vector_loop);
    work.across = loop < 0 ? 1 : loops_.extent(loop);
    work.operations = std::max(1, static_cast<int>(loops_.operations()));
    work.sums = 0;
    for (const int s : spec_.stores) {
      const lp::Store& store = spec_.body().stores[at(s)];
      const lp::Node& node = spec_.body().nodes[at(store.node)];
      const bool is_wide =
          lp::itemsize(node.dtype) > 4 || (store.update == lp::Update::kSum && !is_product(node));
      work.sums += is_wide ? 2 : 1;
    }
    for (int i = 0; i < loops_.accesses(); ++i) {
      if (!loops_.is_inner_read(i)) continue;
      const bool along = loops_.step(i, spec_.vector_loop) != 0;
      const bool across = loop >= 0 && loops_.step(i, loop) != 0;
      (along && across ? work.reads_both : along ? work.reads_along : work.reads_across) += 1;
    }
    return work;
  }

  static bool is_product(const lp::Node& node) {
    return node.kind == lp::Kind::kBinary && node.code == TN_BINARY_MUL;
  }

  void follow_tiles() {
    if (spec_.is_across()) spec_.vectors = static_cast<int>(schedule_.vectors);
    int t = 0;
    for (const auto& [original, points] : schedule_.tiles) {
      const int loop = loops_.find(original);
      if (t == 2 || loop < 0 || !is_named(loop) || loop == spec_.vector_loop) continue;
      set_tile(t++, loop, static_cast<int>(points));
    }
  }

  // Code that the sizes do not need is not compiled.
  void choose_ends() {
    for (int t = 0; t < 2; ++t)
      spec_.has_rest[t] =
          spec_.tile_loop[t] < 0 || loops_.extent(spec_.tile_loop[t]) % spec_.tile[t] != 0;
    if (!spec_.is_across()) return;
    const int64_t n = loops_.extent(spec_.vector_loop), block = int64_t{lanes_} * spec_.vectors;
    spec_.whole = n >= block;
    spec_.tail = static_cast<int>((n % block + lanes_ - 1) / lanes_);
  }

  void choose_unrolled() {
    const int last = loops_.count() - 1;
    const bool is_inner = !is_named(last) && last != spec_.vector_loop && !spec_.blocked;
    if (is_inner && loops_.extent(last) <= kMaxUnrolled && loops_.nodes() <= kTiledNodes)
      spec_.unrolled = static_cast<int>(loops_.extent(last));
  }

  // Float32 adds at most kBlock terms: over as many of the inner loops as have no more.
  void choose_flush() {
    int reduced = 0;
    for (const Loop& it : spec_.loops) reduced += it.named ? 0 : 1;
    int64_t terms = 1;
    int level = reduced;
    while (level > 0) {
      const int64_t n = loops_.extent(loops_.count() - (reduced - level) - 1);
      if (terms * n > kBlock) break;
      terms *= n;
      --level;
    }
    spec_.blocked = level == reduced && level > 0;
    spec_.flush_level = spec_.blocked ? level - 1 : level;
  }

  void classify() {
    for (int i = 0; i < loops_.accesses(); ++i)
      for (int l = 0; l < loops_.count(); ++l) {
        const int64_t step = loops_.step(i, l);
        spec_.accesses[at(i)].classes.push_back(class_of(step, l));
      }
  }

  StepClass class_of(int64_t step, int loop) const {
    if (step == 0) return kNoStep;
    if (loop == spec_.vector_loop) return step == 1 ? kUnit : kAny;
    if (is_named(loop) || loop != loops_.count() - 1) return kAny;
    return step == 1 ? kOne : spec_.is_across() && step == spec_.width(lanes_) ? kWidth : kAny;
  }

  void find_numbers() {
    std::vector<int64_t>& list = plan_.numbers;
    for (int l = 0; l < loops_.count(); ++l) list.push_back(loops_.extent(l));
    list.push_back(chunk());
    for (int i = 0; i < loops_.accesses(); ++i) {
      list.push_back(loops_.offset(i));
      for (int l = 0; l < loops_.count(); ++l) list.push_back(loops_.step(i, l));
    }
    for (const Access& it : spec_.accesses) {
      if (it.node < 0) continue;
      const lp::Node& node = spec_.body().nodes[at(it.node)];
      for (std::size_t d = 0; d < node.indices.size(); ++d) {
        if (node.indices[d].bound == lp::Bound::kProven) continue;
        list.push_back(binding_.shapes[at(node.source)][d]);
        list.push_back(loops_.placement(node.source).strides[d]);
      }
    }
    list.insert(list.end(), binding_.sizes.begin(), binding_.sizes.end());
    list.insert(list.end(), binding_.whole.begin(), binding_.whole.end());
    plan_.items = 1;
    for (const Digit& it : digits(spec_)) {
      const int64_t block = it.block == 0 ? chunk() : it.block;
      plan_.items *= (loops_.extent(it.loop) + block - 1) / block;
    }
    points_per_item_ = std::max<int64_t>(1, loops_.points() / std::max<int64_t>(1, plan_.items));
  }

  // Each task of a block may copy its panels.
  void choose_grain() {
    const Blocks& b = plan_.blocks;
    const int64_t points = points_per_item_;
    plan_.grain = std::max<int64_t>(1, kGrain / points);
    if (!plan_.panels.empty()) {
      int64_t copied = 0;
      for (const Panel& it : plan_.panels) copied += numel(it.shape);
      const int64_t least = std::max(plan_.grain, kShare * copied / points);
      const int64_t parts = (b.items + least - 1) / least;
      if (least < b.items)
        plan_.grain = (b.items + parts - 1) / parts;
      else
        plan_.grain = std::max<int64_t>(1, plan_.grain / b.items) * b.items;
    }
    if (schedule_.grain > 0) plan_.grain = std::max<int64_t>(1, schedule_.grain / points);
  }

  const lp::Binding& binding_;
  int lanes_, row_;
  Plan plan_;
  Spec& spec_;
  const lp::Schedule& schedule_;
  int64_t points_per_item_ = 1;
  const std::vector<lp::Placement>& placements_;
  NestLoops loops_;
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
        here.push_back({loops, {n, {s}, {}, {}, {}}});
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
               const std::vector<lp::Placement>& placements, int lanes, int row) {
  return Planner(program, group, binding, placements, lanes, row).plan();
}

}  // namespace tenon::llvm_loops
