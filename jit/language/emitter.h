// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Compiles the body of one function into a graph. Values of variables are kept by scope, so that
// the graph is made in single static assignment at once: an if merges what its branches assigned,
// a loop carries what its body assigns. A statement that may leave its block (return, break,
// continue) sets flags, which are hidden variables; what follows it stands in the branch that does
// not leave, or under a condition on the flag.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/language/emit.h"
#include "jit/language/match.h"
#include "jit/language/sugar.h"
#include "jit/language/tree.h"

namespace tenon::jit::language {

// What surrounds the text that is compiled.
struct Scope {
  CompilationUnit* unit;
  std::string prefix;  // "__torch__.models": names of the text are looked up under it
  std::shared_ptr<const Resolver> resolver;
  // Types that are defined by the same file, and not known to the unit yet.
  std::function<TypePtr(const std::string&)> local_type;
};
using ScopePtr = std::shared_ptr<const Scope>;

TypePtr annotated_type(const Expr& e, const Scope& scope);
// "a.b.c" of names and attributes; empty for anything else.
std::string dotted_name(const Expr& e);
TypePtr find_type(const std::string& name, const Scope& scope);        // null if there is none
Function* find_function(const std::string& name, const Scope& scope);  // null if there is none
// The value of an expression that is known without running anything: defaults of parameters,
// constants of classes.
IValue constant_value(const Expr& e, const Scope& scope, const TypePtr& type);
// CONSTANTS.c0, torch.float32.
std::optional<IValue> named_constant(const std::string& dotted, const Scope& scope);
// The functions of torch.nn.functional that are not operators; null if there is none.
Function* functional(CompilationUnit& unit, std::string_view name);
inline constexpr const char* kFunctionalPrefix = "__torch__.tenon.functional";
bool is_functional(const std::string& name);
// Bounds how deeply compilation recurses, functions that compile functions included.
struct Recursion {
  explicit Recursion(const SourceRange& where);
  ~Recursion();
  Recursion(const Recursion&) = delete;
};

// How control leaves statements.
struct Flow {
  bool next = true;  // it may go on after them
  bool returns = false, breaks = false, continues = false;
  bool leaves() const noexcept { return returns || breaks || continues; }
};

struct Frame {
  Frame* parent = nullptr;
  int level = 0;         // assignments at a deeper level keep the type of the variable
  bool is_loop = false;  // the body of a loop
  std::map<std::string, SugarPtr> variables;
  std::map<std::string, std::string> errors;  // why a variable has no value
};

struct Refinement {
  std::string name;
  TypePtr type;
};
struct Condition {
  Value* value = nullptr;
  std::optional<bool> known;  // the other branch is not compiled
  std::vector<Refinement> if_true, if_false;
};

// How to go over something: over known items, or by an index below `length`.
struct Iteration {
  bool unrolled = false;
  std::vector<SugarPtr> items;
  Value* length = nullptr;
  std::function<SugarPtr(Value* index)> at;
};

class Emitter {
 public:
  Emitter(ScopePtr scope, std::shared_ptr<Graph> graph, Emitter* outer = nullptr);
  // The graph's inputs are the parameters. Returns the type of the result.
  TypePtr function(const Def& def, const FunctionSchema& schema, const TypePtr& declared_return);

 private:
  // environment.cpp
  SugarPtr find_variable(const std::string& name);
  SugarPtr find_outside(const std::string& name);  // in frames of lower levels
  SugarPtr lookup(const std::string& name, const SourceRange& range);
  void set_variable(const std::string& name, SugarPtr value, const SourceRange& range,
                    const TypePtr& annotation = nullptr);
  void set_hidden(const std::string& name, Value* v);
  void refine(const std::vector<Refinement>& refinements, const SourceRange& range);
  Value* uninitialized(const SourceRange& range, TypePtr type);
  Value* constant(IValue v, const SourceRange& range, TypePtr type = nullptr);
  std::string flag(const char* what) const;  // "$skip2": the flag of the innermost loop
  struct Branch {
    Block* block;
    std::unique_ptr<Frame> frame;
    Flow flow;
  };
  void merge(Node* node, Branch& a, Branch& b, const SourceRange& range);
  bool merge_variable(const std::string& name, Node* node, Branch& a, Branch& b,
                      const SourceRange& range);
  Value* value_in(Branch& branch, const std::string& name);
  void in_branch(Branch& branch, const std::function<void()>& f);
  Branch new_branch(Node* node);

