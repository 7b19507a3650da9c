// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which loop programs are valid, whoever made them. check() throws Error naming the nest and node;
// whatever passes can be printed, parsed and, with sizes for which bind_sizes() passes, run. Rules
// beyond those of the types:
//  - operands have one dtype, that of the result but for tests, casts and conditions;
//  - an assignment names each loop of positive extent in its indices, so that no element is stored
//    twice; a reduction runs over the loops that its indices do not name;
//  - a nest neither reads an array that it stores, nor stores one twice;
//  - a schedule names loops and arrays that are there, each loop once in each of its parts.
#ifndef TENON_SDK_LOOP_PROGRAM_CHECK_H_
#define TENON_SDK_LOOP_PROGRAM_CHECK_H_

#include <set>

#include "tenon/abi/primitives.h"
#include "tenon/sdk/loop_program/names.h"
#include "tenon/sdk/loop_program/scan.h"

namespace tenon::sdk::loop_program {

class Checker {
 public:
  explicit Checker(const Program& program) : program_(program) {}

  void check() {
    check_sizes();
    for (const Parameter& it : program_.parameters) {
      add_name(names_, it.name);
      if (it.dtype != Dtype::kInt64 && it.dtype != Dtype::kDouble)
        fail("parameter " + it.name + " is int64 or float64, not " + word(it.dtype));
    }
    for (const Array& array : program_.arrays) check_array(array);
    for (const Nest& nest : program_.nests) check_nest(nest);
  }

 private:
  static constexpr int64_t max_coefficient = int64_t{1} << 40;
  static constexpr size_t max_rank = 16;

  [[noreturn]] void fail(const std::string& what) const {
    std::string where = "loop program";
    if (nest_ >= 0) where += ", nest " + std::to_string(nest_);
    if (node_ >= 0) where += ", %" + std::to_string(node_);
    throw Error(where + ": " + what);
  }

  static std::string word(Dtype dtype) { return std::string(dtype_name(dtype)); }

  void require_dtype(Dtype given, Dtype expected, const char* what) const {
    if (given != expected)
      fail(std::string(what) + " is " + word(given) + ", expected " + word(expected));
  }

  void add_name(std::set<std::string>& names, const std::string& name) const {
    if (!is_name(name)) fail("'" + name + "' cannot be a name");
    if (names_.count(name) > 0 || !names.insert(name).second) fail("two things are named " + name);
  }

  void check_affine(const Affine& value, size_t loops, size_t sizes) const {
    check_coefficient(value.constant);
    check_terms(value.loops, loops, "loop");
    check_terms(value.sizes, sizes, "size");
  }

  void check_coefficient(int64_t value) const {
    if (value > max_coefficient || value < -max_coefficient)
      fail("a coefficient is beyond 2^40: " + std::to_string(value));
  }

  void check_terms(const Affine::Terms& terms, size_t n, const char* what) const {
    int last = -1;
    for (const auto& [index, by] : terms) {
      if (index < 0 || static_cast<size_t>(index) >= n)
        fail(std::string("there is no ") + what + " " + std::to_string(index) + " here");
      if (index <= last || by == 0) fail("the terms of an affine value are not in their one form");
      check_coefficient(by);
      last = index;
    }
  }

  void check_sizes() {
    for (size_t i = 0; i < program_.sizes.size(); ++i) {
      const Size& size = program_.sizes[i];
      add_name(names_, size.name);
      check_affine(size.numerator, 0, i);
      check_coefficient(size.divisor);
      if (size.divisor <= 0) fail("size " + size.name + " is divided by a number below 1");
    }
  }

  void check_array(const Array& array) {
    add_name(names_, array.name);
    if (array.shape.size() > max_rank) fail("array " + array.name + " has more than 16 dimensions");
    for (const Affine& it : array.shape) check_affine(it, 0, program_.sizes.size());
  }

  void check_nest(const Nest& nest) {
    ++nest_;
    if (nest.loops.size() > max_rank) fail("more than 16 loops");
    std::set<std::string> names;
    for (const Loop& it : nest.loops) {
      add_name(names, it.name);
      check_affine(it.extent, 0, program_.sizes.size());
    }
    for (const Node& it : nest.nodes) {
      ++node_;
      check_node(nest, it);
    }
    node_ = -1;
    if (nest.stores.empty()) fail("nothing is stored");
    std::set<int> stored;
    for (const Store& it : nest.stores) check_store(nest, it, stored);
    for (const Node& it : nest.nodes)
      if (it.kind == Kind::kRead && stored.count(it.source) > 0)
        fail("it reads " + program_.arrays[it.source].name + ", which it stores");
    check_schedule(nest);
  }

