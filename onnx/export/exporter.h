// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Walks a program in its order, runs each node with the examples, and lets the rule of its operator
// write nodes of the model.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/export/refusal.h"
#include "onnx/proto/model.pb.h"
#include "tenon/jit/graph.h"
#include "tenon/onnx/export.h"

namespace tenon::onnx::exporting {

class Call;
struct Item;
using ItemPtr = std::shared_ptr<Item>;

// What a value of the program is in the model.
struct Item {
  IValue example;         // of the run with the examples
  bool constant = false;  // the same in every run
  std::string name;       // of the model's value; empty until somebody asks, for constants
  // Of a list or tuple that was built of values of the program.
  std::vector<ItemPtr> parts;
  bool has_parts = false;
};

// An attribute of a node of the model.
struct Attr {
  std::string name;
  IValue value;
};
using Names = std::vector<std::string>;
using Attrs = std::vector<Attr>;

class Exporter {
 public:
  Exporter(const jit::Module& module, const ExportOptions& options);
  pb::ModelProto run(const std::vector<IValue>& inputs);

  int64_t opset() const { return options_.opset; }
  // Every size is a number: no axis was said to be dynamic.
  bool is_static() const { return options_.dynamic_axes.empty(); }
  const ExportOptions& options() const { return options_; }
  // Domains of the nodes beside ONNX's own.
  const std::set<std::string>& domains() const { return domains_; }

  // Adds a node to the graph that is being written; its outputs.
  Names node(const std::string& type, const Names& inputs, const Attrs& attrs = {},
             std::size_t outputs = 1, const std::string& domain = "");
  // The name of a constant: weights by their own names.
  std::string initializer(const Tensor& t);
  // The model's value of an item that is a tensor, a number or a list of integers (one dimension).
  std::string name_of(Item& item);
  ItemPtr item(const jit::Value* v) const;
  void set(const jit::Value* v, ItemPtr item) { items_[v] = std::move(item); }

 private:
  struct Subgraph {
    pb::GraphProto* graph;
    std::set<std::string> made;  // by nodes of this graph itself
  };
  void walk(const jit::Block& b);
  void visit(const jit::Node& n);
  void visit_if(const jit::Node& n);
  void visit_loop(const jit::Node& n);
  bool visit_structure(const jit::Node& n);  // lists, tuples, sizes; false: an operator
  void visit_operator(const jit::Node& n);
  bool follow(const std::function<void(Call&)>& rule, Call& call);
  bool visit_parts(Call& call);
  void remove_nodes(int first);
  void visit_unknown(Call& call);
  bool fold(const jit::Node& n);
  bool is_last_name(const jit::Value& v) const;
  std::vector<IValue> compute(const jit::Node& n);
  void refuse(const jit::Node& n, const std::string& reason);

  std::string fresh(const std::string& wanted);
  // The value as an output of the graph that is being written: made in it.
  std::string own(Item& item);
  void add_value_info(pb::ValueInfoProto* info, const std::string& name, const Item& item,
                      bool output);
  std::vector<ItemPtr> walk_branch(const jit::Block& b, pb::GraphProto* to);

  void add_inputs(const jit::Graph& g, const std::vector<IValue>& inputs, pb::GraphProto* graph);
  void add_outputs(const jit::Graph& g, pb::GraphProto* graph);
  void add_initializers(pb::GraphProto* graph);

  jit::Module module_;
  ExportOptions options_;
  std::map<const void*, std::string> weight_names_;
  std::unordered_map<const jit::Value*, ItemPtr> items_;
  std::vector<Subgraph> graphs_;
  std::set<std::string> taken_, domains_;
  struct Stored {
    Tensor tensor;
    std::string name;
    bool weight;
  };
  std::vector<Stored> stored_;
  std::map<std::string, std::string> small_;  // by content
  std::vector<std::string> refused_;
  std::vector<std::shared_ptr<jit::Graph>> parts_;  // of operators, whose values are in items_
  static constexpr int kMaxPartsDepth = 8;
  int parts_depth_ = 0;
  std::set<const jit::Node*> written_;  // in-place operators that became new values
};

// A tensor as the model has it; a number as one without dimensions, a list of integers as one of
// one dimension.
Tensor as_tensor(const IValue& v);
int32_t onnx_type(ScalarType t);  // Refusal for dtypes that ONNX does not have
void write_tensor(const Tensor& t, const std::string& name, pb::TensorProto* out);

}  // namespace tenon::onnx::exporting
