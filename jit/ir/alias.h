// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What may share memory with what in a graph, and which nodes write it: passes ask before they
// merge, move or remove. Computed for the graph as it is: rebuild it after a change.
//
// Every value that can be written or can hold such values belongs to a set; two values may alias if
// their sets are one. A set of containers has a set of contents. Graph inputs, objects and their
// attributes, and what calls take and give are one set, the outside. Sets come from the alias
// annotations of schemas; an assignment in a branch counts as if it always ran.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "tenon/jit/graph.h"
#include "tenon/jit/operator.h"

namespace tenon::jit {

// Whether a value of the type, or something that it contains, can be written.
bool is_mutable(const Type& t);

class AliasFacts {
 public:
  explicit AliasFacts(const Graph& g);

  // The same tensor, views of one memory, or the same list, dictionary or object.
  bool may_alias(const Value* a, const Value* b) const;
  // Whether a, or what it contains, may be b or what b contains.
  bool may_contain_alias(const Value* a, const Value* b) const;
  // The node, or one in its blocks, writes memory that it did not make.
  bool writes(const Node* n) const;
  // It, or one in its blocks, does what cannot be seen in memory: prints, raises, draws random
  // numbers, calls a function.
  bool has_effects(const Node* n) const;
  // Some node of the graph may write the value or what it contains.
  bool has_writers(const Value* v) const;
  // The value, or what it contains, may be seen outside: it comes from there or is returned.
  bool escapes(const Value* v) const;
  // It is, or may be, a tensor or container of outside; one that is made here and returned is not.
  bool is_outside(const Value* v) const;
  // `b` may become another name of `a`: nothing is written, and not both are seen outside.
  bool can_merge(const Value* a, const Value* b) const;
  // Moving `n` before `place`, which is in the same block and may be its return node, keeps what
  // the program computes. True as well if n stands there.
  bool can_move(const Node* n, const Node* place) const;
  // One writes what the other reads or writes, or both have effects: their order must stay.
  bool conflict(const Node* a, const Node* b) const;
  // A pass put `by`, which is as fresh, in the place of `old`: what is known of `old` holds for it.
  void replaced(const Value* old, const Value* by);

  using Sets = std::set<int>;
  struct Effects {
    Sets reads, writes;
    bool outside = false;
    // It may change how others compute: modes, as of gradients, and what a call does. Nothing moves
    // past it.
    bool barrier = false;
  };
  // Of the node with its blocks.
  const Effects& effects(const Node* n) const;
  // The set of a value and those of what it contains; none for numbers and strings.
  Sets sets(const Value* v) const;
  // Sets that are seen outside.
  const Sets& escaped() const noexcept { return escaped_; }

 private:
  int new_set();
  int find(int s) const;
  void unify(int a, int b);
  int contents(int s);
  int set_of(const Value* v);
  void alias(const Value* a, const Value* b);
  void to_outside(const Value* v);
  void add_closure(int s, Sets& out) const;

  void visit(const Block& b);
  void visit(const Node& n);
  bool visit_plain(const Node& n);
  void visit_constant(const Node& n);
  void visit_branches(const Node& n);
  void visit_loop(const Node& n);
  void visit_construct(const Node& n);
  void visit_unknown(const Node& n);
  void visit_operator(const Node& n);
  void visit_result(const Node& n, const FunctionSchema& s, std::size_t i);
  Effects compute_effects(const Node& n) const;

  int outside_ = 0;
  mutable std::vector<int> parents_;
  std::vector<int> contents_;  // -1: none yet
  std::unordered_map<const Value*, int> sets_;
  std::unordered_map<const void*, const Value*> constants_;  // the first of each memory
  std::unordered_map<const Node*, std::vector<int>> direct_writes_;
  Sets written_, escaped_;
  mutable std::unordered_map<const Node*, Effects> effects_;
};

}  // namespace tenon::jit
