// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "tenon/jit/graph.h"

namespace tenon::jit {
namespace {

std::string describe(const Node& n) {
  return n.outputs().empty() ? n.kind()
                             : core::join("%", n.output()->debug_name(), " = ", n.kind());
}

// How many inputs and outputs nodes have that the interpreter knows itself; -1: any number.
struct Shape {
  int inputs, outputs;
};
const Shape* shape_of(const std::string& kind) {
  static const std::map<std::string, Shape> shapes{
      {"prim::Constant", {0, 1}},        {"prim::Uninitialized", {0, 1}},
      {"prim::CreateObject", {0, 1}},    {"prim::GetAttr", {1, 1}},
      {"prim::SetAttr", {2, 0}},         {"prim::ListConstruct", {-1, 1}},
      {"prim::TupleConstruct", {-1, 1}}, {"prim::DictConstruct", {-1, 1}},
      {"prim::ListUnpack", {1, -1}},     {"prim::TupleUnpack", {1, -1}},
      {"prim::TupleIndex", {2, 1}},      {"prim::TupleSlice", {1, 1}},
      {"prim::isinstance", {1, 1}},      {"prim::unchecked_cast", {1, 1}},
      {"prim::CallFunction", {-1, 1}},   {"prim::fork", {-1, 1}},
      {"prim::FusionGroup", {-1, -1}}};
  auto it = shapes.find(kind);
  return it == shapes.end() ? nullptr : &it->second;
}

class Linter {
 public:
  explicit Linter(const Graph& g) : graph_(g) {}
  void block(const Block& b);

 private:
  void node(const Node& n);
  void shape(const Node& n);
  void inputs(const Node& n);
  void outputs(const Node& n);
  void loop(const Node& n);
  void branches(const Node& n);
  void require(bool holds, const Node& n, const std::string& what) {
    if (!holds) throw Error(core::join("lint: ", describe(n), ": ", what));
  }

  const Graph& graph_;
  std::set<const Value*> in_scope_;
  std::set<int> ids_;
  std::set<std::string_view> names_;
};

void Linter::block(const Block& b) {
  std::vector<const Value*> made;
  const Node* before = nullptr;
  for (const Node* n = b.param_node(); n; n = n->next()) {
    require(n->owning_block() == &b && n->graph() == &graph_ && n->prev() == before, *n,
            "is not linked with its block");
    node(*n);
    in_scope_.insert(n->outputs().begin(), n->outputs().end());
    made.insert(made.end(), n->outputs().begin(), n->outputs().end());
    before = n;
  }
  require(before == b.return_node(), *before, "is the last of a block, but no prim::Return");
  for (const Value* v : made) in_scope_.erase(v);
}

void Linter::shape(const Node& n) {
  if (n.is("prim::CallMethod"))
    require(!n.inputs().empty() && n.outputs().size() == 1, n, "needs an object and one output");
  const Shape* s = shape_of(n.kind());
  if (!s) return;
  auto agrees = [](int wanted, std::size_t given) {
    return wanted < 0 || static_cast<std::size_t>(wanted) == given;
  };
  require(agrees(s->inputs, n.inputs().size()), n,
          core::join("has ", n.inputs().size(), " inputs, and needs ", s->inputs));
  require(agrees(s->outputs, n.outputs().size()), n,
          core::join("has ", n.outputs().size(), " outputs, and needs ", s->outputs));
}

void Linter::node(const Node& n) {
  shape(n);
  inputs(n);
  outputs(n);
  if (n.is("prim::If"))
    branches(n);
  else if (n.is("prim::Loop"))
    loop(n);
  else
    require(n.blocks().empty(), n, "has blocks, which only prim::If and prim::Loop have");
  for (const Block* b : n.blocks()) {
    require(b->owning_node() == &n, n, "has a block of another node");
    block(*b);
  }
}

void Linter::inputs(const Node& n) {
  for (std::size_t i = 0; i < n.inputs().size(); ++i) {
    const Value* v = n.input(i);
    std::string name = core::join("input ", i, ", %", v->debug_name(), ", ");
    require(in_scope_.count(v) != 0, n, name + "is not made before it, or in another block");
    auto listed = std::count_if(v->uses().begin(), v->uses().end(), [&](const Use& u) {
      return u.user == &n && u.index == static_cast<int>(i);
    });
    require(listed == 1, n, core::join(name, "lists this use ", listed, " times"));
  }
}

void Linter::outputs(const Node& n) {
  for (std::size_t i = 0; i < n.outputs().size(); ++i) {
    const Value* v = n.output(i);
    require(v->node() == &n && v->offset() == static_cast<int>(i), n,
            core::join("output ", i, " belongs to another node"));
    require(ids_.insert(v->id()).second, n, core::join("the id ", v->id(), " is used twice"));
    require(v->name().empty() || names_.insert(v->name()).second, n,
            core::join("the name %", v->name(), " is used twice"));
    require(v->type() != nullptr, n, core::join("output ", i, " has no type"));
    for (const Use& u : v->uses())
      require(u.index >= 0 && static_cast<std::size_t>(u.index) < u.user->inputs().size() &&
                  u.user->input(static_cast<std::size_t>(u.index)) == v,
              n,
              core::join("%", v->debug_name(), " lists a use in ", u.user->kind(),
                         " that is not there"));
  }
}

void Linter::branches(const Node& n) {
  require(n.inputs().size() == 1 && n.blocks().size() == 2, n, "needs a condition and two blocks");
  for (const Block* b : n.blocks())
    require(b->inputs().empty() && b->outputs().size() == n.outputs().size(), n,
            "needs blocks without inputs and with an output for each of its own");
}

void Linter::loop(const Node& n) {
  require(n.inputs().size() >= 2 && n.blocks().size() == 1, n,
          "needs a trip count, a condition and one block");
  std::size_t carried = n.inputs().size() - 2;
  const Block& b = *n.block(0);
  require(
      n.outputs().size() == carried && b.inputs().size() == carried + 1 &&
          b.outputs().size() == carried + 1,
      n,
      core::join("carries ", carried, " values, and has ", n.outputs().size(), " outputs, ",
                 b.inputs().size(), " inputs and ", b.outputs().size(), " outputs of its block"));
}

}  // namespace

void Graph::lint() const { Linter(*this).block(*block_); }

}  // namespace tenon::jit
