// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From the graph of a model to a graph of ours.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/import/item.h"
#include "onnx/import/table.h"
#include "onnx/import/tensors.h"
#include "tenon/jit/module.h"

namespace tenon::onnx {

using jit::Graph;
using jit::Value;

using Opsets = std::map<std::string, int64_t>;  // version by domain
using Attributes = std::map<std::string, const pb::AttributeProto*, std::less<>>;

// One node of the model while it becomes nodes of ours.
struct Call {
  const pb::NodeProto& node;
  std::string domain;
  int64_t version;
  std::vector<ItemPtr> inputs;
  Attributes attributes;  // references of functions are resolved
  const Opsets& opsets;   // of the model, or of the function that the node is in
  const Scope* scope;     // what graphs in attributes see

  bool has(std::string_view name) const { return attributes.count(name) != 0; }
  const pb::AttributeProto* find(std::string_view name) const;
  // ValueError where the attribute is of another type.
  int64_t integer(std::string_view name, int64_t or_else) const;
  double real(std::string_view name, double or_else) const;
  std::string text(std::string_view name, const std::string& or_else) const;
  std::vector<int64_t> integers(std::string_view name) const;
  const pb::GraphProto& graph(std::string_view name) const;
  const ItemPtr& input(std::size_t i) const;  // error if it is left out
  ItemPtr optional_input(std::size_t i) const { return i < inputs.size() ? inputs[i] : nullptr; }
  std::size_t n_outputs() const { return static_cast<std::size_t>(node.output_size()); }
};

class Builder {
 public:
  // `module` gets the tensors that become parameters and buffers.
  Builder(pb::ModelProto& model, jit::Module module, const ExternalData& external);
  // Adds forward to the module.
  void build();

  // Forms of a value. Each is made where the value is, and kept.
  Value* tensor(const ItemPtr& i);
  Value* int_list(const ItemPtr& i);
  Value* integer(const ItemPtr& i);
  Value* sequence(const ItemPtr& i);
  std::optional<std::vector<int64_t>> constant_ints(const ItemPtr& i) const;
  // The value as an argument of the type; null: it is left out.
  Value* as(const ItemPtr& i, const jit::TypePtr& type, const std::string& argument);

  static ItemPtr item(Value* v, std::optional<ScalarType> dtype = std::nullopt);
  static ItemPtr constant_item(Tensor t, std::string name = {});

  // Tensors of strings that are known while loading, as labels of classes are: programs have no
  // such tensors, and compute on positions in a table. Only a result of the model becomes a list.
  static ItemPtr strings_item(ItemPtr codes, std::vector<std::string> table);
  static ItemPtr read_strings(const pb::TensorProto& t);

  // Nodes before the insertion point.
  Graph& graph() { return *graph_; }
  Value* constant(IValue v) { return graph_->insert_constant(std::move(v), range_); }
  jit::Node* insert(std::string_view kind, const std::vector<Value*>& inputs,
                    const std::vector<jit::TypePtr>& types);
  Value* insert1(std::string_view kind, const std::vector<Value*>& inputs, jit::TypePtr type);
  // An operator by its full name; arguments that are not given have their defaults.
  std::vector<Value*> emit(std::string_view full_name, std::vector<Value*> inputs);
  Value* emit1(std::string_view full_name, std::vector<Value*> inputs);
  // A function of the texts, put in place; what it gives, a tuple as its elements.
  std::vector<Value*> call_text(std::string_view function, const std::vector<Value*>& arguments);
  std::vector<ItemPtr> call_function(Call& c, const char* function, Gives gives);
  // The nodes of a graph of the model into a block, at the insertion point.
  std::vector<ItemPtr> add_graph(const pb::GraphProto& g, Scope& s, const Opsets& opsets);
  Value* device();  // of the first input, or of the first tensor of the module

  Tensor read(const pb::TensorProto& t) { return read_tensor(t, external_); }

  // For errors: what the node is.
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  friend class MissingOperators;
  void add_initializers(const pb::GraphProto& g, Scope& s);
  void add_inputs(const pb::GraphProto& g, Scope& s);
  void set_outputs(const pb::GraphProto& g, const std::vector<ItemPtr>& outs);
  void add_nodes(const google::protobuf::RepeatedPtrField<pb::NodeProto>& nodes, Scope& s,
                 const Opsets& opsets, const Attributes* of_function);
  void add_node(const pb::NodeProto& n, Scope& s, const Opsets& opsets,
                const Attributes* of_function);
  std::vector<ItemPtr> translate(Call& c);
  std::vector<ItemPtr> call_model_function(Call& c, const pb::FunctionProto& f);
  bool bind_integers(Call& c, const char* function, std::vector<ItemPtr>& out);
  std::vector<Value*> bind_arguments(Call& c, const jit::Function& f);
  Value* attribute_argument(Call& c, const jit::Argument& a);
  jit::Function& text_function(std::string_view name);
  std::vector<Value*> inline_function(jit::Function& f, const std::vector<Value*>& arguments);
  Value* list_of_strings(const Item& i);  // str[], in order, whatever the shape
  // Operators that only move elements move the positions; nothing for others and other inputs.
  std::optional<std::vector<ItemPtr>> move_strings(Call& c, const Entry& e);
  void describe(const pb::NodeProto& n);
  void mark_weights(Call& c);
  Value* module_tensor(const ItemPtr& i);
  Value* submodule(const std::vector<std::string>& path, std::size_t n);
  std::optional<std::vector<ItemPtr>> fold(Call& c, const Entry& e);
  jit::Node* after(const Item& i, Value* v);  // the place where v, a form of it, is complete

  pb::ModelProto& model_;
  jit::Module module_;
  const ExternalData& external_;
  std::shared_ptr<Graph> graph_;
  std::shared_ptr<jit::CompilationUnit> texts_;
  std::map<std::string, const pb::FunctionProto*> functions_;
  std::map<std::string, Value*> submodules_;  // by dotted path
  std::set<std::string> names_;               // of tensors and modules that are taken
  Value *self_ = nullptr, *device_ = nullptr, *first_input_ = nullptr;
  jit::Node* anchor_ = nullptr;  // attributes are read before it
  std::shared_ptr<jit::Source> source_;
  jit::SourceRange range_;
  int depth_ = 0;
  int64_t nodes_ = 0;
};

}  // namespace tenon::onnx
