// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/alias.h"

#include <gtest/gtest.h>

namespace tenon::jit {
namespace {

struct Facts {
  explicit Facts(const std::string& text) : graph(parse_graph(text)), facts(*graph) {
    note(*graph->block());
  }
  void note(const Block& b) {
    for (const Value* v : b.inputs()) values[v->debug_name()] = v;
    for (const Node* n : b.nodes()) {
      for (const Value* v : n->outputs()) values[v->debug_name()] = v;
      for (const Block* inner : n->blocks()) note(*inner);
    }
  }
  const Value* at(const char* name) const { return values.at(name); }
  const Node* node(const char* name) const { return at(name)->node(); }
  bool alias(const char* a, const char* b) const { return facts.may_alias(at(a), at(b)); }
  bool written(const char* a) const { return facts.has_writers(at(a)); }
  std::shared_ptr<Graph> graph;
  AliasFacts facts;
  std::map<std::string, const Value*> values;
};

TEST(JitAlias, ViewsShareMemory) {
  Facts f(
      "graph(%x : Tensor, %z : Tensor):\n"
      "  %0 : int = prim::Constant[value=0]()\n"
      "  %1 : int = prim::Constant[value=1]()\n"
      "  %y : Tensor = aten::relu(%x)\n"
      "  %v : Tensor = aten::select(%y, %0, %1)\n"
      "  %w : Tensor = aten::t(%v)\n"
      "  %u : Tensor = aten::neg(%y)\n"
      "  %s : Tensor = aten::add_(%w, %x, %1)\n"
      "  return (%u)\n");
  EXPECT_TRUE(f.alias("y", "w"));
  EXPECT_TRUE(f.alias("y", "s"));
  EXPECT_FALSE(f.alias("y", "x"));
  EXPECT_FALSE(f.alias("y", "u"));
  EXPECT_TRUE(f.alias("x", "z"));  // the caller may have given one tensor twice
  EXPECT_FALSE(f.alias("0", "0") && f.written("0"));
  EXPECT_TRUE(f.written("y"));
  EXPECT_FALSE(f.written("x"));
  EXPECT_FALSE(f.written("u"));
  EXPECT_TRUE(f.facts.writes(f.node("s")));
  EXPECT_FALSE(f.facts.writes(f.node("w")));
  EXPECT_TRUE(f.facts.escapes(f.at("u")));
  EXPECT_FALSE(f.facts.escapes(f.at("v")));
  EXPECT_TRUE(f.facts.escapes(f.at("x")));
}

TEST(JitAlias, ContainersHoldTheirElements) {
  Facts f(
      "graph(%x : Tensor):\n"
      "  %0 : int = prim::Constant[value=0]()\n"
      "  %k : str = prim::Constant[value=\"k\"]()\n"
      "  %a : Tensor = aten::relu(%x)\n"
      "  %b : Tensor = aten::relu(%x)\n"
      "  %c : Tensor = aten::relu(%x)\n"
      "  %d : Tensor = aten::relu(%x)\n"
      "  %l : Tensor[] = prim::ListConstruct(%a)\n"
      "  %m : Tensor[] = aten::append(%l, %b)\n"
      "  %e : Tensor = aten::__getitem__(%l, %0)\n"
      "  %t : (Tensor, int) = prim::TupleConstruct(%c, %0)\n"
      "  %p : Tensor, %q : int = prim::TupleUnpack(%t)\n"
      "  %z : Tensor = aten::zero_(%e)\n"
      "  return (%d)\n");
  EXPECT_TRUE(f.alias("e", "a"));
  EXPECT_TRUE(f.alias("e", "b"));
  EXPECT_TRUE(f.alias("l", "m"));
  EXPECT_FALSE(f.alias("l", "a"));
  EXPECT_TRUE(f.facts.may_contain_alias(f.at("l"), f.at("b")));
  EXPECT_TRUE(f.alias("p", "c"));
  EXPECT_FALSE(f.alias("p", "a"));
  EXPECT_TRUE(f.written("a"));
  EXPECT_TRUE(f.written("b"));
  EXPECT_TRUE(f.written("l"));  // by append
  EXPECT_FALSE(f.written("c"));
  EXPECT_FALSE(f.written("t"));
  EXPECT_FALSE(f.written("d"));
}

TEST(JitAlias, ListsOfViewsAndCopiesOfLists) {
  Facts f(
      "graph(%x : Tensor, %k : str):\n"
      "  %0 : int = prim::Constant[value=0]()\n"
      "  %1 : int = prim::Constant[value=1]()\n"
      "  %a : Tensor = aten::relu(%x)\n"
      "  %b : Tensor = aten::relu(%x)\n"
      "  %c : Tensor = aten::relu(%x)\n"
      "  %s : Tensor[] = aten::split(%a, %1, %0)\n"
      "  %p : Tensor = aten::__getitem__(%s, %1)\n"
      "  %d : Dict(str, Tensor) = prim::DictConstruct(%k, %b)\n"
      "  %i : (str, Tensor)[] = aten::items(%d)\n"
      "  %t : (str, Tensor) = aten::__getitem__(%i, %0)\n"
      "  %n : str, %q : Tensor = prim::TupleUnpack(%t)\n"
      "  %l : Tensor[] = prim::ListConstruct(%c)\n"
      "  %m : Tensor[] = aten::slice(%l, %0, %1, %1)\n"
      "  %o : Tensor = aten::__getitem__(%m, %0)\n"
      "  %r : Tensor[] = aten::append(%m, %x)\n"
      "  return (%0)\n");
  EXPECT_TRUE(f.alias("p", "a"));
  EXPECT_TRUE(f.alias("q", "b"));
  EXPECT_TRUE(f.alias("o", "c"));
  EXPECT_FALSE(f.alias("p", "b"));
  EXPECT_FALSE(f.alias("q", "c"));
  EXPECT_FALSE(f.alias("l", "m"));  // another list of the same tensors
  EXPECT_FALSE(f.written("s"));
  EXPECT_TRUE(f.written("m"));
  EXPECT_FALSE(f.written("l"));
}

TEST(JitAlias, ControlFlowMerges) {
  Facts f(
      "graph(%x : Tensor, %c : bool, %n : int):\n"
      "  %1 : int = prim::Constant[value=1]()\n"
      "  %a : Tensor = aten::relu(%x)\n"
      "  %b : Tensor = aten::relu(%x)\n"
      "  %i : Tensor = prim::If(%c)\n"
      "    block0():\n"
      "      -> (%a)\n"
      "    block1():\n"
      "      %d : Tensor = aten::relu(%x)\n"
      "      -> (%d)\n"
      "  %l : Tensor = prim::Loop(%n, %c, %b)\n"
      "    block0(%k : int, %s : Tensor):\n"
      "      %t : Tensor = aten::add_(%s, %x, %1)\n"
      "      %u : Tensor = aten::relu(%t)\n"
      "      -> (%c, %u)\n"
      "  return (%i, %l)\n");
  EXPECT_TRUE(f.alias("i", "a"));
  EXPECT_TRUE(f.alias("i", "d"));
  EXPECT_TRUE(f.alias("a", "d"));  // sets, not paths
  EXPECT_FALSE(f.alias("a", "b"));
  EXPECT_TRUE(f.alias("l", "b"));
  EXPECT_TRUE(f.alias("s", "u"));
  EXPECT_TRUE(f.written("b"));
  EXPECT_FALSE(f.written("a"));
  EXPECT_TRUE(f.facts.writes(f.node("l")));
  EXPECT_FALSE(f.facts.writes(f.node("i")));
}

TEST(JitAlias, ObjectsAndCallsAreOutside) {
  Facts f(
      "graph(%self : __torch__.M, %x : Tensor):\n"
      "  %1 : int = prim::Constant[value=1]()\n"
      "  %w : Tensor = prim::GetAttr[name=\"w\"](%self)\n"
      "  %a : Tensor = aten::relu(%x)\n"
      "  %b : Tensor = aten::relu(%x)\n"
      "   = prim::SetAttr[name=\"w\"](%self, %a)\n"
      "  %r : Tensor = prim::CallMethod[name=\"f\"](%self, %a)\n"
      "  return (%b)\n");
  EXPECT_TRUE(f.alias("w", "x"));
  EXPECT_TRUE(f.alias("a", "w"));
  EXPECT_TRUE(f.alias("r", "x"));
  EXPECT_FALSE(f.alias("b", "x"));
  EXPECT_TRUE(f.written("x"));
  EXPECT_FALSE(f.written("b"));
  EXPECT_TRUE(f.facts.has_effects(f.node("r")));
  EXPECT_FALSE(f.facts.has_effects(f.node("w")));
}

TEST(JitAlias, Moves) {
  Facts f(
      "graph(%x : Tensor):\n"
      "  %1 : int = prim::Constant[value=1]()\n"
      "  %a : Tensor = aten::relu(%x)\n"
      "  %v : Tensor = aten::t(%a)\n"
      "  %b : Tensor = aten::neg(%v)\n"
      "  %c : Tensor = aten::exp(%x)\n"
      "  %w : Tensor = aten::add_(%a, %c, %1)\n"
      "  %d : Tensor = aten::neg(%v)\n"
      "  %n : NoneType = prim::Constant()\n"
      "  %p : Tensor = aten::bernoulli(%x, %n)\n"
      "  %q : Tensor = aten::bernoulli(%x, %n)\n"
      "  return (%b, %d)\n");
  auto moves = [&](const char* n, const char* place) {
    return f.facts.can_move(f.node(n), f.node(place));
  };
  EXPECT_TRUE(moves("c", "a"));   // needs the input alone
  EXPECT_FALSE(moves("b", "a"));  // needs %v
  EXPECT_FALSE(moves("a", "b"));  // %v needs it
  EXPECT_TRUE(moves("b", "w"));
  EXPECT_FALSE(moves("b", "d"));  // %w writes what it reads
  EXPECT_FALSE(moves("d", "w"));
  EXPECT_FALSE(moves("w", "b"));
  EXPECT_FALSE(moves("p", "1"));  // needs %n
  EXPECT_FALSE(moves("q", "p"));  // random numbers keep their order
  EXPECT_TRUE(f.facts.can_move(f.node("c"), f.node("c")));
  EXPECT_FALSE(f.facts.can_move(f.node("c"), f.graph->block()->return_node()));
  EXPECT_TRUE(f.facts.can_move(f.node("b"), f.node("c")));
}

}  // namespace
}  // namespace tenon::jit
