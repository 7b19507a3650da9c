// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Walks a program in its order, runs each node with the examples, and lets the rule of its operator
// write nodes of the model.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/export/form.h"
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
  // Of a list, tuple or dictionary that was built of values of the program.
  std::vector<ItemPtr> parts;
  std::vector<IValue> keys;  // of a dictionary, one a part
  bool has_parts = false;
  // The graph that has the value, counted from outside; 0: not set yet. Only there may a list be
  // changed, as graphs in it and around it have values of their own.
  std::size_t depth = 0;
  bool grows = false;   // a list whose length may differ from the example's
  bool unset = false;   // nobody reads it: of a branch that returns, or does not
  bool shared = false;  // a list that has other items, too, which would not change with it
  // Of a value that is None in one branch: the model's bool that tells whether it is there, and
  // what that is with the examples. The value itself is one of the other branch then.
  std::string present;
  bool is_present = true;
  // Which sizes of a tensor are those of the example in every run (sizes.h); none: nothing is
  // known.
  std::optional<std::vector<int64_t>> sizes;
  int64_t symbol = 0;  // of a number that is a size
};

// ONNX has no packed sequences: recurrent layers take padded ones and lengths, which the model has
// beside the packed elements. Names of its values.
struct Packed {
  std::string batch_sizes;
  std::string padded;       // [time, batch, ...]; what is in the padding is not said
  std::string lengths;      // [batch], int64
  std::string mask;         // [longest, batch]: where the elements are
  int64_t batch = 0;        // the symbol of its size
  bool is_longest = false;  // time is that of the longest, and not more
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
  // Every size is a number: no axis was said to be dynamic, and no loop changes shapes.
  bool is_static() const { return options_.dynamic_axes.empty() && !varying_; }
  // The sizes, or the one size, are those of the example in every run.
  bool is_fixed(const Item& tensor) const;
  bool is_fixed(const Item& tensor, int64_t dim) const;
  // Of the size; 0: that of the example in every run.
  int64_t symbol_of(const Item& tensor, int64_t dim);
  bool is_dynamic_axis(const Item& tensor, int64_t dim) const;  // or as long as one
  int64_t fresh_symbol() { return ++symbols_; }                 // of a size
  // A list of tensors whose length is known when the model runs. Joining one in a loop gives other
  // sizes in each turn.
  bool is_sequence(const Item& i) const;
  // What was written has sizes that depend on values, whatever the inputs' are.
  void note_varying() { varying_ = true; }
  void join_sequence() { varying_ = varying_ || graphs_.size() > 1; }
  // By the name of the packed elements.
  std::map<std::string, Packed> packed;
  // Of nested tensors, which keep their padding in the model: the mask of what is not padding.
  std::map<std::string, std::string> nested;
  const ExportOptions& options() const { return options_; }
  // Domains of the nodes beside ONNX's own.
  const std::set<std::string>& domains() const { return domains_; }

  // Adds a node to the graph that is being written; its outputs.
  Names node(const std::string& type, const Names& inputs, const Attrs& attrs = {},
             std::size_t outputs = 1, const std::string& domain = "");
  // A Scan over the first dimension of `sequences`. `body` takes the states and an element of each
  // sequence, and gives the next states and results, which have the states' dtypes in this order.
  // Gives the last states, and the results of all steps.
  struct Scanned {
    std::string name;
    ScalarType dtype;
    int64_t rank;  // of a state, or of an element
  };
  using Body = std::function<Names(const Names&)>;
  Names scan(const std::vector<Scanned>& states, const std::vector<Scanned>& sequences,
             bool backward, const Body& body);
  // A Loop while `condition` holds; the body gives it first, then the states.
  Names loop(const std::string& condition, const std::vector<Scanned>& states, const Body& body);
  // The name of a constant: weights by their own names.
  std::string initializer(const Tensor& t);
  // The model's value of an item that is a tensor, a number or a list of integers (one dimension).
  std::string name_of(Item& item);
  // Of a complex tensor: real and imaginary parts along a last dimension of two.
  std::string pairs_of(Item& item);
  ItemPtr item(const jit::Value* v) const;
  Item* find_item(const jit::Value* v) const;  // null if nothing was set
  void set(const jit::Value* v, ItemPtr item);

