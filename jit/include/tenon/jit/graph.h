// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The representation of programs: a graph of nodes in static single assignment, with blocks for
// control flow. The text form is the one that users of TorchScript know:
//
//   graph(%self : __torch__.M, %x : Tensor):
//     %2 : int = prim::Constant[value=1]()
//     %3 : Tensor = aten::add(%x, %2, %2)
//     %4 : Tensor = prim::If(%c)
//       block0():
//         -> (%3)
//       block1():
//         -> (%x)
//     return (%4)
//
// Control flow: prim::If(cond) has two blocks without inputs; prim::Loop(max, cond, carried...) has
// one block with inputs (iteration, carried...) and outputs (condition, carried...). Blocks may use
// values of the blocks around them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/jit/source.h"
#include "tenon/jit/type.h"

namespace tenon::jit {

struct Operator;
class Graph;
class Node;
class Block;
class GraphParser;

struct Use {
  Node* user;
  int index;  // which input
};

// What a node or a block's parameter gives. Owned by the graph.
class TENON_API Value {
 public:
  Node* node() const noexcept { return node_; }  // the param node for inputs of a block
  int offset() const noexcept { return offset_; }
  int id() const noexcept { return id_; }  // unique in the graph
  const TypePtr& type() const noexcept { return type_; }
  Value* set_type(TypePtr t) {
    type_ = std::move(t);
    return this;
  }
  // Shown as %name; unique in the graph: who had the name before gets a number, %x becomes %x.1.
  // Empty: %id. Characters that a name cannot have become underscores.
  const std::string& name() const noexcept { return name_; }
  Value* set_name(std::string_view name);
  std::string debug_name() const { return name_.empty() ? std::to_string(id_) : name_; }
  const std::vector<Use>& uses() const noexcept { return uses_; }
  void replace_all_uses_with(Value* other);

 private:
  friend class Node;
  friend class Block;
  friend class Graph;
  friend class GraphParser;
  Node* node_ = nullptr;
  int offset_ = 0, id_ = 0;
  TypePtr type_;
  std::string name_;
  std::vector<Use> uses_;
};

// An attribute of a node: prim::Constant[value=1], prim::GetAttr[name="weight"], graphs of
// prim::fork. Types: prim::isinstance[types=...].
using Attribute = std::variant<IValue, std::string, std::vector<std::string>, std::vector<TypePtr>,
                               std::shared_ptr<Graph>>;

class TENON_API Node {
 public:
  const std::string& kind() const noexcept { return *kind_; }  // "aten::add", "prim::If"
  bool is(std::string_view k) const noexcept { return *kind_ == k; }
  // What computes it; null for what the interpreter knows itself (prim::If, prim::Constant, ...).
  const Operator* op = nullptr;
  Function* function = nullptr;  // what a prim::CallFunction calls; its attribute `name` names it
  SourceRange range;

  Graph* graph() const noexcept { return graph_; }
  Block* owning_block() const noexcept { return block_; }
  Node* next() const noexcept { return next_; }  // the return node of the block at the end
  Node* prev() const noexcept { return prev_; }

  const std::vector<Value*>& inputs() const noexcept { return inputs_; }
  Value* input(std::size_t i) const { return inputs_.at(i); }
  Value* add_input(Value* v);
  Value* insert_input(int i, Value* v);
  void replace_input(int i, Value* v);
  void remove_input(int i);
  void remove_all_inputs();

  const std::vector<Value*>& outputs() const noexcept { return outputs_; }
  Value* output(std::size_t i = 0) const { return outputs_.at(i); }
  Value* add_output(TypePtr type = nullptr);
  void erase_output(int i);  // which must have no use

  const std::vector<Block*>& blocks() const noexcept { return blocks_; }
  Block* block(std::size_t i) const { return blocks_.at(i); }
  Block* add_block();
  void erase_block(int i);

  const std::map<std::string, Attribute>& attributes() const noexcept { return attributes_; }
  bool has(const std::string& name) const { return attributes_.count(name) != 0; }
  const Attribute& attribute(const std::string& name) const;
  Node* set(std::string name, Attribute a);
  const std::string& s(const std::string& name) const;  // a text attribute
  const IValue& ival(const std::string& name) const;

  // Position. A node is made outside of any block.
  Node* insert_before(Node* n);
  Node* insert_after(Node* n);
  void move_before(Node* n);
  void destroy();  // its outputs must have no uses

