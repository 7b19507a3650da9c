// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "jit/ir/cursor.h"
#include "jit/ir/resolve.h"
#include "tenon/jit/unit.h"

namespace tenon::jit {

class GraphParser {
 public:
  GraphParser(Cursor& c, std::string_view text, const FindType& find, const CompilationUnit* unit)
      : c_(c), text_(text), find_(find), unit_(unit), graph_(std::make_shared<Graph>()) {}
  std::shared_ptr<Graph> parse();

 private:
  using Names = std::vector<std::pair<std::string, TypePtr>>;
  std::string value_name();
  Names typed_names();
  std::vector<Value*> values();
  void define(Value* v, const std::string& name);
  bool at_node();
  void nodes(Block* b);
  void node(Block* b);
  void blocks(Node* n);
  void attributes(Node* n);
  Attribute attribute(const Node& n, const std::string& name);
  std::string kind(bool& has_graph);
  void skip_comment();
  void finish();

  Cursor& c_;
  std::string_view text_;
  const FindType& find_;
  const CompilationUnit* unit_;
  std::shared_ptr<Graph> graph_;
  std::map<std::string, Value*> values_;
  std::vector<Node*> with_graphs_;
};

void GraphParser::skip_comment() {
  while (c_.peek() == '#') {
    std::size_t end = c_.rest().find('\n');
    c_.seek(end == std::string_view::npos ? text_.size() : c_.position() + end);
  }
}

// Without the %: letters, digits, dots and underscores in any order.
std::string GraphParser::value_name() {
  c_.expect("%");
  std::string_view rest = c_.rest();
  std::size_t n = 0;
  auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_';
  };
  while (n < rest.size() && is_part(rest[n])) ++n;
  if (n == 0) c_.fail("the name of a value");
  c_.seek(c_.position() + n);
  return std::string(rest.substr(0, n));
}

GraphParser::Names GraphParser::typed_names() {
  Names out;
  while (c_.starts_with("%")) {
    std::string name = value_name();
    TypePtr type;
    if (c_.take(":")) type = parse_type(c_, find_).type;
    out.emplace_back(std::move(name), std::move(type));
    if (!c_.take(",")) break;
  }
  return out;
}

std::vector<Value*> GraphParser::values() {
  std::vector<Value*> out;
  c_.expect("(");
  while (!c_.take(")")) {
    if (!out.empty()) c_.expect(",");
    std::size_t at = c_.position();
    auto it = values_.find(value_name());
    if (it == values_.end()) {
      c_.seek(at);
      c_.fail("a value that is made before here");
    }
    out.push_back(it->second);
  }
  return out;
}

// Numbers are ids: what is printed again is the same text.
void GraphParser::define(Value* v, const std::string& name) {
  if (!values_.emplace(name, v).second) c_.fail("a name other than %" + name + ", which is taken");
  if (name.find_first_not_of("0123456789") != std::string::npos)
    v->set_name(name);
  else if (name.size() > 9 || (name.size() > 1 && name[0] == '0'))
    c_.fail("a smaller number than %" + name);
  else
    v->id_ = std::stoi(name);
}

std::string GraphParser::kind(bool& has_graph) {
  std::string name = c_.expect_name("the kind of a node", false);
  c_.expect("::");
  name += "::" + c_.expect_name("the kind of a node", false);
  // "prim::fork_0", if "with prim::fork_0 = graph(...)" follows.
  std::string number = "_" + std::to_string(with_graphs_.size());
  has_graph = name.ends_with(number) &&
              c_.rest().find("\nwith " + name + " = graph(") != std::string_view::npos;
  return has_graph ? name.substr(0, name.size() - number.size()) : name;
}

Attribute GraphParser::attribute(const Node& n, const std::string& name) {
  if (name == "types") {
    c_.expect("[");
    return parse_types(c_, "]", find_);
  }
  bool of_constant = n.is("prim::Constant") && name == "value";
  IValue v = parse_value(c_, of_constant ? n.output()->type() : nullptr);
  if (v.isString() && !of_constant) return v.toStringRef();
  return v;
}

