// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/bands.h"

#include <algorithm>
#include <map>
#include <set>

#include "plugin_llvm/nest_loops.h"

namespace tenon::llvm_loops {
namespace {

constexpr int64_t kMinRow = 256;  // points of a group: vectors run within a row

std::size_t at(int i) { return static_cast<std::size_t>(i); }

int loop_alone(const lp::Affine& index) {
  const bool alone = index.constant == 0 && index.sizes.empty() && index.loops.size() == 1 &&
                     index.loops[0].second == 1;
  return alone ? index.loops[0].first : -1;
}

const lp::Nest& nest_of(const Fused& fused, const Group& g) {
  return fused.program.nests[at(g.nest)];
}

template <class F>
void visit_reads(const Fused& fused, const Group& g, F f) {
  const lp::Nest& nest = nest_of(fused, g);
  std::vector<int> stores = g.stores;
  stores.insert(stores.end(), g.late.begin(), g.late.end());
  const std::vector<bool> needed = needed_nodes(nest, stores, g.results);
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (needed[i] && nest.nodes[i].kind == lp::Kind::kRead) f(nest.nodes[i]);
}

template <class F>
void visit_stores(const Fused& fused, const Group& g, F f) {
  for (const std::vector<int>* list : {&g.stores, &g.late})
    for (const int s : *list) f(nest_of(fused, g).stores[at(s)]);
}

class Finder {
 public:
  Finder(const Fused& fused, const lp::Binding& binding) : fused_(fused), binding_(binding) {}

  std::vector<Band> run() {
    std::vector<Band> bands;
    for (std::size_t g = 0; g < fused_.groups.size();) {
      Band band = longest(g);
      g += band.row.size();
      bands.push_back(std::move(band));
    }
    return bands;
  }

 private:
  // Of one group without rows, if no loop serves more of them.
  Band longest(std::size_t first) {
    Band best;
    best.first = first;
    best.row = {-1};
    for (int l = 0; l < static_cast<int>(nest_of(fused_, fused_.groups[first]).loops.size()); ++l) {
      Band band;
      band.first = first;
      rows_of_.clear();
      read_.clear();
      int row = l;
      for (std::size_t g = first; g < fused_.groups.size() && g < first + kMaxInBand; ++g) {
        const bool is_first = g == first;
        if (!is_first) row = find_row(fused_.groups[g]);
        if (row < 0 || !add(fused_.groups[g], row, band, is_first)) break;
      }
      if (band.row.size() > std::max<std::size_t>(1, best.row.size())) best = std::move(band);
    }
    return best;
  }

  // The loop of all reads of what the band stores, in its dimension of rows; -1 if there is none.
  int find_row(const Group& g) const {
    int row = -1;
    bool same = true;
    visit_reads(fused_, g, [&](const lp::Node& read) {
      const auto found = rows_of_.find(read.source);
      if (found == rows_of_.end()) return;
      const lp::Index& index = read.indices[at(found->second)];
      const int l = index.bound == lp::Bound::kProven ? loop_alone(index.affine) : -1;
      same = same && l >= 0 && (row < 0 || row == l);
      row = l;
    });
    return same ? row : -1;
  }

  bool add(const Group& g, int row, Band& band, bool is_first) {
    const lp::Shape& extents = binding_.extents[at(g.nest)];
    const int64_t rows = extents[at(row)];
    if (rows < 2 || (!is_first && rows != band.rows) || numel(extents) / rows < kMinRow)
      return false;
    std::map<int, int> stored;  // by array: the dimension of rows
    bool good = true;
    visit_stores(fused_, g, [&](const lp::Store& s) {
      int dimension = -1;
      for (int d = 0; d < static_cast<int>(s.indices.size()); ++d)
        if (loop_alone(s.indices[at(d)]) == row) dimension = d;
      good = good && dimension >= 0 && rows_of_.count(s.array) == 0 && read_.count(s.array) == 0;
      stored[s.array] = dimension;
    });
    if (!good) return false;
    visit_reads(fused_, g, [&](const lp::Node& read) { read_[read.source] = true; });
    rows_of_.insert(stored.begin(), stored.end());
    band.rows = rows;
    band.row.push_back(row);
    return true;
  }

  const Fused& fused_;
  const lp::Binding& binding_;
  std::map<int, int> rows_of_;  // arrays that the band stores, and their dimensions of rows
  std::map<int, bool> read_;    // that it reads
};

}  // namespace

std::vector<Band> find_bands(const Fused& fused, const lp::Binding& binding) {
  return Finder(fused, binding).run();
}

std::vector<int> find_locals(const Fused& fused, const Band& band) {
  std::set<int> arrays;
  const auto is_inside = [&](std::size_t g) {
    return g >= band.first && g < band.first + band.row.size();
  };
  for (std::size_t k = 0; k < band.row.size(); ++k)
    visit_stores(fused, fused.groups[band.first + k], [&](const lp::Store& s) {
      const bool is_temporary = fused.program.arrays[at(s.array)].role == lp::Role::kTemporary &&
                                !fused.unwritten[at(s.array)];
      if (is_temporary && loop_alone(s.indices[0]) == band.row[k]) arrays.insert(s.array);
    });
  for (std::size_t g = 0; g < fused.groups.size(); ++g) {
    if (is_inside(g)) continue;
    visit_reads(fused, fused.groups[g], [&](const lp::Node& it) { arrays.erase(it.source); });
    visit_stores(fused, fused.groups[g], [&](const lp::Store& it) { arrays.erase(it.array); });
  }
  return {arrays.begin(), arrays.end()};
}

std::optional<Rows> find_rows(const Plan& plan, int row, int64_t rows) {
  const Digit first = digits(plan.spec)[0];
  if (!plan.packs.empty() || !plan.panels.empty() || first.block == 0 ||
      plan.spec.loops[at(first.loop)].original != row ||
      plan.spec.program->arrays.size() > kMaxArrays)
    return std::nullopt;
  return Rows{first.block, plan.items / ((rows + first.block - 1) / first.block)};
}

}  // namespace tenon::llvm_loops
