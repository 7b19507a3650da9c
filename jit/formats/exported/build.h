// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From the graph of an exported program to a graph of ours. Values that the file names are kept in
// scopes, one for each graph of the file; graphs inside of others become blocks.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/formats/exported/json.h"
#include "jit/formats/exported/mentions.h"
#include "jit/formats/exported/tree.h"
#include "tenon/jit/unit.h"

namespace tenon::jit::formats {

// Where a constant device of the program is: asked for the name in the file.
using PlaceDevice = std::function<Device(const std::string& name)>;

// An argument of a node.
struct NodeInput {
  std::string name;  // empty: by position
  const Json* json;
  Value* value;  // null for a graph
};
using NodeInputs = std::vector<NodeInput>;

class ExportedBuilder {
 public:
  // `program` is the whole of models/NAME.json. The object of class `cls` has the parameters,
  // buffers and constants under their dotted names.
  ExportedBuilder(const Json& program, CompilationUnit& unit, ClassTypePtr cls, PlaceDevice place);
  // The graph of forward and its schema. NotImplementedError lists all operators that are missing.
  std::pair<std::shared_ptr<Graph>, FunctionSchema> build();

 private:
  struct Scope {
    std::map<std::string, Value*, std::less<>> values;
    Value* mode = nullptr;  // the innermost switch of gradients or autocast; null: none
  };
  struct UserInput {
    std::string name;  // of the value in the graph; empty: a constant
    TypePtr type;
    std::optional<IValue> constant;  // what the program was exported for
    Value* value = nullptr;
    std::string path;  // "x", "d['a'][0]"
  };
  struct Symbol {
    Value* value;
    std::string from;  // "dimension 0 of 'x'"
  };

  struct Expression {  // that a size must have the value of
    const std::string* text;
    Value* actual;
    std::string what;
  };

  // build.cpp
  void read_inputs();
  void read_input(const Json& spec);
  void add_parameters();
  Value* attribute(const std::string& dotted);
  void write_outputs();
  void write_back(const Json& spec);
  Value* build_tree(const Tree& tree, const std::vector<Value*>& leaves, std::size_t& at,
                    const TypePtr& type);
  // inputs.cpp
  void add_arguments();
  void flatten(const Tree& tree, Value* v, const std::string& path,
               const std::vector<TypePtr>& types, std::size_t& leaf);
  void check_inputs();
  void check_tensor(const UserInput& in);
  void check_number(const UserInput& in);
  void check_expression(const Json& expression, Value* actual, const std::string& what);
  void check_expressions();
  void check_guards();
  Value* guarded_size(const std::string& name, const std::string& path, int64_t dim);
  void check_range(const std::string& symbol, Value* v, const std::string& what);
  Value* evaluate(std::string_view& text, int depth);
  Value* evaluate_call(const std::string& function, std::string_view& text, int depth);
  // nodes.cpp
  void add_nodes(const Json& graph, Scope& s);
  void add_node(const Json& node, Scope& s);
  NodeInputs read_node_inputs(const Json& node, Scope& s);
  Value* argument(const Json& a, Scope& s);
  Value* symbolic(const Json& a, Scope& s);
  Value* list_argument(const std::string& tag, const Json& items, Scope& s);
  Value* named(const Json& name, Scope& s);
  void bind_outputs(const Json& node, const std::vector<Value*>& made, Scope& s);
  void bind_output(const Json& out, Value* v, Scope& s);
  std::vector<Value*> call(const std::string& target, NodeInputs inputs, Scope& s);
  std::vector<Value*> call_operator(const std::string& full_name, const NodeInputs& inputs);
  std::optional<ScalarType> dtype_beside_tensors(const Type& number);
  void make_tensors(const FunctionSchema& schema, std::vector<Value*>& arguments);
  std::optional<std::vector<Value*>> bind_schema(const FunctionSchema& schema,
                                                 const NodeInputs& inputs);
  std::vector<Value*> call_python(const std::string& target, const NodeInputs& inputs);
  std::vector<Value*> missing(const std::string& name, const NodeInputs& inputs);
  void describe(const Json& node);
  // higher.cpp
  std::vector<Value*> call_higher(const std::string& name, const NodeInputs& inputs, Scope& s);
  std::vector<Value*> inline_graph(const NodeInput& in, const std::vector<Value*>& arguments,
                                   const Scope& outer);
  std::vector<Value*> operands(const NodeInputs& inputs, std::size_t from, Scope& s);
  std::vector<Value*> items(const NodeInput& in, Scope& s);
  std::vector<Value*> conditional(const NodeInputs& inputs, Scope& s);
  std::vector<Value*> while_loop(const NodeInputs& inputs, bool stacked, Scope& s);
  std::vector<Value*> over_slices(const NodeInputs& inputs, std::size_t carried, Scope& s);
  std::vector<Value*> associative_scan(const NodeInputs& inputs, Scope& s);
  std::vector<Value*> with_grad_mode(const NodeInputs& inputs, Scope& s);
  std::vector<Value*> with_autocast(const NodeInputs& inputs, Scope& s);
  std::vector<Value*> in_dtype(const NodeInputs& inputs, Scope& s);
  std::vector<Value*> with_effects(const NodeInputs& inputs, Scope& s);
  Value* as_condition(Value* v);
  // vmap.cpp
  void add_nodes(const Json& nodes, std::size_t from, std::size_t to, Scope& s);
  std::size_t add_vmap(const Json& nodes, std::size_t from, std::size_t to, Scope& s);
  // primitives.cpp
  Value* broadcast_in_dim(const NodeInputs& inputs);
  Value* vector_of(Value* dtype);
  Value* divide(Value* a, Value* b);
  std::optional<std::vector<Value*>> rewrite_primitive(const std::string& name,
                                                       const NodeInputs& inputs);
  // names.cpp
  bool uses_output(std::size_t i);
  Value* chunked_cross_entropy(const std::string& name, const NodeInputs& inputs);
  std::optional<std::vector<Value*>> rewrite(const std::string& full_name,
                                             const NodeInputs& inputs);

