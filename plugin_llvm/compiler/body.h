// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Values of a nest's nodes at points, reads and stores, within the loops that emit.cpp makes.
#pragma once

#include <map>
#include <tuple>

#include "plugin_llvm/compiler/values.h"
#include "plugin_llvm/spec/spec.h"
#include "tenon/abi/primitives.h"

namespace tenon::llvm_loops {

// Of a tile: steps along its loops, and vectors along a named vector loop.
struct Point {
  int first = 0, second = 0, vector = 0;
};

class Body {
 public:
  using V = llvm::Value*;
  Body(const Spec& spec, int lanes, llvm::Module& module, llvm::IRBuilder<>& builder);

  V begin();  // makes the function; its argument `first`
  V argument(unsigned i) { return function_->getArg(i); }
  Values& values() { return o_; }
  int lanes() const { return static_cast<int>(o_.lanes()); }
  V number(int i) { return numbers_[static_cast<std::size_t>(i)]; }
  V extent(int loop) { return number(loop); }
  V& index(int loop) { return indices_[static_cast<std::size_t>(loop)]; }
  // Steps of the last reduced loop from its index on to where values are.
  void go_ahead(int steps) { ahead_ = steps; }

  // Where indices have changed. `left`: elements of the vector `partial` that count; null: all.
  void enter(V left, int partial = 0);
  V left() const { return left_; }
  int partial() const { return partial_; }
  V mask() const { return mask_; }

  V value(int node, const Point& p);
  void provide(int node, const Point& p, V v);  // its value, which is not computed here
  // Of a store of the nest.
  V get(int store, const Point& p);          // what stands where it writes
  void put(int store, const Point& p, V v);  // along the vector, or one element

 private:
  // Sets which mask is in force until it goes.
  class AtPoint {
   public:
    AtPoint(Body& body, const Point& p) : body_(body), before_(body.in_force_) {
      body.in_force_ = p.vector == body.partial_ ? body.mask_ : nullptr;
    }
    ~AtPoint() { body_.in_force_ = before_; }
    AtPoint(const AtPoint&) = delete;
    AtPoint& operator=(const AtPoint&) = delete;

   private:
    Body& body_;
    V before_;
  };

  // An element's place: a pointer to it or to the first of a vector; `offsets` of a gather.
  struct Place {
    V pointer = nullptr;
    V offsets = nullptr;
  };

  void find_dependencies();
  const Access& access(int i) const { return spec_.accesses[static_cast<std::size_t>(i)]; }
  int access_of_node(int node) const;
  int access_of_store(int store) const;
  std::tuple<int, int, int, int> key_of(int node, const Point& p) const;
  V current(int loop, const Point& p);  // the loop's index, at lane 0
  V make(int node, const Point& p);
  V read(int node, const Point& p);
  V offset(int access, const Point& p);
  bool is_ahead(int loop) const { return ahead_ > 0 && loop == layout_.loops - 1; }
  Place place(int access, const Point& p);
  void add_indices(V& offset, int access, const Point& p);
  V load(llvm::Type* element, const Place& place, bool is_constant);
  V loop_value(int loop, const Point& p);
  void guard(int node, V x, V y);
  void report(V bad, int code, int node, int dim, V index, V limit);
  V full_mask() { return llvm::Constant::getAllOnesValue(o_.vector_of(b_.getInt1Ty())); }
  V steps();  // 0, 1, 2, ...

  const Spec& spec_;
  Layout layout_;
  llvm::Module& module_;
  llvm::IRBuilder<>& b_;
  Values o_;
  llvm::Function* function_ = nullptr;
  std::vector<V> numbers_, reals_, arrays_, indices_;
  std::vector<uint32_t> depends_;  // by node: bits of loops
  std::map<std::tuple<int, int, int, int>, V> made_;
  V left_ = nullptr, mask_ = nullptr;
  int partial_ = 0;
  int ahead_ = 0;
  V in_force_ = nullptr;  // the mask, where it holds for the point that is computed
};

}  // namespace tenon::llvm_loops
