// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions, and the unit that owns them and the types of a program.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/jit/graph.h"
#include "tenon/jit/operator.h"
#include "tenon/jit/schema.h"

namespace tenon::jit {

class Plan;

// A function or method of a program; the first argument of a method is self. Owned by its unit.
class TENON_API Function {
 public:
  // `define` makes the graph and the schema's types when they are first asked for: functions may
  // call each other in any order.
  Function(std::string qualified_name, std::shared_ptr<Graph> graph, FunctionSchema schema,
           std::function<void(Function&)> define = nullptr);
  ~Function();
  const std::string& qualified_name() const noexcept { return qualified_name_; }
  std::string_view name() const noexcept;  // the last part
  const FunctionSchema& schema() const { return ensure_defined().schema_; }
  const std::shared_ptr<Graph>& graph() const { return ensure_defined().graph_; }
  void set_schema(FunctionSchema s) { schema_ = std::move(s); }
  SchemaView getSchema() const { return SchemaView(schema()); }
  std::size_t num_inputs() const;  // of the graph; a method's self is one
  const std::string& doc_string() const noexcept { return doc_; }  // of classes of C++
  void set_doc_string(std::string text) { doc_ = std::move(text); }
  // Forgets the plan: no run may be in progress.
  void set_graph(std::shared_ptr<Graph> g);
  const Function& ensure_defined() const;
  bool is_being_defined() const noexcept { return state_ == State::BeingDefined; }

  // Takes the arguments off the stack and puts the one result there (None for none). Many threads
  // may run one function.
  void run(Stack& stack) const;
  // With keywords and defaults, checked against the schema: TypeError and ValueError name the
  // argument.
  IValue operator()(std::vector<IValue> arguments,
                    const std::map<std::string, IValue>& keywords = {}) const;
  // Called with all arguments in order, as `run` needs them.
  std::vector<IValue> bind(std::vector<IValue> arguments,
                           const std::map<std::string, IValue>& keywords) const;
  const Plan& plan() const;                                 // made at the first run
  CompilationUnit* unit() const noexcept { return unit_; }  // null: of none

 private:
  friend class CompilationUnit;
  enum class State { ToDefine, BeingDefined, Defined };
  std::string qualified_name_, doc_;
  std::shared_ptr<Graph> graph_;
  FunctionSchema schema_;
  std::function<void(Function&)> define_;
  std::atomic<State> state_;
  std::atomic<const Plan*> plan_{nullptr};
  CompilationUnit* unit_ = nullptr;
};

// A function of the host with all arguments of its schema; one value is its result.
using HostFunctionBody = std::function<IValue(std::vector<IValue> arguments)>;

class TENON_API CompilationUnit : public std::enable_shared_from_this<CompilationUnit> {
 public:
  CompilationUnit();
  ~CompilationUnit();
  CompilationUnit(const CompilationUnit&) = delete;

  Function* find_function(std::string_view qualified_name) const;  // null if there is none
  Function& get_function(std::string_view qualified_name) const;   // IndexError names the closest
  Function* add_function(std::unique_ptr<Function> f);  // ValueError if the name is taken
  std::vector<Function*> functions() const;
  std::vector<Function*> get_functions() const { return functions(); }
  TypePtr find_type(std::string_view qualified_name) const;  // classes, named tuples, enums
  ClassTypePtr find_class(std::string_view qualified_name) const;
  void add_type(TypePtr t);
  const std::vector<TypePtr>& types() const noexcept { return types_; }
  // Makes what is not known yet when a name is first asked for: archives compile their code as it
  // is needed. May be null. Called with a qualified name of a type or function.
  std::function<void(std::string_view)> importer;
  // What the reader of an archive keeps for writing it again; may be null.
  struct Kept {
    virtual ~Kept() = default;
  };
  std::shared_ptr<const Kept> kept;
  // The text of functions, as in `jit::compile`. Errors show the line with a caret.
  void define(const std::string& text);
  IValue run_method(std::string_view name, std::vector<IValue> arguments);
  template <class... A>
  IValue run_method(std::string_view name, A&&... arguments) {
    return run_method(name, std::vector<IValue>{IValue(std::forward<A>(arguments))...});
  }
  // A function that programs of this unit call by name and that the host computes:
  // "scale(Tensor x, float by) -> Tensor". Such programs run, and cannot be saved. Errors of `f` go
  // through to the caller.
  Function* add_host_function(const std::string& schema, HostFunctionBody f);
  Function* add_host_function(FunctionSchema schema, HostFunctionBody f);
  // Another unit, whose functions and classes this one's use, lives as long as this one.
  void keep(const std::shared_ptr<CompilationUnit>& other);

 private:
  bool keeps(const CompilationUnit& other) const;
  std::vector<std::shared_ptr<CompilationUnit>> kept_units_;
  std::vector<std::unique_ptr<Operator>> host_operators_;
  std::vector<std::unique_ptr<Function>> functions_;
  std::map<std::string, Function*, std::less<>> by_name_;
  std::vector<TypePtr> types_;
  std::map<std::string, TypePtr, std::less<>> types_by_name_;
};

}  // namespace tenon::jit
