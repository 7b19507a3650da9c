// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What constants decide while lists are written.
#include <gtest/gtest.h>

#include "jit/passes/passes.h"
#include "tenon/jit/graph.h"

namespace tenon::jit {
namespace {

// None may have the type of a list that is written; it is not written itself.
TEST(JitPasses, BranchesByNoneOfATypeOfLists) {
  const auto g = parse_graph(
      "graph(%v : int):\n"
      "  %n : int[]? = prim::Constant()\n"
      "  %none : NoneType = prim::Constant()\n"
      "  %c : bool = aten::__isnot__(%n, %none)\n"
      "  %l : int[] = prim::If(%c)\n"
      "    block0():\n"
      "      %u : int[] = prim::unchecked_cast(%n)\n"
      "      -> (%u)\n"
      "    block1():\n"
      "      %m : int[] = prim::ListConstruct()\n"
      "      -> (%m)\n"
      "  %a : int[] = aten::append(%l, %v)\n"
      "  return (%l)\n");
  EXPECT_TRUE(propagate_constants(*g));
  for (const Node* n : g->block()->nodes()) EXPECT_FALSE(n->is("prim::If")) << g->str();
}

}  // namespace
}  // namespace tenon::jit
