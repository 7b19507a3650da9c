// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/panels.h"

#include <sched.h>

namespace tenon::llvm_loops {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 19;  // of a panel: larger ones leave the second cache
constexpr int64_t kLine = 64;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Digits outside of the one of the vector loop.
std::vector<Digit> outer_digits(const Spec& spec) {
  std::vector<Digit> list = digits(spec);
  const auto is_vector = [&](const Digit& it) { return it.loop == spec.vector_loop; };
  list.erase(std::find_if(list.begin(), list.end(), is_vector), list.end());
  return list;
}

bool is_loop_alone(const lp::Affine& index, const Loop& loop) {
  return index.constant == 0 && index.sizes.empty() && index.loops.size() == 1 &&
         index.loops[0] == std::make_pair(loop.original, int64_t{1});
}

bool names(const NestLoops& loops, const lp::Affine& index, int loop) {
  return std::any_of(index.loops.begin(), index.loops.end(),
                     [&](const auto& it) { return loops.find(it.first) == loop; });
}

}  // namespace

std::optional<Panel> find_panel(const Spec& spec, const NestLoops& loops,
                                const lp::Binding& binding, const lp::Placement& where, int array,
                                int64_t width) {
  const std::vector<const lp::Affine*>* indices = loops.only_indices(array);
  if (!indices || spec.program->arrays.size() > kMaxArrays) return std::nullopt;
  Panel p;
  p.array = array;
  p.shape = binding.shapes[at(array)];
  p.from = where.strides;
  const std::vector<Digit> outer = outer_digits(spec);
  for (int d = 0; d < static_cast<int>(indices->size()); ++d) {
    if (!(*indices)[at(d)]) continue;
    const lp::Affine& index = *(*indices)[at(d)];
    const bool is_across = names(loops, index, spec.vector_loop);
    if (is_across && (p.across >= 0 || !is_loop_alone(index, spec.loops[at(spec.vector_loop)])))
      return std::nullopt;
    if (is_across) p.across = d;
    for (int k = 0; k < static_cast<int>(outer.size()); ++k) {
      if (!names(loops, index, outer[at(k)].loop)) continue;
      if (!is_loop_alone(index, spec.loops[at(outer[at(k)].loop)])) return std::nullopt;
      p.fixed.push_back({d, k});
      p.shape[at(d)] = 1;
    }
  }
  if (p.across < 0 || p.fixed.size() != outer.size()) return std::nullopt;
  const int64_t item = lp::itemsize(spec.program->arrays[at(array)].dtype);
  p.shape[at(p.across)] = width;
  p.to = place_last(p.shape, {p.across}).strides;
  const int64_t row = (width * item + kLine - 1) / kLine * kLine / item;
  p.bytes = item * row;
  for (int d = 0; d < static_cast<int>(p.shape.size()); ++d) {
    if (d == p.across) continue;
    p.to[at(d)] = p.to[at(d)] / width * row;
    p.bytes *= p.shape[at(d)];
  }
  for (const Panel::Fixed& it : p.fixed) p.to[at(it.dimension)] = 0;
  return p.bytes <= kMaxBytes ? std::optional<Panel>(p) : std::nullopt;
}

Blocks find_blocks(const Spec& spec, const NestLoops& loops, int64_t width) {
  Blocks b;
  b.width = width;
  b.extent = loops.extent(spec.vector_loop);
  b.along = (b.extent + width - 1) / width;
  for (const Digit& it : outer_digits(spec)) b.outer.push_back(loops.extent(it.loop));
  for (int t = 0; t < 2; ++t)
    if (spec.tile_loop[t] >= 0)
      b.items *= (loops.extent(spec.tile_loop[t]) + spec.tile[t] - 1) / spec.tile[t];
  return b;
}

int Slots::find_free(int64_t block) const {
  const uint64_t taken = taken_.load(std::memory_order_relaxed);
  int free = -1;
  for (int i = count_; i-- > 0;) {
    if (taken >> i & 1) continue;
    if (held(i) == block) return i;
    free = i;
  }
  return free;
}

int Slots::take(int64_t block) {
  for (;; sched_yield()) {
    const int slot = find_free(block);
    if (slot < 0) continue;
    const uint64_t bit = uint64_t{1} << slot;
    if ((taken_.fetch_or(bit, std::memory_order_acquire) & bit) == 0) return slot;
  }
}

}  // namespace tenon::llvm_loops