  // statements.cpp
  using Statements = std::pair<const StmtPtr*, const StmtPtr*>;
  Flow statements(Statements list);
  Flow body(const Body& b) { return statements({b.data(), b.data() + b.size()}); }
  Flow statement(const Stmt& s, Statements& rest);
  void assign(const Stmt& s);
  void assign_to(const Expr& target, SugarPtr value, const SourceRange& range,
                 const TypePtr& annotation = nullptr);
  void assign_tuple(const Expr& target, const SugarPtr& value, const SourceRange& range);
  void assign_attribute(const Expr& target, const SugarPtr& value, const SourceRange& range);
  void assign_subscript(const Expr& target, Value* value, const SourceRange& range);
  void augmented_assign(const Stmt& s);
  Value* augmented(const std::string& op, Value* left, Value* right, const SourceRange& range);
  void augmented_subscript(const Stmt& s, const Expr& target);
  Flow emit_return(const Stmt& s);
  Flow emit_leave(const Stmt& s);
  Flow emit_raise(const Stmt& s);
  Flow emit_assert(const Stmt& s);
  Flow emit_with(const Stmt& s);
  void emit_expression(const Stmt& s);
  void leave_contexts(std::size_t down_to, const SourceRange& range);
  void emit_delete(const Stmt& s);

  // control.cpp
  Flow emit_if(const Stmt& s, Statements& rest);
  Flow guard(const Stmt& s, Statements& rest);
  Flow emit_for(const Stmt& s);
  Flow emit_while(const Stmt& s);
  Flow unrolled_for(const Stmt& s, const Iteration& over);
  struct Loop {
    Node* node;
    std::unique_ptr<Frame> frame;
    std::vector<std::string> carried;
    bool returns;
  };
  Loop begin_loop(const Stmt& s, Value* limit, Value* condition);
  Flow end_loop(Loop& loop, const Flow& flow, const Stmt& s,
                const std::function<Value*()>& condition);
  Value* next_condition(const Flow& flow, const SourceRange& range,
                        const std::function<Value*()>& condition);
  Condition condition(const Expr& e);
  Condition condition_of_and(const Expr& e);
  Condition condition_of_none(const Expr& e);
  Condition condition_of_isinstance(const Expr& e);
  Condition known(bool value, const SourceRange& range);
  Value* to_bool(Value* v, const SourceRange& range);

  // values.cpp
  Value* expression(const Expr& e, const TypePtr& hint = nullptr);
  SugarPtr sugared(const Expr& e, const TypePtr& hint = nullptr);
  Value* as_value(const SugarPtr& s, const SourceRange& range);
  Value* binary(const Expr& e);
  Value* unary(const Expr& e);
  Value* compare(const Expr& e);
  Value* compare_values(const std::string& op, Value* left, Value* right, const SourceRange& range);
  Value* ternary(const Expr& e, const TypePtr& hint);
  Value* list_literal(const Expr& e, const TypePtr& hint);
  Value* dict_literal(const Expr& e, const TypePtr& hint);
  Value* tuple_literal(const Expr& e, const TypePtr& hint);
  Value* list_of(std::vector<Value*> values, const TypePtr& hint, const SourceRange& range);
  Value* comprehension(const Expr& e, const TypePtr& hint);
  Value* collect(const SugarPtr& over, const SourceRange& range, const TypePtr& hint);
  void comprehension_loop(const Iteration& over, const Expr* target, const SourceRange& range,
                          const std::function<void(const SugarPtr&)>& add);
  Value* formatted_string(const Expr& e);
  // Operators that classes may define.
  Value* magic(const char* method, const std::string& op, const SourceRange& range,
               const std::vector<Value*>& args);
  Value* call_operator(const std::string& op, const SourceRange& range,
                       const std::vector<Value*>& args);

  // subscripts.cpp
  SugarPtr sugared_subscript(const Expr& e, const TypePtr& hint);
  Value* module_at(Value* container, Value* index, const TypePtr& type, const SourceRange& range);
  Value* slice(const Expr& e, Value* of, Value* dim, const SourceRange& range);
  Value* tuple_subscript(const Expr& e, Value* tuple);
  std::pair<Value*, std::vector<Value*>> index_tensor(Value* tensor,
                                                      const std::vector<ExprPtr>& index,
                                                      const SourceRange& range);
  Value* optional_tensors(const std::vector<Value*>& indices, const SourceRange& range);
  Value* number_to_tensor(Value* v, Value* as, const SourceRange& range);
  std::optional<int64_t> known_int(const Expr& e);

