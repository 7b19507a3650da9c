// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Any program without control flow by data, as torch.export.save writes it: it runs with examples,
// and each operator becomes a node. Where sizes may vary, it runs a few times more with others, and
// what differs between the runs is computed by the written program.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/formats/exported/json.h"
#include "jit/formats/exported/mentions.h"
#include "jit/formats/exported/writer/size_expressions.h"
#include "jit/formats/zip.h"
#include "tenon/jit.h"
#include "tenon/jit/export_program.h"
#include "tenon/jit/graph.h"
#include "tenon/jit/operator.h"

namespace tenon::jit::formats {

class ProgramWriter {
 public:
  ProgramWriter(const Module& m, const ExportProgramOptions& options);
  // Runs the program; NotImplementedError says what cannot be written, and where.
  void walk(const std::vector<IValue>& given);
  void write(ZipWriter& zip) const;

 private:
  // What a value of the graph is in the file.
  struct Item {
    IValue example;
    std::vector<IValue> others;      // in the other runs; none: as the example
    bool constant = false;           // the same in every run
    bool given = false;              // a constant of the program, which is not written
    std::string name;                // of a tensor
    std::string number;              // of a number that depends on sizes; it may be in a tensor
    const Item* truth = nullptr;     // of a bool that depends on data: the tensor it was read from
    std::vector<const Item*> parts;  // of a list, tuple or dictionary that nodes made
    std::vector<IValue> keys;        // of a dictionary, one a part
    bool has_parts = false;
    bool sizes_by_data = false;  // of a tensor: equal sizes in the runs say nothing

    const IValue& in_run(std::size_t r) const {
      return r == 0 || others.empty() ? example : others[r - 1];
    }
    std::size_t runs() const { return others.size() + 1; }
  };
  // Nodes, and what is known of their values.
  struct Part {
    Json nodes = Json::array(), tensors = Json::object(), integers = Json::object(),
         reals = Json::object(), booleans = Json::object();

    bool has(const std::string& name) const;
    Json argument(const std::string& name) const;  // that stands for the value
  };
  using Sizes = std::map<std::pair<std::string, int64_t>, const Item*>;  // by tensor, dimension
  // How far the writing has come.
  struct Mark {
    Part graph;
    Sizes sizes;
    std::size_t tensors_of_numbers;
  };
  struct Weight {
    std::string name, fqn;
    Tensor tensor;  // of the module
    enum class Kind : uint8_t { Parameter, Buffer, Constant } kind;
    Tensor written = Tensor();  // its copy in the frozen program, which writes to it
  };

  void add_weights();
  void add_written_weights(const Module& frozen);
  const Item* attribute(const Node& n);
  void set_attribute(const Node& n);
  bool fits(const Item& value, const Tensor& before) const;
  void write_state();
  const Item* add_input(const IValue& example, const std::string& name, const std::string& path,
                        Json& spec);
  void resize_input(Item& input, const std::string& path);
  void drop_unused_numbers();
  void visit(const Block& b);
  void visit(const std::vector<const Node*>& nodes);
  void visit(const Node& n);
  // Regions of autocast.
  struct Autocast {
    Device device;
    std::optional<ScalarType> dtype;
    bool enabled;
  };
  Autocast autocast_of(const Node& begin) const;
  void visit_region(const Node& begin, const std::vector<const Node*>& nodes);
  void repeat_numbers(const Part& part);
  static void drop_unused_results(Json& node, const Names& used);
  void visit_loop(const Node& n);
  void visit_taken(const Node& n, const Block& taken);

