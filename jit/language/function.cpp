// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The body of one function, and what is removed from its graph at the end.
#include "jit/language/emitter.h"

namespace tenon::jit::language {
namespace {

bool is_removable(const Node& n) {
  static const std::set<std::string> kPure = {
      "prim::Constant",    "prim::Uninitialized", "prim::unchecked_cast", "prim::TupleConstruct",
      "prim::TupleUnpack", "prim::TupleIndex",    "prim::ListConstruct",  "prim::EmptyListLiteral",
      "prim::GetAttr",     "prim::isinstance",    "aten::__not__",        "aten::__is__",
      "aten::__isnot__"};
  return kPure.count(n.kind()) != 0;
}

bool is_used(const Node& n) {
  return std::any_of(n.outputs().begin(), n.outputs().end(),
                     [](const Value* v) { return !v->uses().empty(); });
}

void clean_up_block(Graph& g, Block& b);

void clean_up_if(Graph& g, Node* n) {
  for (int i = static_cast<int>(n->outputs().size()); i-- > 0;) {
    if (!n->output(static_cast<std::size_t>(i))->uses().empty()) continue;
    n->erase_output(i);
    for (Block* b : n->blocks()) b->return_node()->remove_input(i);
  }
  bool empty = n->outputs().empty();
  for (Block* b : n->blocks()) {
    clean_up_block(g, *b);
    empty &= b->nodes().empty();
  }
  if (empty) n->destroy();
}

// Outputs of the loop that nobody uses, and that the body only hands on.
void clean_up_loop(Graph& g, Node* n) {
  Block* b = n->block(0);
  for (int i = static_cast<int>(n->outputs().size()); i-- > 0;) {
    const auto k = static_cast<std::size_t>(i);
    Value* in = b->inputs()[k + 1];
    Value* next = b->outputs()[k + 1];
    if (!n->output(k)->uses().empty()) continue;
    const bool handed_on = in == next && in->uses().size() == 1;
    if (!in->uses().empty() && !handed_on) continue;
    n->erase_output(i);
    b->return_node()->remove_input(i + 1);
    b->param_node()->erase_output(i + 1);
    n->remove_input(i + 2);
  }
  clean_up_block(g, *b);
}

void clean_up_block(Graph& g, Block& b) {
  const std::vector<Node*> nodes = b.nodes();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    Node* n = *it;
    if (n->is("prim::If")) {
      clean_up_if(g, n);
    } else if (n->is("prim::Loop")) {
      clean_up_loop(g, n);
    } else if (is_removable(*n) && !is_used(*n)) {
      n->destroy();
    } else if (n->is("prim::EmptyListLiteral")) {
      Node* list = g.create("prim::ListConstruct", {}, 1);
      list->range = n->range;
      list->insert_before(n);
      list->output()->set_type(n->output()->type());
      n->output()->replace_all_uses_with(list->output());
      n->destroy();
    }
  }
}

}  // namespace

void clean_up(Graph& graph) { clean_up_block(graph, *graph.block()); }

Emitter::Emitter(ScopePtr scope, std::shared_ptr<Graph> graph, Emitter* outer)
    : scope_(std::move(scope)), graph_(std::move(graph)), g_(*graph_), outer_(outer) {
  root_.level = 1;
  g_.set_insert_point(g_.block());
}

TypePtr Emitter::function(const Def& def, const FunctionSchema& schema,
                          const TypePtr& declared_return) {
  function_name_ = def.name;
  function_range_ = def.range;
  declared_return_ = declared_return;
  frame_ = &root_;
  for (const Argument& a : schema.arguments)
    root_.variables[a.name] = as_sugar(g_.add_input(a.name, a.type));
  Body all = def.body;
  auto end = std::make_shared<Stmt>();
  end->kind = StmtKind::Return;
  end->range = def.range;
  end->text = "implicit";
  all.push_back(std::move(end));
  (void)body(all);
  TypePtr type = declared_return_ ? declared_return_ : merged_return_;
  if (!type) type = Type::none();
  const SugarPtr result = find_variable("$value");
  Value* out = result                     ? result->value
               : type->is(TypeKind::None) ? constant(IValue(), def.range)
                                          : uninitialized(def.range, type);  // it always raises
  for (Value* v : return_values_) v->set_type(type);
  g_.register_output(out);
  return type;
}

}  // namespace tenon::jit::language
