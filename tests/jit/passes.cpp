// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Each pass by the text before and after it, and by running both.
#include "jit/passes/passes.h"

#include <gtest/gtest.h>

#include "jit/ir/alias.h"
#include "jit/run/plan.h"
#include "tenon/creation.h"
#include "tenon/jit/unit.h"

namespace tenon::jit {
namespace {

using Pass = bool (*)(Graph&);

std::vector<IValue> run(const Graph& g, std::vector<IValue> inputs) {
  Plan(g.copy()).run(inputs);
  return inputs;
}

bool equal_values(const IValue& a, const IValue& b) {
  if (a.isTensor() && b.isTensor()) return a.toTensor().equal(b.toTensor());
  if (a.isList() && b.isList()) {
    ArrayRef<IValue> x = a.toList(), y = b.toList();
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), equal_values);
  }
  return a == b;
}

// What inputs of these types may be: a tensor of nine numbers, 3, 2.5 and true.
std::vector<IValue> sample_inputs(const Graph& g) {
  std::vector<IValue> out;
  for (const Value* v : g.inputs()) {
    const Type& t = *v->type();
    if (t.is(TypeKind::Tensor))
      out.emplace_back(tensor({{0.5, -1.0, 2.0}, {3.0, 1.5, -2.5}, {-0.25, 4.0, 0.0}}));
    else if (t.is(TypeKind::Bool))
      out.emplace_back(true);
    else if (t.is(TypeKind::Float))
      out.emplace_back(2.5);
    else
      out.emplace_back(3);
  }
  return out;
}