  // Branches and loops by data.
  bool visit_truth(const Node& n);
  bool visit_joined_truth(const Node& n);
  bool visit_move(const Node& n);
  bool visit_value(const Node& n);
  bool visit_values(const Node& n);
  bool is_by_data(const Item& condition) const;
  void visit_branch(const Node& n, const Item& condition);
  void visit_data_loop(const Node& n);
  // What a loop by data carries.
  struct Carried {
    std::vector<const Item*> items;
    std::vector<IValue> kinds;  // of numbers and bools, which the items hold in tensors
    const Item* limit = nullptr;
    std::vector<const Node*> appends;
    int64_t first = 0;  // turn
  };
  struct Start {
    const Item* condition;
    std::vector<const Item*> carried;
  };
  bool enter_loop(const Node& n, const Item* limit);
  bool visit_first_turn(const Node& n, Carried& c, Start& start);
  Part visit_turn(const Node& n, const Carried& c, std::vector<const Item*>& inside,
                  std::vector<const Item*>& results);
  std::vector<const Item*> results_of_next_turn(const Node& n, Carried c,
                                                const std::vector<const Item*>& results);
  void carry_appended(const Node& n, Carried& c);
  std::vector<const Item*> add_while_loop(const Node& n, const Carried& c);
  std::vector<const Node*> appends_of(const Node& loop) const;
  void grow_lists(const Carried& c, std::vector<const Item*>& ends);
  bool visit_grown(const Node& n);
  const Item* move_stacked(const Item& stacked, int64_t dim, bool concatenate);
  // What a branch appends to a list, in either side or both.
  struct Append {
    const Item* list;
    const Node* nodes[2];
  };
  std::vector<Append> appends_of_branch(const Node& n) const;
  std::vector<const Item*> kinds_of_appended(const Node& n, const std::vector<Append>& appends);
  const Item* zeros_like(const Item& kind);
  void append_flagged(const std::vector<Append>& appends, const Item& condition,
                      const std::vector<const Item*>& ends);
  const Item* stack_flagged(const Item& list);
  const Item* emit_flags(const Item& list);
  bool visit_flagged(const Node& n);
  bool write_both_sides(const Node& n, const std::vector<Append>& appends, Part (&sides)[2],
                        std::vector<const Item*> (&results)[2]);
  // A tensor that stands for a nested one.
  struct Nested {
    const Item* padding = nullptr;  // bools, one per element of a sequence
    const Item* zeros = nullptr;    // of them, those that it gives as zeros
  };
  const Item* is_left_aligned(const Item& kept);
  const Item* fill_padding(const Item& tensor, const Item& padding, const Item& value);
  bool visit_nested(const Node& n);
  const Item* go_on(const Node& n, const Item& turn, const Item* limit, const Item& condition);
  const Item* carried_as_tensor(const Node& n, const Item& item);
  const Item* number_in_tensor(const Item& tensor, const IValue& like);
  const Item* result_of_part(const Value& v, const Block& part);
  Mark mark() const;
  Part go_back(Mark to);
  Part visit_part(const std::function<void()>& visit_all);
  std::vector<std::string> outside_values(const std::vector<const Part*>& parts) const;
  Json part_argument(const std::string& name, const Part& part,
                     const std::vector<const Item*>& results, const std::vector<std::string>& taken,
                     bool single = false);
  void add_higher(const std::string& name, std::vector<Json> arguments, Json outputs);
  const Item* emit(const char* full_name, const std::vector<const Item*>& arguments);
  const Item* copied(const Item& tensor);
  static bool is_of_part(const Value& v, const Block& part);
  static bool writes(const Block& b, const std::vector<const Node*>& but = {});
  void carry_writes(Node& n);
  std::optional<IValue> object_of(const Value* v) const;
  std::pair<std::vector<Node*>, std::vector<Node*>> carry_attributes(Node& n);
  bool may_go_by_data(const Node& loop) const;
  void visit_by_data(const Node& n);
  static bool are_same_kind(const std::vector<const Item*>& yes,
                            const std::vector<const Item*>& no);
  static void check_same_kind(const Node& n, const IValue& a, const IValue& b);

  bool visit_list_change(const Node& n);
  void change_parts(const Node& n, Item& list);
  void give_parts(Item& list);
  static void set_parts(Item& item, const Type& type);
  const Item* construct(const std::vector<const Item*>& parts, const Type& type);
  bool visit_structure(const Node& n);
  bool visit_new_list(const Node& n);
  bool visit_broadcast(const Node& n);
  struct Dicts;  // their operators
  bool visit_dict(const Node& n);
  std::vector<Stack> call(const Node& n) const;  // in each run
  bool fold(const Node& n);
  bool is_known(const Item& item) const;
  bool has_sizes_by_data(const Item& argument) const;
  bool gives_sizes_by_data(const Node& n) const;
  bool write_constant(const Node& n);
  bool write_number(const Node& n);
  void give_memory_per_run(const Node& n);
  void copy_constant(Item& item);
  bool is_weight(const Tensor& t) const;
  static bool holds_numbers(const IValue& v);
  bool is_arithmetic(const Node& n) const;
  static bool is_arithmetic_of_two(const Node& n);
  void visit_operator(const Node& n);