 private:
  struct Subgraph {
    pb::GraphProto* graph;
    std::set<std::string> made;  // by nodes of this graph itself
  };
  struct OpenGraph;
  void walk(const jit::Block& b) { walk(b.nodes()); }
  void walk(const std::vector<jit::Node*>& nodes);
  void forget(const jit::Block& b);  // what was known of its values
  void visit(const jit::Node& n);
  void visit_attribute(const jit::Node& n);
  void write_attribute(const jit::Node& n);
  void write_steps(pb::GraphProto* graph, const std::vector<Scanned>& inputs, const Body& body,
                   const std::vector<Scanned>& results);
  void visit_if(const jit::Node& n);
  void add_present(pb::GraphProto* graph, const Item& result);
  bool visit_optional(const jit::Node& n);  // what may be None
  void fill_unset(pb::GraphProto* graph, int at, const pb::ValueInfoProto& other, const Item& like);
  bool raises(const jit::Block& b) const;  // whenever it runs
  bool is_out_of_range(const jit::Node& n) const;
  void visit_loop(const jit::Node& n);
  void keep_loop(const jit::Node& loop, const std::vector<ItemPtr>& lists);
  bool goes_over_parts(const jit::Node& n) const;
  bool unroll_loop(const jit::Node& loop);
  bool only_counts(const jit::Node& loop, const std::vector<ItemPtr>& lists) const;
  void set_unset(const jit::Node& loop, const std::vector<ItemPtr>& lists,
                 std::optional<std::vector<IValue>>& examples);
  std::vector<ItemPtr> write_body(const jit::Node& loop, const std::vector<ItemPtr>& lists,
                                  pb::GraphProto* graph);
  std::vector<ItemPtr> write_loop(const jit::Node& loop, const std::vector<ItemPtr>& lists,
                                  std::optional<std::vector<IValue>>& examples,
                                  pb::GraphProto* graph);
  struct OptionalInputs;
  std::vector<bool> give_optionals(const jit::Node& loop, const std::vector<ItemPtr>& lists,
                                   std::optional<std::vector<IValue>>& examples,
                                   OptionalInputs& inputs);
  bool shapes_vary(const jit::Node& loop, const std::vector<IValue>& results) const;
  std::optional<std::vector<IValue>> run_loop(const jit::Node& loop,
                                              const std::vector<ItemPtr>& lists) const;
  bool fold_loop(const jit::Node& loop, const std::vector<ItemPtr>& lists);
  bool visit_structure(const jit::Node& n);  // tuples and lists; false: an operator
  bool visit_list(const jit::Node& n);
  struct Dicts;  // their operators
  bool visit_dict(const jit::Node& n);
  bool visit_parts_of_list(const jit::Node& n);
  bool visit_constant_list(const jit::Node& n);
  bool visit_value_of_list(const jit::Node& n);
  std::string change_sequence(const jit::Node& n, std::string list);
  std::string as_list(Item& number);
  std::string reverse_sequence(const IValue& tensors, const std::string& list);
  std::string cut_list(const jit::Node& n, const std::string& list);
  std::string extend_list(const std::string& list, Item& by);
  std::vector<ItemPtr> unpack(const ItemPtr& from, std::size_t n);
  std::vector<ItemPtr> changed_lists(const jit::Node& n) const;
  void check_change(const Item& list) const;
  // The value of an item, a list of tensors as a sequence. What an empty one is of, `like` tells.
  std::string value_of(Item& item, const IValue& like = {});
  void visit_operator(const jit::Node& n);
  bool follow(const std::function<void(Call&)>& rule, Call& call);
  bool visit_parts(Call& call);
  void remove_nodes(int first);
  void visit_unknown(Call& call);
  bool fold(const jit::Node& n);
  bool asks_fixed_sizes(const jit::Node& n) const;
  bool compare_sizes(const jit::Node& n);
  bool fills_alike(const jit::Node& n) const;
  bool write_constant(const jit::Node& n);
  void write_shared(const jit::Node& n);
  const jit::Value* viewed(const jit::Value& v) const;
  struct SharedNames;
  std::optional<SharedNames> names_of(const jit::Node& n, const jit::Value* written) const;
  const jit::Value* made_beside(const jit::Node& n, const jit::Value* v) const;
  void carry(jit::Node& n, const SharedNames& names);
  void carry_copy(jit::Node& loop, jit::Value& in);
  bool is_own_result(const jit::Node& n, std::size_t k) const;
  void own_results(jit::Node& n);
  // Writes of a branch or a loop to tensors of outside become results of it. The nodes after it
  // that take these.
  std::vector<jit::Node*> carry_writes(const jit::Node& n);
  ItemPtr put_part(const jit::Node& view, const ItemPtr& whole, const ItemPtr& part);
  ItemPtr call_operator(const std::string& name, const std::vector<ItemPtr>& arguments);
  void check_shared(const jit::Node& n, const jit::Value* base, const Tensor& memory) const;
  void remake(const jit::Value* v);
  bool is_last_name(const jit::Value& v, const jit::Node& user, const jit::Node& write) const;
  std::vector<IValue> compute(const jit::Node& n);
  void refuse(const jit::Node& n, const std::string& reason);

