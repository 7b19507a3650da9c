// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How freeze makes a module: its methods with all calls put in, reads of attributes replaced by
// constants, and a class with what is left.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/jit/module.h"

namespace tenon::jit {

inline const ClassType& class_of(const ivalue::Object& o) {
  return static_cast<const ClassType&>(*o.type);
}

class Freezer {
 public:
  // Error and ValueError as freeze says. `keep_operators` as inline_calls takes it.
  Freezer(const Module& module, const std::vector<std::string>& preserved,
          bool keep_operators = false);
  Module run();

 private:
  using Object = ivalue::Object;
  using Key = std::pair<const Object*, int>;  // an attribute
  struct Method {
    Function* from;
    std::shared_ptr<Graph> graph;
  };
  struct Constant {
    Key key;
    const Value* value;
  };

  void preserve(const std::string& name);
  void add_method(Function* f);
  void keep_all(const Object& o);
  // The attributes of modules that values are; calls by interface become known, and are put in.
  void find_objects(Graph& g);
  void find_objects(Block& b);
  void visit_read(Node& n, const Object& o);
  void visit_fork(Node& n);
  void visit_uses(const Value* v);
  // Reads of attributes that nobody writes become constants.
  void insert_constants(Graph& g);
  void insert_constants(Block& b, std::map<Key, Value*>& known, std::vector<Constant>& made);
  bool may_be_constant(const Key& k) const;
  Value* insert_constant(Graph& g, const Key& k);
  // What is written stays an attribute, with all that shares its memory. True if there is any.
  bool keep_written();
  void build();

  // The new module.
  bool is_needed(const Object& o) const;
  void add_kept_values();
  core::Ref<Object> make_object(const Object& from);
  void use_types(Block& b);
  void make_methods(const ClassTypePtr& cls);

  const Module& module_;
  const Object* self_;
  bool keep_operators_;
  std::vector<Function*> methods_;
  std::vector<Method> made_;
  std::set<Key> kept_;
  std::set<const Object*> whole_;  // used otherwise than by their attributes
  bool found_more_ = false;
  std::unordered_map<const Value*, const Object*> objects_;
  std::vector<std::pair<std::shared_ptr<Graph>, std::vector<Constant>>> constants_;
  std::map<const void*, Tensor> detached_;

  std::shared_ptr<CompilationUnit> unit_;
  std::map<const Object*, core::Ref<Object>> new_objects_;
  std::map<Key, IValue> values_;  // copies of what is kept
};

// As freeze without optimize_numerics, for exporters: functions that stand for operators, as those
// of packed sequences, are these. The module may be in training mode.
TENON_API Module freeze_with_operators(const Module& module);

}  // namespace tenon::jit