 private:
  friend class Graph;
  friend class Block;
  friend class Value;
  Node() = default;
  void unlink();
  const std::string* kind_ = nullptr;  // interned
  Graph* graph_ = nullptr;
  Block* block_ = nullptr;
  Node *next_ = nullptr, *prev_ = nullptr;
  std::vector<Value*> inputs_, outputs_;
  std::vector<Block*> blocks_;
  std::map<std::string, Attribute> attributes_;
};

class TENON_API Block {
 public:
  Graph* graph() const noexcept { return graph_; }
  Node* owning_node() const noexcept { return owner_; }  // null for the graph's own
  Node* param_node() const noexcept { return param_; }
  Node* return_node() const noexcept { return return_; }
  const std::vector<Value*>& inputs() const noexcept { return param_->outputs(); }
  const std::vector<Value*>& outputs() const noexcept { return return_->inputs(); }
  Value* add_input(std::string_view name = {}, TypePtr type = nullptr);
  int register_output(Value* v);
  Node* append(Node* n) { return n->insert_before(return_); }
  Node* prepend(Node* n) { return n->insert_after(param_); }

  // Between the param and the return node: a copy, so that nodes may be destroyed in a loop over
  // it.
  std::vector<Node*> nodes() const;

 private:
  friend class Graph;
  friend class Node;
  Graph* graph_ = nullptr;
  Node *owner_ = nullptr, *param_ = nullptr, *return_ = nullptr;
};

// Owns its nodes, values and blocks.
class TENON_API Graph : public std::enable_shared_from_this<Graph> {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Block* block() const noexcept { return block_; }
  const std::vector<Value*>& inputs() const { return block_->inputs(); }
  const std::vector<Value*>& outputs() const { return block_->outputs(); }
  Value* add_input(std::string_view name = {}, TypePtr type = nullptr) {
    return block_->add_input(name, std::move(type));
  }
  int register_output(Value* v) { return block_->register_output(v); }

  // Not in any block yet.
  Node* create(std::string_view kind, const std::vector<Value*>& inputs = {},
               std::size_t n_outputs = 1);
  // Before the insertion point.
  Node* insert(Node* n);
  // prim::Constant with the attribute "value", for None, too.
  Value* insert_constant(IValue v, const SourceRange& where = {}, TypePtr type = nullptr);
  Node* insert_point() const noexcept { return insert_before_; }
  void set_insert_point(Node* n) { insert_before_ = n; }                  // before n
  void set_insert_point(Block* b) { insert_before_ = b->return_node(); }  // at its end
  struct InsertPoint;  // restores the insertion point

  // Copies the nodes of `b` before the insertion point; `map` gives values of outside. Returns
  // what b's outputs have become.
  std::vector<Value*> inline_block(const Block& b, std::map<const Value*, Value*>& map);
  std::shared_ptr<Graph> copy() const;

  std::string str(bool with_sources = false) const;
  // Throws an Error that says what is wrong: uses that are not listed, values used before they are
  // made, blocks that a node of its kind does not have.
  void lint() const;

 private:
  friend class Node;
  friend class Block;
  friend class Value;
  friend class GraphParser;
  Block* new_block(Node* owner);
  Value* new_value(Node* n, int offset, TypePtr type);
  Block* block_ = nullptr;
  Node* insert_before_ = nullptr;
  int next_id_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Value>> values_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::map<std::string, Value*, std::less<>> names_;
  std::map<std::string, std::size_t> name_numbers_;  // the next to try, of "x.1"
};

struct Graph::InsertPoint {
  InsertPoint(Graph& g, Node* before) : graph(g), was(g.insert_point()) {
    g.set_insert_point(before);
  }
  InsertPoint(Graph& g, Block* end_of) : InsertPoint(g, end_of->return_node()) {}
  ~InsertPoint() { graph.set_insert_point(was); }
  InsertPoint(const InsertPoint&) = delete;
  Graph& graph;
  Node* was;
};

// The value of a prim::Constant; nothing for what another node makes, and for a function.
TENON_API std::optional<IValue> to_constant(const Value* v);

// The text form, read. ValueError says what was expected and where. Classes are looked up in
// `unit`.
class CompilationUnit;
TENON_API std::shared_ptr<Graph> parse_graph(std::string_view text,
                                             const CompilationUnit* unit = nullptr);

}  // namespace tenon::jit