  void check_count(int64_t n, int64_t most, const char* what) const {
    if (n < 1 || n > most)
      fail(std::string("the schedule's ") + what + " is " + std::to_string(n) + ", expected 1 to " +
           std::to_string(most));
  }

  void check_schedule(const Nest& nest) const {
    const Schedule& it = nest.schedule;
    std::set<int> tiled;
    const auto check_loop = [&](int i) {
      if (i < 0 || static_cast<size_t>(i) >= nest.loops.size())
        fail("the schedule names loop " + std::to_string(i) + ", which is not there");
    };
    for (const int i : it.order) check_loop(i);
    if (!it.order.empty() &&
        std::set<int>(it.order.begin(), it.order.end()).size() != nest.loops.size())
      fail("the schedule's order does not name each loop once");
    if (it.order.size() > nest.loops.size()) fail("the schedule's order names a loop twice");
    if (it.vector >= 0) {
      check_loop(it.vector);
      check_count(it.vectors, 16, "number of vectors");
    }
    for (const auto& [i, points] : it.tiles) {
      check_loop(i);
      check_count(points, 64, "tile");
      if (i == it.vector || !tiled.insert(i).second)
        fail("the schedule tiles loop " + nest.loops[i].name + " twice or along vectors");
    }
    for (const int i : it.packed)
      if (i < 0 || static_cast<size_t>(i) >= program_.arrays.size())
        fail("the schedule packs array " + std::to_string(i) + ", which is not there");
    if (it.grain != 0) check_count(it.grain, int64_t{1} << 40, "grain");
  }

  Dtype operand(const Nest& nest, const Node& node, int i) const {
    const int at = node.operands[i];
    if (at < 0 || at >= node_) fail("%" + std::to_string(at) + " is not a node before this one");
    return nest.nodes[at].dtype;
  }

  template <typename List>
  const auto& source(const List& list, const Node& node, const char* what) const {
    if (node.source < 0 || static_cast<size_t>(node.source) >= list.size())
      fail(std::string("there is no such ") + what);
    return list[node.source];
  }

  void check_node(const Nest& nest, const Node& node) const {
    switch (node.kind) {
      case Kind::kConstant:
        if (node.dtype == Dtype::kBool && node.integer != 0 && node.integer != 1)
          fail("a bool constant is 0 or 1");
        return;
      case Kind::kParameter:
        return require_dtype(node.dtype, source(program_.parameters, node, "parameter").dtype,
                             "it");
      case Kind::kLoop:
        source(nest.loops, node, "loop");
        return require_dtype(node.dtype, Dtype::kInt64, "it");
      case Kind::kSize:
        source(program_.sizes, node, "size");
        return require_dtype(node.dtype, Dtype::kInt64, "it");
      case Kind::kRead:
        return check_read(nest, node);
      case Kind::kCast:
        operand(nest, node, 0);
        return;
      case Kind::kUnary:
        return check_unary(node, operand(nest, node, 0));
      case Kind::kBinary:
        return check_binary(nest, node);
      case Kind::kSelect:
        require_dtype(operand(nest, node, 0), Dtype::kBool, "the condition");
        require_dtype(operand(nest, node, 2), operand(nest, node, 1), "the third operand");
        return require_dtype(node.dtype, operand(nest, node, 1), "it");
      case Kind::kPhilox:
        for (int i = 0; i < 3; ++i)
          require_dtype(operand(nest, node, i), Dtype::kInt64, "an operand");
        return require_dtype(node.dtype, Dtype::kInt32, "it");
    }
  }

  void check_read(const Nest& nest, const Node& node) const {
    const Array& array = source(program_.arrays, node, "array");
    require_dtype(node.dtype, array.dtype, "it");
    if (node.indices.size() != array.shape.size())
      fail(array.name + " has " + std::to_string(array.shape.size()) + " dimensions, given " +
           std::to_string(node.indices.size()) + " indices");
    for (const Index& it : node.indices) {
      if (it.bound == Bound::kProven) {
        check_affine(it.affine, nest.loops.size(), program_.sizes.size());
        continue;
      }
      if (it.node < 0 || it.node >= node_) fail("an index is not a node before this one");
      const Dtype dtype = nest.nodes[it.node].dtype;
      if (is_floating(dtype) || dtype == Dtype::kBool) fail("an index is of dtype " + word(dtype));
    }
  }