  // Nodes before the insertion point.
  Value* constant(IValue v) { return graph_->insert_constant(std::move(v), range_); }
  Node* insert(std::string_view kind, const std::vector<Value*>& inputs,
               const std::vector<TypePtr>& types);
  Value* insert1(std::string_view kind, const std::vector<Value*>& inputs, TypePtr type) {
    return insert(kind, inputs, {std::move(type)})->output();
  }
  // An operator by its full name, with all arguments.
  std::vector<Value*> apply(std::string_view full_name, const std::vector<Value*>& inputs);
  Value* apply1(std::string_view full_name, const std::vector<Value*>& inputs) {
    return apply(full_name, inputs).at(0);
  }
  Value* list(const std::vector<Value*>& items, TypePtr element) {
    return insert1("prim::ListConstruct", items, Type::list(std::move(element)));
  }

  const Json& program_;
  const Json& module_;
  const Json& graph_json_;
  CompilationUnit& unit_;
  ClassTypePtr cls_;
  PlaceDevice place_;
  std::shared_ptr<Graph> graph_;
  Scope top_;
  Value* self_ = nullptr;
  std::map<std::string, Value*> attributes_;  // by dotted name: parameters and modules around them
  std::vector<UserInput> inputs_;
  std::vector<std::pair<std::string, std::string>> lifted_;  // value in the graph, attribute
  std::vector<std::string> tokens_;  // of side effects, whose order is the nodes' here
  std::map<std::string, Symbol, std::less<>> symbols_;
  std::vector<Expression> expressions_;
  FunctionSchema schema_;
  std::map<std::string, int64_t> missing_;
  std::shared_ptr<Source> source_;
  SourceRange range_;
  int depth_ = 0;               // of graphs in graphs
  const Json* node_ = nullptr;  // at hand
  const Json* graph_at_hand_;   // that has the node
  Names used_;                  // by nodes and as results, once somebody asked
  int64_t nodes_ = 0;
};

}  // namespace tenon::jit::formats
