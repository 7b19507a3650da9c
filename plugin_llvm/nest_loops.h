// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The loops of a nest for the sizes and strides of a call, in an order that can change, and how far
// each step of them moves each access.
#pragma once

#include <optional>
#include <set>

#include "plugin_llvm/pack.h"
#include "plugin_llvm/spec/spec.h"

namespace tenon::llvm_loops {

class NestLoops {
 public:
  // Of the stores that `spec` names, whose loops and accesses it fills. Loops of one point are left
  // out, named ones come first.
  NestLoops(Spec& spec, const lp::Binding& binding, const std::vector<lp::Placement>& placements);

  int count() const { return static_cast<int>(extents_.size()); }
  int64_t extent(int loop) const { return extents_[static_cast<std::size_t>(loop)]; }
  int64_t points() const;
  int accesses() const { return static_cast<int>(list_.size()); }
  // In elements. Of a store or a read.
  int64_t step(int access, int loop) const;
  int64_t offset(int access) const { return list_[static_cast<std::size_t>(access)].offset; }
  int array(int access) const { return list_[static_cast<std::size_t>(access)].of.array; }
  bool is_read(int access) const {
    return spec_.accesses[static_cast<std::size_t>(access)].node >= 0;
  }
  // At each point of the nest, not where a reduction is finished.
  bool is_inner_read(int access) const {
    return is_read(access) && !spec_.accesses[static_cast<std::size_t>(access)].is_late;
  }
  int first_store() const;
  const lp::Placement& placement(int array) const {
    return placements_[static_cast<std::size_t>(array)];
  }
  std::size_t nodes() const { return nodes_; }            // that the stores need, but late ones
  std::size_t operations() const { return operations_; }  // of them, neither reads nor constants
  // The loop that runs a loop of the nest, alone or joined with others; -1 for one of one point.
  int find(int original) const;

  void permute(const std::vector<int>& order);
  // Neighbors that all accesses walk as one become one, but for the nest's loops `apart`.
  void join(const std::vector<int>& apart);
  void add_single();  // a named loop of one point

  // Where the array would lie so that reads walk it along `loop` by single elements; none if they
  // cannot, or need not.
  std::optional<lp::Placement> find_packed(int array, int loop) const;
  void set_placement(int array, lp::Placement to);
  // The indices of the array by dimension, if one read in the nest is all that it does with it.
  const std::vector<const lp::Affine*>* only_indices(int array) const;

 private:
  struct Reach {
    lp::CAccess of;
    int64_t offset = 0;
    std::vector<int64_t> steps;  // by loop of the nest
  };

  void find_accesses();
  void find_reads(const std::vector<bool>& needed, bool is_late);
  void find_store(int store, bool is_late);
  void add_access(const Access& access, int array, const std::vector<const lp::Affine*>& indices);
  void measure(Reach& reach) const;
  bool joins(int outer, int inner) const;
  int64_t step(const Reach& reach, int loop) const;

  Spec& spec_;
  const lp::Binding& binding_;
  std::vector<lp::Placement> placements_;
  std::vector<Reach> list_;
  std::vector<int64_t> extents_;
  std::vector<std::vector<int>> members_;  // by loop: of the nest, outermost first
  std::size_t nodes_ = 0, operations_ = 0;
  bool counts_ = false;  // a value is the number of a loop
};

// By node: whether the values of these stores need it. What `results` has needs nothing.
std::vector<bool> needed_nodes(const lp::Nest& nest, const std::vector<int>& stores,
                               const std::vector<std::pair<int, int>>& results = {});

// Loops of the nest that the indices of a store name.
std::set<int> loops_of(const lp::Store& store);

}  // namespace tenon::llvm_loops