  // Numbers that depend on sizes (numbers.cpp).
  Item* result_of_run(const std::vector<Stack>& runs, std::size_t k);
  bool may_differ(const Node& n) const;
  void visit_number(const Node& n, const std::vector<Stack>& runs);
  bool visit_sizes(const Node& n, const std::vector<Stack>& runs);
  bool visit_strides(const Node& n, const std::vector<Stack>& runs);
  const Item* of_two(const char* kind, const Item& a, const Item& b,
                     int64_t (*f)(int64_t, int64_t));
  bool visit_fold(const Node& n);
  bool visit_range(const Node& n);
  bool visit_list_in_tensor(const Node& n, const std::vector<Stack>& runs);
  bool visit_conversion(const Node& n, Item& result);
  void convert(Item& result, const Item& of);
  void visit_arithmetic(const Node& n, Item& result);
  const Item* size_of(const Item& tensor, int64_t dim);
  void compute(Item& result, const std::string& target, const std::vector<const Item*>& of,
               const std::string& expression);
  void add_number(Item& result, const std::string& base, const std::string& expression);
  void add_node(const std::string& target, Json inputs, Json outputs, const std::string& name);
  std::string expression_of(const Item& number) const;
  Json number_argument(const Item& number) const;
  Json tensor_argument(const Item& tensor);
  const std::string& make_tensor_of(Item& number);
  bool decide(const Node& n, const Item& condition);
  void add_check(const std::string& name, Json holds, const std::string& message);
  SizeExpressions::Values sizes_in_runs(const Item& tensor, std::size_t dim) const;
  static bool is_level(const Item& number);
  void note_unknown_sizes(const Item& tensor);
  Json meta_of(const Item& tensor);

  Json inputs_of(const Node& n);
  Json argument(const Operator& op, std::size_t at, const Item& item);
  Json plain_argument(const IValue& v) const;
  Json result(const Node& n, const std::string& base, Item& to);
  const std::string& name_of(const Item& item);
  const Item& at(const Value* v) const { return *items_.at(v); }
  Item* make(IValue example, bool constant = false);
  std::string fresh(const std::string& wanted);
  std::string add_tensor(const std::string& wanted, const Tensor& t, bool requires_grad = false);
  void add_tensor(const std::string& wanted, Item& item);
  Json output(const Item& item, Json& outputs);
  [[noreturn]] static void refuse(const Node& n, const std::string& why);

  Module module_;
  const ExportProgramOptions& options_;
  std::set<std::string> unused_axes_;  // of the options
  SizeExpressions sizes_;
  Sizes sizes_of_;                                        // sizes that nodes ask
  std::map<std::string, std::string> expressions_;        // of numbers
  std::vector<Item*> tensors_of_numbers_;                 // made by nodes of their own
  std::map<const void*, std::size_t> by_memory_;          // weights
  std::map<const void*, const Item*> attributes_;         // of the frozen module, by tensor
  using Attribute = std::pair<const void*, std::string>;  // the object that has it
  std::map<Attribute, const Item*> set_attributes_;       // as the program has set them
  std::set<Attribute> read_attributes_;                   // before it sets them
  // Set for the next call, and the buffers that hold them.
  std::vector<std::pair<Attribute, const Item*>> state_;
  std::set<const Value*> carried_;  // out of branches and loops that write to tensors of outside
  std::map<const Item*, const Item*> grown_;  // lists: the tensors that a loop appended, stacked
  std::set<const Node*> appends_;             // which such loops do
  std::map<const Item*, Nested> nested_;
  // Of lists: whether a part is an element, by data; null: it is.
  std::map<const Item*, std::vector<const Item*>> flags_;
  std::vector<Weight> weights_;
  std::vector<std::unique_ptr<Item>> all_;
  std::unordered_map<const Value*, const Item*> items_;
  std::set<std::string> taken_;
  int parts_ = 0;
  int turns_ = 0;  // of loops by data, that are being written
  std::vector<IValue> samples_;
  Json inputs_ = Json::array(), specs_ = Json::array(), outputs_ = Json::array(),
       output_specs_ = Json::array(), names_ = Json::array();
  Part graph_;  // that is written now: the program, or a branch
  Json in_tree_ = Json::array(), out_tree_;
};

// For files: {"dtype": 7, "sizes": [...], ...}.
Json tensor_meta(const Tensor& t, bool requires_grad);

}  // namespace tenon::jit::formats
