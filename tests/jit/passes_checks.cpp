// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What only the reader of exported programs writes, as other formats take it.
#include <gtest/gtest.h>

#include "jit/passes/passes.h"
#include "tenon/jit/graph.h"

namespace tenon::jit {
namespace {

std::shared_ptr<Graph> graph_of(const std::string& inputs, const std::string& nodes) {
  return parse_graph("graph(" + inputs +
                     "):\n"
                     "  %0 : int = prim::Constant[value=0]()\n"
                     "  %1 : int = prim::Constant[value=1]()\n"
                     "  %true : bool = prim::Constant[value=1]()\n"
                     "  %false : bool = prim::Constant[value=0]()\n"
                     "  %none : NoneType = prim::Constant()\n"
                     "  %cpu : str = prim::Constant[value=\"cpu\"]()\n" +
                     nodes);
}

std::string kinds(const Block& b) {
  std::string out;
  for (const Node* n : b.nodes()) {
    if (!n->is("prim::Constant")) out += (out.empty() ? "" : " ") + n->kind();
    for (const Block* inner : n->blocks()) out += " {" + kinds(*inner) + "}";
  }
  return out;
}

TEST(JitRemoveChecks, ModesWithoutCasts) {
  const auto g = graph_of("%x : Tensor",
                          "  %grad : Any = exported::grad_mode(%false, %none)\n"
                          "  %a : Any = exported::autocast_mode(%cpu, %none, %false, %grad)\n"
                          "  %b : Any = exported::autocast_mode(%cpu, %none, %false, %a)\n"
                          "  %y : Tensor = aten::mm(%x, %x)\n"
                          "   = exported::end_mode(%b)\n"
                          "   = exported::end_mode(%a)\n"
                          "   = exported::end_mode(%grad)\n"
                          "  return (%y)\n");
  EXPECT_TRUE(remove_checks(*g));
  g->lint();
  EXPECT_EQ(kinds(*g->block()), "aten::mm");
}

// Inside it operators would cast otherwise.
TEST(JitRemoveChecks, AModeInOneWithCastsStays) {
  const auto g = graph_of("%x : Tensor",
                          "  %a : Any = exported::autocast_mode(%cpu, %none, %true, %none)\n"
                          "  %b : Any = exported::autocast_mode(%cpu, %none, %false, %a)\n"
                          "  %y : Tensor = aten::mm(%x, %x)\n"
                          "  return (%y)\n");
  EXPECT_FALSE(remove_checks(*g));
}

TEST(JitRemoveChecks, WhatDecomposedProgramsWriteAndRead) {
  const auto g = graph_of("%x : Tensor, %b : Tensor",
                          "  %n : Scalar = aten::_local_scalar_dense(%x)\n"
                          "  %y : Tensor = aten::mul(%b, %n)\n"
                          "   = exported::write_back(%b, %y)\n"
                          "   = exported::write_back(%b, %b)\n"
                          "  return (%y)\n");
  EXPECT_TRUE(remove_checks(*g));
  g->lint();
  EXPECT_EQ(kinds(*g->block()), "aten::item aten::mul aten::copy_");
}

TEST(JitRemoveChecks, LoopsOfVmapBecomeLoopsOfTorchScript) {
  const auto g = graph_of("%x : Tensor, %n : int",
                          "  %all : Tensor[] = prim::ListConstruct()\n"
                          "  %times : int = exported::batch_times(%n)\n"
                          "   = prim::Loop(%times, %true)\n"
                          "    block0(%i : int):\n"
                          "      %e : Tensor = exported::batch_element(%x, %0, %i)\n"
                          "      %r : Tensor = aten::relu(%e)\n"
                          "      %l : Tensor[] = aten::append(%all, %r)\n"
                          "      -> (%true)\n"
                          "  %y : Tensor = exported::batch_of(%all, %1, %n)\n"
                          "  return (%y)\n");
  EXPECT_TRUE(remove_checks(*g));
  g->lint();
  EXPECT_EQ(kinds(*g->block()),
            "prim::ListConstruct prim::Loop {aten::select aten::relu aten::append} aten::stack");
}

}  // namespace
}  // namespace tenon::jit