void GraphParser::attributes(Node* n) {
  if (c_.take("[")) {
    while (!c_.take("]")) {
      if (!n->attributes().empty()) c_.expect(",");
      std::string name = c_.expect_name("the name of an attribute", false);
      c_.expect("=");
      n->set(name, attribute(*n, name));
    }
  }
  if (n->is("prim::Constant") && n->attributes().empty()) n->set("value", IValue());
  if (n->is("prim::CallFunction") && n->has("name") && unit_)
    n->function = unit_->find_function(n->s("name"));
}

void GraphParser::node(Block* b) {
  Names names = typed_names();
  c_.expect("=");
  bool has_graph = false;
  std::string name = kind(has_graph);
  Node* n = b->append(graph_->create(name, {}, names.size()));
  if (n->is("prim::Constant") && names.size() != 1) c_.fail("a constant with one output");
  if (has_graph) with_graphs_.push_back(n);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].second) n->output(i)->set_type(names[i].second);
  attributes(n);
  for (Value* v : values()) n->add_input(v);
  skip_comment();
  blocks(n);
  for (std::size_t i = 0; i < names.size(); ++i) define(n->output(i), names[i].first);
}

void GraphParser::blocks(Node* n) {
  Cursor::Depth depth(c_);
  for (std::size_t i = 0; c_.take("block" + std::to_string(i) + "("); ++i) {
    Block* b = n->add_block();
    for (auto& [name, type] : typed_names()) define(b->add_input({}, type), name);
    c_.expect(")");
    c_.expect(":");
    nodes(b);
    c_.expect("->");
    for (Value* v : values()) b->register_output(v);
  }
}

bool GraphParser::at_node() {
  skip_comment();
  return c_.starts_with("%") || c_.starts_with("=");
}

void GraphParser::nodes(Block* b) {
  while (at_node()) node(b);
}

// Ids of values with names, after those that the text gives.
void GraphParser::finish() {
  int next = 0;
  for (const auto& [name, v] : values_)
    if (v->name_.empty()) next = std::max(next, v->id_ + 1);
  for (const auto& v : graph_->values_)
    if (!v->name_.empty()) v->id_ = next++;
  graph_->next_id_ = next;
}

std::shared_ptr<Graph> GraphParser::parse() {
  Cursor::Depth depth(c_);
  c_.expect("graph");
  c_.expect("(");
  for (auto& [name, type] : typed_names()) define(graph_->add_input({}, type), name);
  c_.expect(")");
  c_.expect(":");
  nodes(graph_->block());
  c_.expect("return");
  for (Value* v : values()) graph_->register_output(v);
  for (std::size_t i = 0; i < with_graphs_.size(); ++i) {
    c_.expect("with");
    c_.expect(core::join(with_graphs_[i]->kind(), "_", i));
    c_.expect("=");
    with_graphs_[i]->set("Subgraph", GraphParser(c_, text_, find_, unit_).parse());
  }
  finish();
  try {
    graph_->lint();
  } catch (const Error& e) {
    throw ValueError(core::join("parse_graph: ", e.msg()));
  }
  resolve_operators(*graph_);
  return graph_;
}

namespace {

// Where there is no unit, a name with a dot is a class of its own.
FindType find_or_make() {
  auto known = std::make_shared<std::map<std::string, TypePtr>>();
  return [known](const std::string& name) {
    TypePtr& t = (*known)[name];
    if (!t) t = ClassType::make(name, false);
    return t;
  };
}

}  // namespace

std::shared_ptr<Graph> parse_graph(std::string_view text, const CompilationUnit* unit) {
  Cursor c(text, "parse_graph");
  FindType find = unit ? find_in(unit) : find_or_make();
  auto g = GraphParser(c, text, find, unit).parse();
  if (!c.at_end()) c.fail("the end");
  return g;
}

}  // namespace tenon::jit
