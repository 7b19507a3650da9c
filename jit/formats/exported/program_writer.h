// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Any program without control flow by data, as torch.export.save writes it: it runs once with
// examples, and each operator becomes a node with the sizes that it had.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/formats/exported/json.h"
#include "jit/formats/zip.h"
#include "tenon/jit.h"
#include "tenon/jit/graph.h"
#include "tenon/jit/operator.h"

namespace tenon::jit::formats {

class ProgramWriter {
 public:
  explicit ProgramWriter(const Module& m);
  // Runs the program; NotImplementedError says what cannot be written, and where.
  void walk(const std::vector<IValue>& given);
  void write(ZipWriter& zip) const;

 private:
  // What a value of the graph is in the file.
  struct Item {
    IValue example;
    bool constant = false;           // the same in every run
    bool given = false;              // a constant of the program, which is not written
    std::string name;                // of a tensor
    std::vector<const Item*> parts;  // of a list or tuple that nodes made
    bool has_parts = false;
  };
  struct Weight {
    std::string name, fqn;
    Tensor tensor;  // of the module
    enum class Kind : uint8_t { Parameter, Buffer, Constant } kind;
  };

  void add_weights();
  const Item* add_input(const IValue& example, const std::string& name, Json& spec);
  void visit(const Block& b);
  void visit(const Node& n);
  void visit_loop(const Node& n);
  bool visit_list_change(const Node& n);
  void give_parts(Item& list);
  static std::vector<IValue> examples_of(const std::vector<const Item*>& parts);
  static IValue list_of(const std::vector<const Item*>& parts, const Value& v);
  bool visit_structure(const Node& n);
  bool fold(const Node& n);
  bool write_constant(const Node& n);
  void copy_constant(Item& item);
  bool is_weight(const Tensor& t) const;
  static bool holds_numbers(const IValue& v);
  bool is_arithmetic(const Node& n) const;
  void visit_operator(const Node& n);
  Json inputs_of(const Node& n);
  Json argument(const core::Op& op, std::size_t at, const Item& item);
  Json plain_argument(const IValue& v) const;
  Json result(const IValue& v, const std::string& base, Item& to);
  const std::string& name_of(const Item& item);
  const Item& at(const Value* v) const { return *items_.at(v); }
  Item* make(IValue example, bool constant = false);
  std::string fresh(const std::string& wanted);
  std::string add_tensor(const std::string& wanted, const Tensor& t, bool requires_grad = false);
  Json output(const Item& item, Json& outputs);
  [[noreturn]] static void refuse(const Node& n, const std::string& why);

  Module module_;
  std::map<const void*, std::size_t> by_memory_;  // weights
  std::vector<Weight> weights_;
  std::vector<std::unique_ptr<Item>> all_;
  std::unordered_map<const Value*, const Item*> items_;
  std::set<std::string> taken_;
  std::vector<IValue> samples_;
  Json inputs_ = Json::array(), specs_ = Json::array(), outputs_ = Json::array(),
       output_specs_ = Json::array(), nodes_ = Json::array(), tensors_ = Json::object(),
       names_ = Json::array();
  Json in_tree_ = Json::array(), out_tree_;
};

// For files: {"dtype": 7, "sizes": [...], ...}.
Json tensor_meta(const Tensor& t, bool requires_grad);

}  // namespace tenon::jit::formats