void expect_pass(Pass pass, const std::string& before, const std::string& after) {
  auto g = parse_graph(before);
  auto original = g->copy();
  bool changed = pass(*g);
  g->lint();
  EXPECT_EQ(g->str(), after);
  EXPECT_EQ(changed, before != after);
  std::vector<IValue> given = sample_inputs(*g), again = sample_inputs(*g);
  std::vector<IValue> wanted = run(*original, given), got = run(*g, again);
  ASSERT_EQ(wanted.size(), got.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(equal_values(wanted[i], got[i])) << "output " << i;
  for (std::size_t i = 0; i < given.size(); ++i)
    EXPECT_TRUE(equal_values(given[i], again[i])) << "input " << i;
}
void expect_unchanged(Pass pass, const std::string& text) { expect_pass(pass, text, text); }

TEST(JitPasses, DeadCode) {
  expect_pass(eliminate_dead_code,
              "graph(%x : Tensor, %c : bool):\n"
              "  %1 : int = prim::Constant[value=1]()\n"
              "  %2 : int = prim::Constant[value=2]()\n"
              "  %a : Tensor = aten::relu(%x)\n"
              "  %b : Tensor = aten::neg(%a)\n"
              "  %l : Tensor[] = prim::ListConstruct(%a)\n"
              "  %m : Tensor[] = aten::append(%l, %b)\n"
              "  %d : Tensor = aten::exp(%x)\n"
              "  %e : Tensor = aten::add_(%d, %x, %2)\n"
              "  %f : Tensor, %g : Tensor = prim::If(%c)\n"
              "    block0():\n"
              "      %h : Tensor = aten::neg(%x)\n"
              "      -> (%h, %x)\n"
              "    block1():\n"
              "      %i : Tensor = aten::exp(%x)\n"
              "      -> (%x, %i)\n"
              "  %j : Tensor = aten::add(%g, %x, %1)\n"
              "  return (%j)\n",
              "graph(%x : Tensor,\n"
              "      %c : bool):\n"
              "  %1 : int = prim::Constant[value=1]()\n"
              "  %g : Tensor = prim::If(%c)\n"
              "    block0():\n"
              "      -> (%x)\n"
              "    block1():\n"
              "      %i : Tensor = aten::exp(%x)\n"
              "      -> (%i)\n"
              "  %j : Tensor = aten::add(%g, %x, %1)\n"
              "  return (%j)\n");
}

TEST(JitPasses, DeadCodeKeepsWritesThatAreSeen) {
  expect_unchanged(eliminate_dead_code,
                   "graph(%x : Tensor,\n"
                   "      %n : int,\n"
                   "      %c : bool):\n"
                   "  %0 : int = prim::Constant[value=0]()\n"
                   "  %1 : int = prim::Constant[value=1]()\n"
                   "  %a : Tensor = aten::relu(%x)\n"
                   "  %v : Tensor = aten::select(%a, %0, %1)\n"
                   "  %l : Tensor[] = prim::ListConstruct(%a)\n"
                   "   = prim::Loop(%n, %c)\n"
                   "    block0(%i : int):\n"
                   "      %w : Tensor = aten::add_(%v, %1, %1)\n"
                   "      %m : Tensor[] = aten::append(%l, %w)\n"
                   "      -> (%c)\n"
                   "  %y : Tensor = aten::select(%x, %0, %0)\n"
                   "  %z : Tensor = aten::zero_(%y)\n"
                   "  return (%a, %l)\n");
}

TEST(JitPasses, DeadCodeInLoops) {
  expect_pass(eliminate_dead_code,
              "graph(%x : Tensor, %n : int):\n"
              "  %1 : int = prim::Constant[value=1]()\n"
              "  %t : bool = prim::Constant[value=1]()\n"
              "  %a : Tensor, %b : int, %c : Tensor = prim::Loop(%n, %t, %x, %1, %x)\n"
              "    block0(%i : int, %d : Tensor, %e : int, %f : Tensor):\n"
              "      %g : Tensor = aten::mul(%d, %e)\n"
              "      %h : int = aten::add(%e, %i)\n"
              "      %k : Tensor = aten::neg(%x)\n"
              "      -> (%t, %g, %h, %k)\n"
              "  return (%a)\n",
              "graph(%x : Tensor,\n"
              "      %n : int):\n"
              "  %1 : int = prim::Constant[value=1]()\n"
              "  %t : bool = prim::Constant[value=1]()\n"
              "  %a : Tensor, %b : int = prim::Loop(%n, %t, %x, %1)\n"
              "    block0(%i : int, %d : Tensor, %e : int):\n"
              "      %g : Tensor = aten::mul(%d, %e)\n"
              "      %h : int = aten::add(%e, %i)\n"
              "      -> (%t, %g, %h)\n"
              "  return (%a)\n");
}

TEST(JitPasses, CommonSubexpressions) {
  expect_pass(eliminate_common_subexpressions,
              "graph(%x : Tensor, %c : bool):\n"
              "  %1 : int = prim::Constant[value=1]()\n"
              "  %2 : int = prim::Constant[value=1]()\n"
              "  %3 : float = prim::Constant[value=1.]()\n"
              "  %a : Tensor = aten::add(%x, %x, %1)\n"
              "  %b : Tensor = aten::add(%x, %x, %2)\n"
              "  %d : Tensor = aten::mul(%a, %b)\n"
              "  %e : Tensor = prim::If(%c)\n"
              "    block0():\n"
              "      %f : Tensor = aten::add(%x, %x, %1)\n"
              "      %g : Tensor = aten::neg(%f)\n"
              "      -> (%g)\n"
              "    block1():\n"
              "      %h : Tensor = aten::neg(%a)\n"
              "      -> (%h)\n"
              "  %k : Tensor = aten::add(%d, %e, %3)\n"
              "  return (%k)\n",
              "graph(%x : Tensor,\n"
              "      %c : bool):\n"
              "  %1 : int = prim::Constant[value=1]()\n"
              "  %3 : float = prim::Constant[value=1.]()\n"
              "  %a : Tensor = aten::add(%x, %x, %1)\n"
              "  %d : Tensor = aten::mul(%a, %a)\n"
              "  %e : Tensor = prim::If(%c)\n"
              "    block0():\n"
              "      %g : Tensor = aten::neg(%a)\n"
              "      -> (%g)\n"
              "    block1():\n"
              "      %h : Tensor = aten::neg(%a)\n"
              "      -> (%h)\n"
              "  %k : Tensor = aten::add(%d, %e, %3)\n"
              "  return (%k)\n");
}

// Results that are written, that are read before and after a write, and that the caller sees both.
TEST(JitPasses, CommonSubexpressionsLeaveWhatIsWritten) {
  expect_unchanged(eliminate_common_subexpressions,
                   "graph(%x : Tensor):\n"
                   "  %1 : int = prim::Constant[value=1]()\n"
                   "  %a : Tensor = aten::relu(%x)\n"
                   "  %b : Tensor = aten::relu(%x)\n"
                   "  %c : Tensor = aten::neg(%a)\n"
                   "  %d : Tensor = aten::add_(%a, %1, %1)\n"
                   "  %e : Tensor = aten::neg(%a)\n"
                   "  %f : Tensor = aten::exp(%x)\n"
                   "  %g : Tensor = aten::exp(%x)\n"
                   "  return (%b, %c, %e, %f, %g)\n");
}

TEST(JitPasses, CommonSubexpressionsMergeOneResultThatEscapes) {
  expect_pass(eliminate_common_subexpressions,
              "graph(%x : Tensor):\n"
              "  %a : Tensor = aten::exp(%x)\n"
              "  %b : Tensor = aten::exp(%x)\n"
              "  %c : Tensor = aten::exp(%x)\n"
              "  %d : Tensor = aten::neg(%a)\n"
              "  return (%b, %c, %d)\n",
              "graph(%x : Tensor):\n"
              "  %a : Tensor = aten::exp(%x)\n"
              "  %c : Tensor = aten::exp(%x)\n"
              "  %d : Tensor = aten::neg(%a)\n"
              "  return (%a, %c, %d)\n");
}

// A mode changes between the two.
TEST(JitPasses, CommonSubexpressionsStopAtModes) {
  expect_unchanged(eliminate_common_subexpressions,
                   "graph(%x : Tensor):\n"
                   "  %f : bool = prim::Constant[value=0]()\n"
                   "  %t : bool = prim::Constant[value=1]()\n"
                   "  %a : Tensor = aten::exp(%x)\n"
                   "   = aten::set_grad_enabled(%f)\n"
                   "  %b : Tensor = aten::exp(%x)\n"
                   "   = aten::set_grad_enabled(%t)\n"
                   "  %c : Tensor = aten::mul(%a, %b)\n"
                   "  return (%c)\n");
}

TEST(JitPasses, Constants) {
  expect_pass(propagate_constants,
              "graph(%x : Tensor):\n"
              "  %2 : int = prim::Constant[value=2]()\n"
              "  %3 : int = prim::Constant[value=3]()\n"
              "  %t : bool = prim::Constant[value=1]()\n"
              "  %n : NoneType = prim::Constant()\n"
              "  %a : int = aten::mul(%2, %3)\n"
              "  %b : bool = aten::gt(%a, %3)\n"
              "  %c : Tensor = prim::If(%b)\n"
              "    block0():\n"
              "      %d : Tensor = aten::mul(%x, %a)\n"
              "      -> (%d)\n"
              "    block1():\n"
              "      -> (%x)\n"
              "  %s : int = aten::sub(%3, %3)\n"
              "  %e : Tensor = prim::Loop(%s, %t, %c)\n"
              "    block0(%i : int, %f : Tensor):\n"
              "      %g : Tensor = aten::neg(%f)\n"
              "      -> (%t, %g)\n"
              "  %k : int[] = prim::ListConstruct(%a)\n"
              "  %l : int[] = prim::ListConstruct(%s)\n"
              "  %z : Tensor = aten::sum(%e, %l, %t, %n)\n"
              "  return (%k, %z)\n",
              "graph(%x : Tensor):\n"
              "  %2 : int = prim::Constant[value=2]()\n"
              "  %3 : int = prim::Constant[value=3]()\n"
              "  %t : bool = prim::Constant[value=1]()\n"
              "  %n : NoneType = prim::Constant()\n"
              "  %19 : int = prim::Constant[value=6]()\n"
              "  %20 : bool = prim::Constant[value=1]()\n"
              "  %d : Tensor = aten::mul(%x, %19)\n"
              "  %21 : int = prim::Constant[value=0]()\n"
              "  %k : int[] = prim::ListConstruct(%19)\n"
              "  %22 : int[] = prim::Constant[value=[0]]()\n"
              "  %z : Tensor = aten::sum(%d, %22, %t, %n)\n"
              "  return (%k, %z)\n");
}

// A list that is written, one that the caller gets, random numbers, and what fails.
TEST(JitPasses, ConstantsLeaveWhatIsSeen) {
  auto g = parse_graph(
      "graph():\n"
      "  %0 : int = prim::Constant[value=0]()\n"
      "  %1 : int = prim::Constant[value=1]()\n"
      "  %a : int[] = prim::ListConstruct(%1)\n"
      "  %b : int[] = aten::append(%a, %1)\n"
      "  %c : int = aten::len(%a)\n"
      "  %d : int[] = prim::ListConstruct(%1)\n"
      "  %e : int = aten::floordiv(%1, %0)\n"
      "  %n : NoneType = prim::Constant()\n"
      "  %f : Tensor = aten::randn(%d, %n, %n, %n, %n)\n"
      "  return (%c, %d, %e, %f)\n");
  std::string before = g->str();
  EXPECT_FALSE(propagate_constants(*g));
  EXPECT_EQ(g->str(), before);
}

TEST(JitPasses, SimplifyNumbers) {
  expect_pass(simplify,
              "graph(%x : Tensor, %n : int, %f : float, %b : bool):\n"
              "  %0 : int = prim::Constant[value=0]()\n"
              "  %1 : int = prim::Constant[value=1]()\n"
              "  %o : float = prim::Constant[value=1.]()\n"
              "  %z : float = prim::Constant[value=0.]()\n"
              "  %a : int = aten::mul(%n, %1)\n"
              "  %c : int = aten::add(%0, %a)\n"
              "  %d : int = aten::sub(%c, %0)\n"
              "  %e : float = aten::mul(%f, %o)\n"
              "  %g : float = aten::add(%e, %z)\n"
              "  %h : int = aten::Int(%d)\n"
              "  %i : bool = aten::__not__(%b)\n"
              "  %j : bool = aten::__not__(%i)\n"
              "  %k : float = aten::mul(%n, %o)\n"
              "  %l : float = aten::div(%n, %1)\n"
              "  %t : Tensor = aten::add(%x, %0, %1)\n"
              "  return (%h, %g, %j, %k, %l, %t)\n",
              "graph(%x : Tensor,\n"
              "      %n : int,\n"
              "      %f : float,\n"
              "      %b : bool):\n"
              "  %0 : int = prim::Constant[value=0]()\n"
              "  %1 : int = prim::Constant[value=1]()\n"
              "  %o : float = prim::Constant[value=1.]()\n"
              "  %z : float = prim::Constant[value=0.]()\n"
              "  %a : int = aten::mul(%n, %1)\n"
              "  %c : int = aten::add(%0, %n)\n"
              "  %d : int = aten::sub(%n, %0)\n"
              "  %e : float = aten::mul(%f, %o)\n"
              "  %g : float = aten::add(%f, %z)\n"
              "  %h : int = aten::Int(%n)\n"
              "  %i : bool = aten::__not__(%b)\n"
              "  %j : bool = aten::__not__(%i)\n"
              "  %k : float = aten::mul(%n, %o)\n"
              "  %l : float = aten::div(%n, %1)\n"
              "  %t : Tensor = aten::add(%x, %0, %1)\n"
              "  return (%n, %g, %b, %k, %l, %t)\n");
}

bool simplify_and_clean(Graph& g) { return simplify(g) | eliminate_dead_code(g); }

TEST(JitPasses, SimplifyTensorsAndContainers) {
  expect_pass(simplify_and_clean,
              "graph(%x : Tensor, %n : int):\n"
              "  %0 : int = prim::Constant[value=0]()\n"
              "  %1 : int = prim::Constant[value=1]()\n"
              "  %no : NoneType = prim::Constant()\n"
              "  %f : bool = prim::Constant[value=0]()\n"
              "  %a : Tensor = aten::relu(%x)\n"
              "  %b : Tensor = aten::transpose(%a, %0, %1)\n"
              "  %c : Tensor = aten::transpose(%b, %0, %1)\n"
              "  %s : int[] = aten::size(%c)\n"
              "  %e : Tensor = aten::expand(%c, %s, %f)\n"
              "  %g : Tensor = aten::neg(%e)\n"
              "  %t : (Tensor, int) = prim::TupleConstruct(%g, %n)\n"
              "  %p : Tensor, %q : int = prim::TupleUnpack(%t)\n"
              "  %l : Tensor[] = prim::ListConstruct(%p, %x)\n"
              "  %h : Tensor = aten::__getitem__(%l, %0)\n"
              "  %i : int = aten::len(%l)\n"
              "  %j : bool = aten::__is__(%h, %no)\n"
              "  return (%h, %i, %j)\n",
              "graph(%x : Tensor,\n"
              "      %n : int):\n"
              "  %a : Tensor = aten::relu(%x)\n"
              "  %g : Tensor = aten::neg(%a)\n"
              "  %19 : int = prim::Constant[value=2]()\n"
              "  %20 : bool = prim::Constant[value=0]()\n"
              "  return (%g, %19, %20)\n");
}

// A cast is the same object, whoever writes it.
TEST(JitPasses, SimplifyCastsOfWhatIsWritten) {
  std::string text = "graph(%x0 : Tensor):\n";
  for (int i = 0; i < 40; ++i)
    text += core::join("  %x", i + 1, " : Tensor = prim::unchecked_cast(%x", i, ")\n");
  const auto g = parse_graph(text + "  %y : Tensor = aten::relu_(%x40)\n  return (%y)\n");
  EXPECT_TRUE(simplify(*g));
  EXPECT_TRUE(eliminate_dead_code(*g));
  EXPECT_EQ(g->block()->nodes().size(), 1U);
}

// The caller would get %x itself instead of a view; a view whose metadata is written.
TEST(JitPasses, SimplifyLeavesViewsThatAreSeen) {
  expect_unchanged(simplify,
                   "graph(%x : Tensor):\n"
                   "  %a : Tensor = aten::t(%x)\n"
                   "  %b : Tensor = aten::t(%a)\n"
                   "  %c : Tensor = aten::relu(%x)\n"
                   "  %d : Tensor = aten::t(%c)\n"
                   "  %e : Tensor = aten::t(%d)\n"
                   "  %f : Tensor = aten::zero_(%e)\n"
                   "  %g : Tensor = aten::neg(%c)\n"
                   "  return (%b, %g)\n");
}

TEST(JitPasses, Functionalize) {
  expect_pass(functionalize,
              "graph(%x : Tensor):\n"
              "  %0 : int = prim::Constant[value=0]()\n"
              "  %a : Tensor = aten::exp(%x)\n"
              "  %b : Tensor = aten::neg_(%a)\n"
              "  %p : Tensor = aten::select(%a, %0, %0)\n"
              "  %q : Tensor = aten::relu_(%p)\n"
              "  %z : Tensor = aten::tanh(%b)\n"
              "  return (%z)\n",
              "graph(%x : Tensor):\n"
              "  %0 : int = prim::Constant[value=0]()\n"
              "  %a : Tensor = aten::exp(%x)\n"
              "  %7 : Tensor = aten::neg(%a)\n"
              "  %p : Tensor = aten::select(%7, %0, %0)\n"
              "  %8 : Tensor = aten::relu(%p)\n"
              "  %9 : Tensor = aten::select_scatter(%7, %8, %0, %0)\n"
              "  %z : Tensor = aten::tanh(%9)\n"
              "  return (%z)\n");
}

// A tensor of outside, a view that is used after the write, a tensor that is returned twice.
TEST(JitPasses, FunctionalizeLeavesWritesThatAreSeen) {
  expect_unchanged(functionalize,
                   "graph(%x : Tensor):\n"
                   "  %0 : int = prim::Constant[value=0]()\n"
                   "  %a : Tensor = aten::neg_(%x)\n"
                   "  %b : Tensor = aten::exp(%x)\n"
                   "  %c : Tensor = aten::select(%b, %0, %0)\n"
                   "  %d : Tensor = aten::neg_(%b)\n"
                   "  %e : Tensor = aten::tanh(%c)\n"
                   "  %f : Tensor = aten::exp(%x)\n"
                   "  %g : Tensor = aten::neg_(%f)\n"
                   "  return (%e, %f, %g)\n");
}

TEST(JitPasses, LowerTuples) {
  expect_pass(lower_tuples,
              "graph(%x : Tensor, %n : int, %c : bool):\n"
              "  %t : bool = prim::Constant[value=1]()\n"
              "  %a : (Tensor, int) = prim::TupleConstruct(%x, %n)\n"
              "  %b : (Tensor, int) = prim::If(%c)\n"
              "    block0():\n"
              "      %d : Tensor = aten::neg(%x)\n"
              "      %e : (Tensor, int) = prim::TupleConstruct(%d, %n)\n"
              "      -> (%e)\n"
              "    block1():\n"
              "      -> (%a)\n"
              "  %f : (Tensor, int) = prim::Loop(%n, %t, %b)\n"
              "    block0(%i : int, %g : (Tensor, int)):\n"
              "      -> (%t, %g)\n"
              "  %h : Tensor, %k : int = prim::TupleUnpack(%f)\n"
              "  return (%h)\n",
              "graph(%x : Tensor,\n"
              "      %n : int,\n"
              "      %c : bool):\n"
              "  %t : bool = prim::Constant[value=1]()\n"
              "  %a : (Tensor, int) = prim::TupleConstruct(%x, %n)\n"
              "  %17 : Tensor, %18 : int = prim::If(%c)\n"
              "    block0():\n"
              "      %d : Tensor = aten::neg(%x)\n"
              "      %e : (Tensor, int) = prim::TupleConstruct(%d, %n)\n"
              "      %13 : Tensor, %14 : int = prim::TupleUnpack(%e)\n"
              "      -> (%13, %14)\n"
              "    block1():\n"
              "      %15 : Tensor, %16 : int = prim::TupleUnpack(%a)\n"
              "      -> (%15, %16)\n"
              "  %19 : (Tensor, int) = prim::TupleConstruct(%17, %18)\n"
              "  %20 : Tensor, %21 : int = prim::TupleUnpack(%19)\n"
              "  %27 : Tensor, %28 : int = prim::Loop(%n, %t, %20, %21)\n"
              "    block0(%i : int, %24 : Tensor, %25 : int):\n"
              "      %26 : (Tensor, int) = prim::TupleConstruct(%24, %25)\n"
              "      %22 : Tensor, %23 : int = prim::TupleUnpack(%26)\n"
              "      -> (%t, %22, %23)\n"
              "  %29 : (Tensor, int) = prim::TupleConstruct(%27, %28)\n"
              "  %h : Tensor, %k : int = prim::TupleUnpack(%29)\n"
              "  return (%h)\n");
}

TEST(JitPasses, UnrollLoops) {
  expect_pass(unroll_loops,
              "graph(%x : Tensor, %n : int):\n"
              "  %2 : int = prim::Constant[value=2]()\n"
              "  %t : bool = prim::Constant[value=1]()\n"
              "  %y : Tensor = prim::Loop(%2, %t, %x)\n"
              "    block0(%i : int, %k : Tensor):\n"
              "      %m : Tensor = aten::mul(%k, %i)\n"
              "      %s : Tensor = prim::Loop(%n, %t, %m)\n"
              "        block0(%j : int, %v : Tensor):\n"
              "          %u : Tensor = aten::add(%v, %j, %2)\n"
              "          -> (%t, %u)\n"
              "      -> (%t, %s)\n"
              "  return (%y)\n",
              "graph(%x : Tensor,\n"
              "      %n : int):\n"
              "  %2 : int = prim::Constant[value=2]()\n"
              "  %t : bool = prim::Constant[value=1]()\n"
              "  %14 : int = prim::Constant[value=0]()\n"
              "  %m : Tensor = aten::mul(%x, %14)\n"
              "  %s : Tensor = prim::Loop(%n, %t, %m)\n"
              "    block0(%j : int, %v : Tensor):\n"
              "      %u : Tensor = aten::add(%v, %j, %2)\n"
              "      -> (%t, %u)\n"
              "  %20 : int = prim::Constant[value=1]()\n"
              "  %m.1 : Tensor = aten::mul(%s, %20)\n"
              "  %s.1 : Tensor = prim::Loop(%n, %t, %m.1)\n"
              "    block0(%j.1 : int, %v.1 : Tensor):\n"
              "      %u.1 : Tensor = aten::add(%v.1, %j.1, %2)\n"
              "      -> (%t, %u.1)\n"
              "  return (%s.1)\n");
}

// A break, and too many trips.
TEST(JitPasses, UnrollLeavesOtherLoops) {
  expect_unchanged(unroll_loops,
                   "graph(%x : Tensor,\n"
                   "      %b : bool):\n"
                   "  %2 : int = prim::Constant[value=2]()\n"
                   "  %9 : int = prim::Constant[value=9]()\n"
                   "  %t : bool = prim::Constant[value=1]()\n"
                   "  %y : Tensor = prim::Loop(%2, %t, %x)\n"
                   "    block0(%i : int, %k : Tensor):\n"
                   "      %m : Tensor = aten::neg(%k)\n"
                   "      -> (%b, %m)\n"
                   "  %z : Tensor = prim::Loop(%9, %t, %y)\n"
                   "    block0(%j : int, %v : Tensor):\n"
                   "      %w : Tensor = aten::neg(%v)\n"
                   "      -> (%t, %w)\n"
                   "  return (%z)\n");
}

// One function that calls another twice, and itself.
TEST(JitPasses, InlineCalls) {
  CompilationUnit unit;
  auto add = [&](const char* name, const std::string& text) {
    FunctionSchema s = parse_schema(std::string(name) + "(Tensor x) -> Tensor");
    return unit.add_function(std::make_unique<Function>(name, parse_graph(text, &unit), s));
  };
  Function* twice = add("twice",
                        "graph(%x : Tensor):\n"
                        "  %2 : int = prim::Constant[value=2]()\n"
                        "  %y : Tensor = aten::mul(%x, %2)\n"
                        "  return (%y)\n");
  Function* outer = add("outer",
                        "graph(%x : Tensor):\n"
                        "  %a : Tensor = prim::CallFunction[name=\"twice\"](%x)\n"
                        "  %b : Tensor = prim::CallFunction[name=\"twice\"](%a)\n"
                        "  return (%b)\n");
  auto g = parse_graph(
      "graph(%x : Tensor, %c : bool):\n"
      "  %r : Tensor = prim::If(%c)\n"
      "    block0():\n"
      "      %a : Tensor = prim::CallFunction[name=\"outer\"](%x)\n"
      "      -> (%a)\n"
      "    block1():\n"
      "      -> (%x)\n"
      "  return (%r)\n",
      &unit);
  auto original = g->copy();
  inline_calls(*g);
  g->lint();
  EXPECT_EQ(g->str(),
            "graph(%x : Tensor,\n"
            "      %c : bool):\n"
            "  %r : Tensor = prim::If(%c)\n"
            "    block0():\n"
            "      %6 : int = prim::Constant[value=2]()\n"
            "      %y.1 : Tensor = aten::mul(%x, %6)\n"
            "      %8 : int = prim::Constant[value=2]()\n"
            "      %y : Tensor = aten::mul(%y.1, %8)\n"
            "      -> (%y)\n"
            "    block1():\n"
            "      -> (%x)\n"
            "  return (%r)\n");
  EXPECT_TRUE(equal_values(run(*original, sample_inputs(*g))[0], run(*g, sample_inputs(*g))[0]));
  (void)twice;
  (void)outer;
}

// Recursion stays a call; what doubles with each level stops at a bound.
TEST(JitPasses, InlineCallsIsBounded) {
  CompilationUnit unit;
  std::string callee;
  for (int i = 0; i < 40; ++i) {
    std::string name = "f" + std::to_string(i);
    std::string call = i == 0 ? "aten::neg(" : "prim::CallFunction[name=\"" + callee + "\"](";
    unit.add_function(std::make_unique<Function>(
        name,
        parse_graph("graph(%x : Tensor):\n  %a : Tensor = " + call +
                        "%x)\n  %b : Tensor = " + call + "%a)\n  return (%b)\n",
                    &unit),
        parse_schema(name + "(Tensor x) -> Tensor")));
    callee = name;
  }
  auto g = unit.get_function("f39").graph()->copy();
  inline_calls(*g);
  g->lint();
  EXPECT_NE(g->str().find("prim::CallFunction"), std::string::npos);

  Function* f = unit.add_function(std::make_unique<Function>(
      "again", std::make_shared<Graph>(), parse_schema("again(Tensor x) -> Tensor")));
  auto body = parse_graph(
      "graph(%x : Tensor):\n"
      "  %a : Tensor = prim::CallFunction[name=\"again\"](%x)\n"
      "  return (%a)\n",
      &unit);
  f->set_graph(body);
  auto caller = body->copy();
  inline_calls(*caller);
  caller->lint();
  EXPECT_EQ(caller->str(), body->str());
}

}  // namespace
}  // namespace tenon::jit