  std::string fresh(const std::string& wanted);
  // The value as an output of the graph that is being written: made in it.
  std::string own(Item& item, const IValue& like = {});
  void add_value_info(pb::ValueInfoProto* info, const std::string& name, const Item& item,
                      bool output);
  std::vector<ItemPtr> walk_branch(const jit::Block& b, const std::vector<ItemPtr>& lists,
                                   pb::GraphProto* to);

  ItemPtr add_input(const IValue& example, const std::string& own, std::size_t& at,
                    pb::GraphProto* graph);
  void add_inputs(const jit::Graph& g, const jit::FunctionSchema& schema,
                  const std::vector<IValue>& inputs, pb::GraphProto* graph);
  void check_axes(const Item& input, const std::vector<int64_t>& sizes) const;
  void add_outputs(const jit::Graph& g, pb::GraphProto* graph);
  void add_initializers(pb::GraphProto* graph);

  jit::Module module_;
  const jit::Block* program_ = nullptr;
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
  std::map<std::string, Form> forms_;  // what plugins say of their operators
  bool varying_ = false;               // sizes may be other ones than those of the examples
  int64_t symbols_ = 0;
  std::map<std::string, int64_t> axis_symbols_;  // by name
  // Attributes of objects that the program writes, as they are where it has come to.
  std::map<std::pair<const ivalue::Object*, std::string>, ItemPtr> attributes_;
  std::vector<Tensor> program_tensors_;  // its constants, which stay as they are
  std::set<const jit::Node*> written_;   // in-place operators that became new values
};

// A tensor as the model has it; a number as one without dimensions, a list of integers as one of
// one dimension.
// A quantized tensor is its real numbers (rules/quantized.cpp).
Tensor as_tensor(const IValue& v);
bool is_tensor_list(const IValue& v);
bool is_complex(const IValue& v);  // a tensor
bool is_mask(const IValue& v);     // a tensor of positions: bools, or bytes as of old
IValue list_of(const jit::TypePtr& element, const std::vector<ItemPtr>& parts);
ItemPtr tuple_of(std::vector<ItemPtr> parts);
IValue copy_of_list(const IValue& v);
bool all_constant(const std::vector<ItemPtr>& parts);
ItemPtr unset_item();
void name_pieces(jit::Graph& graph);
void name_pieces(jit::Graph& graph, jit::Node* from, jit::Node* to);  // the nodes before `to`
bool changes_list(const jit::Node& n);                                // its first input
// No other value is the same list: who changes it need not look for others.
bool is_only_name(const jit::Value& list);
int32_t onnx_type(ScalarType t);  // Refusal for dtypes that ONNX does not have
void write_tensor(const Tensor& t, const std::string& name, pb::TensorProto* out);

}  // namespace tenon::onnx::exporting
