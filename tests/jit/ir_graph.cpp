// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tenon/jit/graph.h"

namespace tenon::jit {
namespace {

TEST(JitGraph, UsesFollowInputs) {
  Graph g;
  Value *a = g.add_input("a"), *b = g.add_input("b");
  Node* n = g.insert(g.create("aten::f", {a, b, a}));
  EXPECT_EQ(a->uses().size(), 2u);
  n->insert_input(0, b);
  n->remove_input(2);
  EXPECT_EQ(n->inputs(), (std::vector<Value*>{b, a, a}));
  g.lint();
  n->replace_input(1, b);
  a->replace_all_uses_with(b);
  EXPECT_EQ(n->inputs(), (std::vector<Value*>{b, b, b}));
  EXPECT_TRUE(a->uses().empty());
  g.lint();
  n->remove_all_inputs();
  EXPECT_TRUE(b->uses().empty());
  g.lint();
}

TEST(JitGraph, NamesAreUnique) {
  Graph g;
  Value *x = g.add_input("x"), *y = g.add_input("x");
  EXPECT_EQ(x->name(), "x.1");
  EXPECT_EQ(y->name(), "x");
  Value* z = g.add_input("x.1");
  EXPECT_EQ(z->name(), "x.1");
  EXPECT_EQ(x->name(), "x.2");
  EXPECT_EQ(g.add_input("12")->name(), "_12");
  EXPECT_EQ(g.add_input("a-b")->name(), "a_b");
  y->set_name({});
  EXPECT_EQ(y->debug_name(), std::to_string(y->id()));
  g.lint();
}

TEST(JitGraph, DestroyTakesBlocksAlong) {
  auto g = parse_graph(
      "graph(%c : bool, %x : Tensor):\n"
      "  %y : Tensor = prim::If(%c)\n"
      "    block0():\n"
      "      %z : Tensor = aten::neg(%x)\n"
      "      %w : Tensor = aten::neg(%z)\n"
      "      -> (%w)\n"
      "    block1():\n"
      "      -> (%x)\n"
      "  return (%y)\n");
  Value *x = g->inputs()[1], *y = g->outputs()[0];
  EXPECT_EQ(x->uses().size(), 2u);
  EXPECT_THROW(y->node()->destroy(), Error);
  y->replace_all_uses_with(x);
  y->node()->destroy();
  EXPECT_EQ(x->uses().size(), 1u);
  EXPECT_EQ(g->str(), "graph(%c : bool,\n      %x : Tensor):\n  return (%x)\n");
  g->lint();
}

TEST(JitGraph, PositionsAndInsertPoints) {
  Graph g;
  Value* x = g.add_input("x");
  Node* a = g.insert(g.create("aten::a", {x}));
  Node* b = g.insert(g.create("aten::b", {x}));
  b->move_before(a);
  EXPECT_EQ(g.block()->nodes(), (std::vector<Node*>{b, a}));
  {
    Graph::InsertPoint at(g, a);
    g.insert_constant(3);
  }
  EXPECT_EQ(g.block()->nodes()[1]->kind(), "prim::Constant");
  EXPECT_EQ(to_constant(g.block()->nodes()[1]->output())->toInt(), 3);
  EXPECT_FALSE(to_constant(x));
  g.set_insert_point(a);
  a->destroy();
  EXPECT_EQ(g.insert_point(), g.block()->return_node());
  EXPECT_THROW(b->insert_before(g.block()->return_node()), Error);
  g.lint();
}

TEST(JitGraph, InlineBlock) {
  auto from = parse_graph(
      "graph(%x : Tensor, %n : int):\n"
      "  %t : bool = prim::Constant[value=1]()\n"
      "  %y : Tensor = prim::Loop(%n, %t, %x)\n"
      "    block0(%i : int, %k : Tensor):\n"
      "      %m : Tensor = aten::mul(%k, %i)\n"
      "      -> (%t, %m)\n"
      "  return (%y)\n");
  Graph to;
  Value *x = to.add_input("x"), *n = to.add_input("n", Type::integer());
  std::map<const Value*, Value*> map{{from->inputs()[0], x}, {from->inputs()[1], n}};
  auto out = to.inline_block(*from->block(), map);
  to.register_output(out.at(0));
  to.lint();
  EXPECT_EQ(to.str(), from->str());
  std::map<const Value*, Value*> none;
  EXPECT_THROW(to.inline_block(*from->block(), none), Error);
}

TEST(JitGraph, LintFindsWhatIsWrong) {
  auto fails = [](const Graph& g, const char* message) {
    try {
      g.lint();
      ADD_FAILURE() << message;
    } catch (const Error& e) {
      EXPECT_NE(e.msg().find(message), std::string::npos) << e.msg();
    }
  };
  Graph order;
  Node* a = order.insert(order.create("aten::a"));
  Node* b = order.insert(order.create("aten::b", {a->output()}));
  order.lint();
  b->move_before(a);
  fails(order, "lint: %1 = aten::b: input 0, %0, is not made before it");

  Graph loop;
  Value* n = loop.insert_constant(3);
  Value* t = loop.insert_constant(true);
  Node* l = loop.insert(loop.create("prim::Loop", {n, t, n}, 1));
  l->add_block()->add_input("i", Type::integer());
  fails(loop, "carries 1 values");

  Graph shape;
  shape.insert(shape.create("prim::TupleIndex", {shape.insert_constant(1)}));
  fails(shape, "has 1 inputs, and needs 2");

  Graph blocks;
  blocks.insert(blocks.create("aten::a"))->add_block();
  fails(blocks, "has blocks");
}

}  // namespace
}  // namespace tenon::jit