  void check_unary(const Node& node, Dtype self) const {
    const std::string name(unary_name(node.code));
    if (node.code >= TN_UNARY_SQRT && node.code < first_test && !is_floating(self))
      fail(name + " takes floating dtypes, not " + word(self));
    if (node.code == TN_UNARY_BITWISE_NOT && is_floating(self))
      fail(name + " takes integers, not " + word(self));
    if (node.code == TN_UNARY_NEG && self == Dtype::kBool) fail("neg takes numbers, not bool");
    require_dtype(node.dtype, node.code >= first_test ? Dtype::kBool : self, "it");
  }

  static bool takes_floats_only(int code) {
    return code == TN_BINARY_DIV || (code >= TN_BINARY_ATAN2 && code <= TN_BINARY_XLOGY) ||
           (code >= TN_BINARY_XLOG1PY && code < first_test);
  }

  void check_binary(const Nest& nest, const Node& node) const {
    const Dtype self = operand(nest, node, 0);
    const std::string name(binary_name(node.code));
    require_dtype(operand(nest, node, 1), self, "the second operand");
    if (takes_floats_only(node.code) && !is_floating(self))
      fail(name + " takes floating dtypes, not " + word(self));
    if (node.code >= TN_BINARY_GCD && node.code <= TN_BINARY_SHIFT_RIGHT) {
      if (is_floating(self)) fail(name + " takes integers, not " + word(self));
      const bool bitwise = node.code >= TN_BINARY_BITWISE_AND && node.code <= TN_BINARY_BITWISE_XOR;
      if (self == Dtype::kBool && !bitwise) fail(name + " takes integers, not bool");
    }
    const bool of_bool = node.code == TN_BINARY_ADD || node.code == TN_BINARY_MUL ||
                         node.code == TN_BINARY_MAX || node.code == TN_BINARY_MIN ||
                         node.code >= TN_BINARY_BITWISE_AND;
    if (self == Dtype::kBool && !of_bool) fail(name + " takes numbers, not bool");
    require_dtype(node.dtype, node.code >= first_test ? Dtype::kBool : self, "it");
  }

  void check_store(const Nest& nest, const Store& store, std::set<int>& stored) const {
    if (store.array < 0 || static_cast<size_t>(store.array) >= program_.arrays.size())
      fail("a store into no array");
    const Array& array = program_.arrays[store.array];
    if (array.role == Role::kInput) fail(array.name + " is an input and cannot be stored");
    if (!stored.insert(store.array).second) fail(array.name + " is stored twice");
    if (store.node < 0 || static_cast<size_t>(store.node) >= nest.nodes.size())
      fail("what is stored in " + array.name + " is not a node");
    require_dtype(nest.nodes[store.node].dtype, array.dtype,
                  ("what " + array.name + " takes").c_str());
    if (store.indices.size() != array.shape.size())
      fail(array.name + " has " + std::to_string(array.shape.size()) + " dimensions, given " +
           std::to_string(store.indices.size()) + " indices");
    std::set<int> named;
    for (const Affine& it : store.indices) {
      check_affine(it, nest.loops.size(), program_.sizes.size());
      if (it.loops.size() > 1 || (it.loops.size() == 1 && it.loops[0].second != 1))
        fail("an index of " + array.name + " is more than one loop plus constants and sizes");
      if (it.loops.size() == 1 && !named.insert(it.loops[0].first).second)
        fail("two indices of " + array.name + " are of one loop");
    }
    if (store.update != Update::kAssign) return;
    if (store.from_neutral) fail("an assignment has no neutral element");
    if (named.size() != nest.loops.size())
      fail("an assignment to " + array.name + " that does not name all loops");
  }

  const Program& program_;
  std::set<std::string> names_;
  int nest_ = -1;
  int node_ = -1;
};

inline void check(const Program& program) { Checker(program).check(); }

}  // namespace tenon::sdk::loop_program

#endif
