// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Passes leave what draws random numbers.
#include <gtest/gtest.h>

#include "jit/passes/passes.h"
#include "tenon/jit/graph.h"

namespace tenon::jit {
namespace {

// Also composites, whose parts draw. Nothing of them is seen outside.
TEST(JitPassesDraws, AreKeptOneByOne) {
  auto g = parse_graph(
      "graph(%x : Tensor):\n"
      "  %p : float = prim::Constant[value=0.5]()\n"
      "  %t : bool = prim::Constant[value=1]()\n"
      "  %4 : int = prim::Constant[value=4]()\n"
      "  %1 : int = prim::Constant[value=1]()\n"
      "  %s : int[] = prim::Constant[value=[4]]()\n"
      "  %n : NoneType = prim::Constant()\n"
      "  %a : Tensor = aten::rand(%s, %n, %n, %n, %n)\n"
      "  %b : Tensor = aten::randint(%4, %s, %n, %n, %n, %n)\n"
      "  %c : Tensor = aten::randperm(%4, %n, %n, %n, %n)\n"
      "  %d : Tensor = aten::rand_like(%x, %n, %n, %n, %n, %n)\n"
      "  %e : Tensor = aten::rand_like(%x, %n, %n, %n, %n, %n)\n"
      "  %f : Tensor = aten::dropout(%x, %p, %t)\n"
      "  %g : Tensor = aten::dropout(%x, %p, %t)\n"
      "  %l : Tensor[] = prim::ListConstruct(%a, %b, %c, %d, %e, %f, %g)\n"
      "  %z : int = prim::Constant[value=0]()\n"
      "  %y : Tensor = aten::cat(%l, %z)\n"
      "  return (%y)\n");
  const std::string before = g->str();
  EXPECT_FALSE(propagate_constants(*g));
  EXPECT_FALSE(propagate_frozen_constants(*g));
  EXPECT_FALSE(eliminate_common_subexpressions(*g));
  EXPECT_EQ(g->str(), before);
}

// Attention and recurrent layers draw where they drop elements.
TEST(JitPassesDraws, EqualCallsMergeWhereNothingIsDropped) {
  const auto merges = [](const std::string& p, const std::string& train) {
    auto g = parse_graph(
        "graph(%x : Tensor, %w : Tensor[]):\n"
        "  %p : float = prim::Constant[value=" +
        p +
        "]()\n"
        "  %t : bool = prim::Constant[value=" +
        train +
        "]()\n"
        "  %f : bool = prim::Constant[value=0]()\n"
        "  %1 : int = prim::Constant[value=1]()\n"
        "  %n : NoneType = prim::Constant()\n"
        "  %a : Tensor = aten::scaled_dot_product_attention(%x, %x, %x, %n, %p, %f, %n, %f)\n"
        "  %b : Tensor = aten::scaled_dot_product_attention(%x, %x, %x, %n, %p, %f, %n, %f)\n"
        "  %c : Tensor, %d : Tensor = aten::gru(%x, %x, %w, %f, %1, %p, %t, %f, %f)\n"
        "  %e : Tensor, %h : Tensor = aten::gru(%x, %x, %w, %f, %1, %p, %t, %f, %f)\n"
        "  %s : Tensor = aten::add(%a, %b, %1)\n"
        "  %u : Tensor = aten::add(%c, %e, %1)\n"
        "  return (%s, %u)\n");
    (void)eliminate_common_subexpressions(*g);
    int attentions = 0, layers = 0;
    for (const Node* n : g->block()->nodes()) {
      attentions += n->is("aten::scaled_dot_product_attention");
      layers += n->is("aten::gru");
    }
    return std::pair(attentions == 1, layers == 1);
  };
  EXPECT_EQ(merges("0.5", "1"), std::pair(false, false));
  EXPECT_EQ(merges("0.5", "0"), std::pair(false, true));
  EXPECT_EQ(merges("0.", "1"), std::pair(true, true));
}

}  // namespace
}  // namespace tenon::jit
