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

}  // namespace
}  // namespace tenon::jit