  // iterate.cpp
  Iteration iterate(const SugarPtr& s, const SourceRange& range);
  Iteration iterate_value(Value* v, const SourceRange& range);
  Iteration iterate_zip(const std::vector<SugarPtr>& items, const SourceRange& range);
  Iteration iterate_enumerate(const Sugar& s, const SourceRange& range);
  std::optional<std::vector<SugarPtr>> children(Value* module, const SourceRange& range,
                                                bool with_names, bool any = false);

  // attributes.cpp
  SugarPtr attribute(const SugarPtr& of, const std::string& name, const SourceRange& range);
  SugarPtr attribute_of_value(Value* v, const std::string& name, const SourceRange& range);
  SugarPtr attribute_of_class(Value* v, const std::string& name, const SourceRange& range);
  SugarPtr attribute_of_type(const TypePtr& t, const std::string& name, const SourceRange& range);
  Value* enum_value(Value* v, const SourceRange& range);
  bool has_attribute(Value* v, const std::string& name);
  SugarPtr global(const std::string& name, const SourceRange& range);
  SugarPtr in_namespace(const std::string& space, const std::string& name,
                        const SourceRange& range);
  SugarPtr of_program(const std::string& dotted, const SourceRange& range);

  // calls.cpp
  SugarPtr call(const Expr& e, const TypePtr& hint);
  SugarPtr call_sugar(const SugarPtr& callee, const std::vector<NamedValue>& args,
                      const SourceRange& range, const TypePtr& hint);
  std::vector<NamedValue> arguments(const Expr& e, std::size_t skip = 0);
  Value* call_function(Function& f, const std::vector<NamedValue>& args, const SourceRange& range);
  Value* call_method(Value* self, const std::string& name, std::vector<NamedValue> args,
                     const SourceRange& range);
  SugarPtr call_type(const TypePtr& type, const std::vector<NamedValue>& args,
                     const SourceRange& range);
  Value* construct_named_tuple(const TypePtr& type, const std::vector<NamedValue>& args,
                               const SourceRange& range);
  Value* cast(const Sugar& s, const std::vector<NamedValue>& args, const SourceRange& range);
  Value* call_builtin(const Sugar& s, const std::vector<NamedValue>& args, const SourceRange& range,
                      const TypePtr& hint);

  // special.cpp: forms that are not ordinary calls
  SugarPtr special(const Sugar& s, const Expr& e, const TypePtr& hint);
  SugarPtr special_range(const Expr& e);
  SugarPtr special_getattr(const Expr& e);
  Value* special_hasattr(const Expr& e);
  Value* special_list(const Expr& e, const TypePtr& hint);
  Value* special_dict(const Expr& e, const TypePtr& hint);
  SugarPtr special_tuple(const Expr& e);
  Value* special_print(const Expr& e);
  Value* special_annotate(const Expr& e);
  Value* special_tolist(Value* tensor, const TypePtr& hint, const SourceRange& range);
  Value* special_extremum(const std::string& name, const Expr& e);
  Value* special_fork(const Expr& e);
  SugarPtr special_sequence(const std::string& name, const Expr& e);
  TypePtr type_argument(const Expr& e, std::size_t i);

  ScopePtr scope_;
  std::shared_ptr<Graph> graph_;
  Graph& g_;
  Emitter* outer_;
  Node* capture_ = nullptr;  // prim::fork whose inputs are what the closure uses
  Frame* frame_ = nullptr;
  Frame root_;
  int loops_ = 0;                                 // how many loops are open
  std::vector<std::pair<Value*, int>> contexts_;  // open `with`, by the loops around them
  std::string function_name_;
  SourceRange function_range_;
  TypePtr declared_return_, merged_return_;
  std::vector<Value*> return_values_;  // get their type when it is known
};

// Removes what nothing uses: constants, casts, outputs of conditions; empty list literals become
// lists.
void clean_up(Graph& graph);
// Names that statements assign.
void assigned_names(const Body& body, std::set<std::string>& out);
bool contains_return(const Body& body);

}  // namespace tenon::jit::language
