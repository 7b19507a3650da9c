// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Passes over programs with constant weights: each by the text before and after it, and by running
// both. Inputs of a graph whose names begin with w become constants.
#include <gtest/gtest.h>

#include "jit/passes/passes.h"
#include "jit/passes/shape_facts.h"
#include "jit/run/plan.h"
#include "tenon/creation.h"
#include "tenon/jit/graph.h"
#include "tenon/ops.h"

namespace tenon::jit {
namespace {

using Pass = bool (*)(Graph&);
using Sizes = std::vector<int64_t>;

// Numbers that differ from each other, of both signs.
Tensor numbers(const Sizes& sizes, double first = 0.3) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return (arange(n, kFloat) * 0.7 + first).sin().reshape(sizes);
}

// Inputs %w... of these sizes as constants.
std::shared_ptr<Graph> with_weights(const std::string& text, const std::vector<Sizes>& weights,
                                    ScalarType dtype = kFloat) {
  auto g = parse_graph(text);
  std::size_t next = 0;
  for (std::size_t i = 0; i < g->inputs().size();) {
    Value* v = g->inputs()[i];
    if (v->name().empty() || v->name()[0] != 'w') {
      ++i;
      continue;
    }
    const std::string name = v->name();
    Graph::InsertPoint at(*g, g->block()->param_node()->next());
    Tensor t = numbers(weights.at(next), static_cast<double>(next));
    if (name[1] == 'v') t = t.abs() + 0.5;  // a variance
    ++next;
    Value* constant = g->insert_constant(t.to(dtype), {}, Type::tensor());
    v->replace_all_uses_with(constant);
    g->block()->param_node()->erase_output(static_cast<int>(i));
    constant->set_name(name);
  }
  EXPECT_EQ(next, weights.size());
  return g;
}

Stack run_plan(const Graph& g, Stack inputs) {
  Plan(g.copy()).run(inputs);
  return inputs;
}

void expect_close(const IValue& a, const IValue& b) {
  ASSERT_TRUE(a.isTensor() && b.isTensor());
  const Tensor &x = a.toTensor(), &y = b.toTensor();
  ASSERT_EQ(x.sizes(), y.sizes());
  EXPECT_EQ(x.scalar_type(), y.scalar_type());
  EXPECT_TRUE(x.allclose(y, 1e-5, 1e-5)) << x << y;
}

// The nodes after the pass, constants left out, as "aten::relu aten::add".
std::string kinds_without_lists(const Block& b) {
  std::string out;
  for (const Node* n : b.nodes()) {
    if (!n->is("prim::Constant") && !n->is("prim::ListConstruct"))
      out += (out.empty() ? "" : " ") + n->kind();
    for (const Block* inner : n->blocks()) out += " {" + kinds_without_lists(*inner) + "}";
  }
  return out;
}

// `first` runs before the pass: what it gives is the text before.
void expect_pass(Pass pass, const std::string& before, const std::vector<Sizes>& weights,
                 const std::vector<Sizes>& inputs, const std::string& after) {
  auto g = with_weights(before, weights);
  const auto original = g->copy();
  const bool changed = pass(*g);
  eliminate_dead_code(*g);
  g->lint();
  EXPECT_EQ(kinds_without_lists(*g->block()), after);
  EXPECT_EQ(changed, kinds_without_lists(*original->block()) != after);
  Stack given, again;
  for (const Sizes& s : inputs) {
    given.emplace_back(numbers(s, 0.1));
    again.emplace_back(numbers(s, 0.1));
  }
  const Stack wanted = run_plan(*original, given), got = run_plan(*g, again);
  ASSERT_EQ(wanted.size(), got.size());
  for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], wanted[i]);
  for (std::size_t i = 0; i < given.size(); ++i) expect_close(again[i], given[i]);
}

constexpr const char* kNumbers =
    "  %0 : int = prim::Constant[value=0]()\n"
    "  %1 : int = prim::Constant[value=1]()\n"
    "  %2 : int = prim::Constant[value=2]()\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %h : float = prim::Constant[value=0.5]()\n"
    "  %eps : float = prim::Constant[value=0.001]()\n"
    "  %true : bool = prim::Constant[value=1]()\n"
    "  %false : bool = prim::Constant[value=0]()\n"
    "  %s1 : int[] = prim::ListConstruct(%1, %1)\n"
    "  %s0 : int[] = prim::ListConstruct(%0, %0)\n";

std::string body(const std::string& inputs, const std::string& nodes) {
  return "graph(" + inputs + "):\n" + kNumbers + nodes;
}

const std::string kConv = "  %y : Tensor = aten::conv2d(%x, %w, %wb, %s1, %s1, %s1, %1)\n";
const std::vector<Sizes> kConvWeights{{4, 3, 3, 3}, {4}};
const std::vector<Sizes> kImage{{2, 3, 5, 5}};

std::vector<Sizes> operator+(std::vector<Sizes> a, const std::vector<Sizes>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(JitFrozenPasses, RemoveDropout) {
  expect_pass(remove_dropout,
              body("%x : Tensor",
                   "  %a : Tensor = aten::dropout(%x, %h, %false)\n"
                   "  %b : Tensor = aten::relu(%a)\n"
                   "  %c : Tensor = aten::feature_dropout(%b, %h, %false)\n"
                   "  return (%c)\n"),
              {}, {{2, 3}}, "aten::relu");
}

TEST(JitFrozenPasses, RemoveDropoutLeavesTraining) {
  auto g = parse_graph(body("%x : Tensor, %c : bool",
                            "  %a : Tensor = aten::dropout(%x, %h, %true)\n"
                            "  %b : Tensor = aten::dropout(%x, %h, %c)\n"
                            "  return (%a, %b)\n"));
  EXPECT_FALSE(remove_dropout(*g));
}

TEST(JitFrozenPasses, RemoveChecks) {
  auto g = parse_graph(body("%x : Tensor",
                            "  %name : str = prim::Constant[value=\"x\"]()\n"
                            "  %any : int[] = prim::Constant[value=[-1, 3]]()\n"
                            "  %all : int[] = exported::check_sizes(%x, %name, %any)\n"
                            "  %n : int = aten::__getitem__(%all, %0)\n"
                            "   = exported::check_range(%n, %1, %2, %name)\n"
                            "  %on : bool = aten::is_grad_enabled()\n"
                            "  %mode : t = exported::grad_mode(%false, %none)\n"
                            "  %y : Tensor = aten::relu(%x)\n"
                            "   = exported::end_mode(%mode)\n"
                            "  return (%y, %n, %on)\n"));
  EXPECT_TRUE(remove_checks(*g));
  g->lint();
  EXPECT_EQ(kinds_without_lists(*g->block()), "aten::size aten::__getitem__ aten::relu");
  EXPECT_FALSE(remove_checks(*g));
}

TEST(JitFrozenPasses, BatchNormGoesIntoConvolution) {
  expect_pass(fold_scales,
              body("%x : Tensor, %w : Tensor, %wb : Tensor, %wm : Tensor, %wv : Tensor, "
                   "%wg : Tensor, %wh : Tensor",
                   kConv + "  %z : Tensor = aten::batch_norm(%y, %wg, %wh, %wm, %wv, %false, %h, "
                           "%eps, %true)\n"
                           "  return (%z)\n"),
              kConvWeights + std::vector<Sizes>{{4}, {4}, {4}, {4}}, kImage, "aten::conv2d");
}

TEST(JitFrozenPasses, BatchNormGoesIntoTransposedConvolutionWithGroups) {
  expect_pass(fold_scales,
              body("%x : Tensor, %w : Tensor, %wm : Tensor, %wv : Tensor",
                   "  %y : Tensor = aten::conv_transpose2d(%x, %w, %none, %s1, %s0, %s0, %2, %s1)\n"
                   "  %z : Tensor = aten::batch_norm(%y, %none, %none, %wm, %wv, %false, %h, "
                   "%eps, %true)\n"
                   "  return (%z)\n"),
              {{4, 3, 2, 2}, {6}, {6}}, {{2, 4, 3, 3}}, "aten::conv_transpose2d");
}

// One that is training, one whose input has another use, one whose weight is written.
TEST(JitFrozenPasses, BatchNormStaysWhereItMust) {
  const std::string inputs = "%x : Tensor, %w : Tensor, %wb : Tensor, %wm : Tensor, %wv : Tensor";
  const std::vector<Sizes> weights = kConvWeights + std::vector<Sizes>{{4}, {4}};
  const auto norm = [](const char* training) {
    return std::string("  %z : Tensor = aten::batch_norm(%y, %none, %none, %wm, %wv, %") +
           training + ", %h, %eps, %true)\n";
  };
  for (const std::string& text :
       {kConv + norm("true") + "  return (%z)\n", kConv + norm("false") + "  return (%y, %z)\n",
        "  %u : Tensor = aten::mul_(%w, %h)\n" + kConv + norm("false") + "  return (%z)\n"}) {
    auto g = with_weights(body(inputs, text), weights);
    EXPECT_FALSE(fold_scales(*g)) << text;
  }
}

TEST(JitFrozenPasses, ScalesAndShiftsGoIntoLinear) {
  expect_pass(fold_scales,
              body("%x : Tensor, %w : Tensor, %ws : Tensor, %wt : Tensor",
                   "  %y : Tensor = aten::linear(%x, %w, %none)\n"
                   "  %a : Tensor = aten::mul(%y, %ws)\n"
                   "  %b : Tensor = aten::add_(%a, %wt, %1)\n"
                   "  %c : Tensor = aten::div(%b, %2)\n"
                   "  %d : Tensor = aten::sub(%c, %wt, %1)\n"
                   "  return (%d)\n"),
              {{4, 3}, {4}, {4}}, {{2, 5, 3}}, "aten::linear");
}

// Scales of another dimension, and sums with a factor.
TEST(JitFrozenPasses, OtherScalesStay) {
  for (const std::string& next : {std::string("  %z : Tensor = aten::mul(%y, %ws)\n"),
                                  std::string("  %z : Tensor = aten::add(%y, %h, %2)\n"),
                                  std::string("  %z : Tensor = aten::div(%h, %y)\n")}) {
    auto g = with_weights(body("%x : Tensor, %w : Tensor, %wb : Tensor, %ws : Tensor",
                               kConv + next + "  return (%z)\n"),
                          kConvWeights + std::vector<Sizes>{{5}});
    EXPECT_FALSE(fold_scales(*g)) << next;
  }
}

TEST(JitFrozenPasses, EpilogueOfConvolution) {
  expect_pass(fuse_epilogues,
              body("%x : Tensor, %w : Tensor, %wb : Tensor, %wc : Tensor",
                   kConv + "  %a : Tensor = aten::relu_(%y)\n"
                           "  %b : Tensor = aten::conv2d(%a, %wc, %none, %s1, %s1, %s1, %1)\n"
                           "  %c : Tensor = aten::add_(%b, %a, %1)\n"
                           "  %d : Tensor = aten::hardtanh(%c, %0, %2)\n"
                           "  return (%d)\n"),
              kConvWeights + std::vector<Sizes>{{4, 4, 3, 3}}, kImage,
              "aten::_conv_epilogue aten::_conv_epilogue");
}

TEST(JitFrozenPasses, EpilogueText) {
  auto g = with_weights(body("%x : Tensor, %w : Tensor, %wb : Tensor",
                             kConv + "  %a : Tensor = aten::leaky_relu(%y, %h)\n"
                                     "  return (%a)\n"),
                        kConvWeights);
  EXPECT_TRUE(fuse_epilogues(*g));
  eliminate_dead_code(*g);
  EXPECT_EQ(g->str(),
            "graph(%x : Tensor):\n"
            "  %wb : Tensor = prim::Constant[value=<Tensor>]()\n"
            "  %17 : Tensor = prim::Constant[value=<Tensor>]()\n"
            "  %18 : NoneType = prim::Constant()\n"
            "  %19 : int[] = prim::Constant[value=[1, 1]]()\n"
            "  %20 : int[] = prim::Constant[value=[1, 1]]()\n"
            "  %21 : int[] = prim::Constant[value=[1, 1]]()\n"
            "  %22 : int = prim::Constant[value=1]()\n"
            "  %23 : str = prim::Constant[value=\"leaky_relu\"]()\n"
            "  %24 : float[] = prim::Constant[value=[0.5]]()\n"
            "  %25 : Tensor = aten::_conv_epilogue(%x, %17, %wb, %18, %19, %20, %21, %22, %23, "
            "%24)\n"
            "  return (%25)\n");
}

TEST(JitFrozenPasses, EpilogueOfLinearLayers) {
  const std::string gelu = "  %how : str = prim::Constant[value=\"tanh\"]()\n";
  expect_pass(fuse_epilogues,
              body("%x : Tensor, %w : Tensor, %wb : Tensor, %wc : Tensor, %wd : Tensor",
                   gelu + "  %a : Tensor = aten::linear(%x, %w, %wb)\n"
                          "  %b : Tensor = aten::gelu(%a, %how)\n"
                          "  %c : Tensor = aten::matmul(%b, %wc)\n"
                          "  %d : Tensor = aten::add(%c, %wd, %1)\n"
                          "  %e : Tensor = aten::add(%b, %d, %1)\n"
                          "  %f : Tensor = aten::addmm(%wb, %e, %wc, %1, %1)\n"
                          "  %g : Tensor = aten::silu(%f)\n"
                          "  return (%g)\n"),
              {{4, 3}, {4}, {4, 4}, {4}}, {{2, 3}},
              "aten::_linear_epilogue aten::_linear_epilogue aten::_linear_epilogue");
}

// As GPT-2's layers go: two dimensions for the product, then the others again.
TEST(JitFrozenPasses, EpilogueUnderAView) {
  const std::string layer =
      "  %how : str = prim::Constant[value=\"none\"]()\n"
      "  %n : int = prim::Constant[value=-1]()\n"
      "  %m : int = prim::Constant[value=2]()\n"
      "  %out : int = prim::Constant[value=4]()\n"
      "  %sizes : int[] = prim::ListConstruct(%n, %m, %out)\n"
      "  %a : Tensor = aten::addmm(%wb, %x, %w, %1, %1)\n"
      "  %b : Tensor = aten::view(%a, %sizes)\n";
  const std::string inputs = "%x : Tensor, %w : Tensor, %wb : Tensor";
  expect_pass(fuse_epilogues,
              body(inputs, layer + "  %c : Tensor = aten::gelu(%b, %how)\n  return (%c)\n"),
              {{3, 4}, {4}}, {{6, 3}}, "aten::_linear_epilogue aten::view");
  for (const std::string& next : {std::string("  %c : Tensor = aten::gelu(%b, %how)\n"
                                              "  return (%b, %c)\n"),
                                  std::string("  %c : Tensor = aten::relu(%b)\n"
                                              "  return (%a, %c)\n")}) {
    auto g = with_weights(body(inputs, layer + next), {{3, 4}, {4}});
    EXPECT_FALSE(fuse_epilogues(*g)) << next;
  }
}

// As a block of ResNet-D goes: an average of windows that may reach beyond the image has as many
// positions as a padded convolution of stride 2.
TEST(JitFrozenPasses, EpilogueBesideAPoolRoundedUp) {
  const auto block = [](const char* stride) {
    return body("%x : Tensor, %w : Tensor, %wb : Tensor, %wc : Tensor",
                "  %three : int = prim::Constant[value=3]()\n"
                "  %s2 : int[] = prim::ListConstruct(%2, %2)\n"
                "  %s3 : int[] = prim::ListConstruct(%three, %three)\n"
                "  %y : Tensor = aten::conv2d(%x, %w, %wb, %s2, %s1, %s1, %1)\n"
                "  %p : Tensor = aten::avg_pool2d(%x, %s2, " +
                    std::string(stride) +
                    ", %s0, %true, %false, %none)\n"
                    "  %z : Tensor = aten::conv2d(%p, %wc, %none, %s1, %s0, %s1, %1)\n"
                    "  %a : Tensor = aten::add(%y, %z, %1)\n"
                    "  return (%a)\n");
  };
  const std::vector<Sizes> weights = kConvWeights + std::vector<Sizes>{{4, 3, 1, 1}};
  for (const Sizes& image : {Sizes{2, 3, 5, 5}, Sizes{1, 3, 6, 7}, Sizes{1, 3, 1, 1}}) {
    expect_pass(fuse_epilogues, block("%s2"), weights, {image},
                "aten::avg_pool2d aten::_conv_epilogue aten::_conv_epilogue");
  }
  auto apart = with_weights(block("%s3"), weights);
  fuse_epilogues(*apart);
  EXPECT_NE(apart->str().find("aten::add("), std::string::npos);
}

// A convolution that nothing follows is computed by the same kernel; one of another dtype is not.
TEST(JitFrozenPasses, EpilogueOfNothing) {
  const std::string text =
      body("%x : Tensor, %w : Tensor, %wb : Tensor", kConv + "  return (%y)\n");
  expect_pass(fuse_epilogues, text, kConvWeights, kImage, "aten::_conv_epilogue");
  auto doubles = with_weights(text, kConvWeights, kDouble);
  EXPECT_FALSE(fuse_epilogues(*doubles));
}

// An intermediate value that somebody else sees, an input that is written before the activation, a
// sum of another shape.
TEST(JitFrozenPasses, EpilogueStaysApartWhereItMust) {
  const std::string inputs = "%x : Tensor, %o : Tensor, %w : Tensor, %wb : Tensor";
  const std::pair<const char*, std::string> all[] = {
      {"aten::relu(", "  %a : Tensor = aten::relu(%y)\n  return (%a, %y)\n"},
      {"aten::relu(",
       "  %b : Tensor = aten::relu_(%x)\n  %a : Tensor = aten::relu(%y)\n  return (%a)\n"},
      {"aten::add(", "  %a : Tensor = aten::add(%y, %o, %1)\n  return (%a)\n"},
      {"aten::add(", "  %a : Tensor = aten::add(%y, %y, %1)\n  return (%a)\n"}};
  for (const auto& [kept, next] : all) {
    auto g = with_weights(body(inputs, kConv + next), kConvWeights);
    fuse_epilogues(*g);
    EXPECT_NE(g->str().find(kept), std::string::npos) << g->str();
    auto product = with_weights(body(inputs, kConv + next), kConvWeights, kDouble);
    EXPECT_FALSE(fuse_epilogues(*product)) << next;
  }
}

const std::string kDouble3 =
    "  %m1 : int = prim::Constant[value=-1]()\n"
    "  %m2 : int = prim::Constant[value=-2]()\n"
    "  %3 : int = prim::Constant[value=3]()\n"
    "  %r2 : float = prim::Constant[value=1.4142135623730951]()\n"
    "  %c : float = prim::Constant[value=0.044715]()\n"
    "  %p : float = prim::Constant[value=0.79788456080286541]()\n";
const std::string kLayer = "  %y : Tensor = aten::linear(%x, %w, %none)\n";

TEST(JitFrozenPasses, GeluByErf) {
  expect_pass(recognize_activations,
              body("%x : Tensor, %w : Tensor", kDouble3 + kLayer +
                                                   "  %a : Tensor = aten::mul(%y, %h)\n"
                                                   "  %b : Tensor = aten::div(%y, %r2)\n"
                                                   "  %e : Tensor = aten::erf(%b)\n"
                                                   "  %f : Tensor = aten::add(%e, %1, %1)\n"
                                                   "  %g : Tensor = aten::mul(%a, %f)\n"
                                                   "  return (%g)\n"),
              {{4, 3}}, {{2, 3}}, "aten::linear aten::gelu");
}

TEST(JitFrozenPasses, GeluByTanh) {
  expect_pass(recognize_activations,
              body("%x : Tensor, %w : Tensor", kDouble3 + kLayer +
                                                   "  %a : Tensor = aten::mul(%y, %h)\n"
                                                   "  %q : Tensor = aten::pow(%y, %3)\n"
                                                   "  %b : Tensor = aten::mul(%q, %c)\n"
                                                   "  %d : Tensor = aten::add(%y, %b, %1)\n"
                                                   "  %e : Tensor = aten::mul(%d, %p)\n"
                                                   "  %f : Tensor = aten::tanh(%e)\n"
                                                   "  %g : Tensor = aten::add(%f, %1, %1)\n"
                                                   "  %z : Tensor = aten::mul(%a, %g)\n"
                                                   "  return (%z)\n"),
              {{4, 3}}, {{2, 3}}, "aten::linear aten::gelu");
  expect_pass(recognize_activations,
              body("%x : Tensor, %w : Tensor", kDouble3 + kLayer +
                                                   "  %q : Tensor = aten::mul(%y, %c)\n"
                                                   "  %b : Tensor = aten::mul(%q, %y)\n"
                                                   "  %d : Tensor = aten::add(%b, %1, %1)\n"
                                                   "  %i : Tensor = aten::mul(%y, %p)\n"
                                                   "  %e : Tensor = aten::mul(%i, %d)\n"
                                                   "  %f : Tensor = aten::tanh(%e)\n"
                                                   "  %g : Tensor = aten::add(%f, %1, %1)\n"
                                                   "  %a : Tensor = aten::mul(%g, %h)\n"
                                                   "  %z : Tensor = aten::mul(%y, %a)\n"
                                                   "  return (%z)\n"),
              {{4, 3}}, {{2, 3}}, "aten::linear aten::gelu");
}

TEST(JitFrozenPasses, Silu) {
  expect_pass(recognize_activations,
              body("%x : Tensor, %w : Tensor", kLayer + "  %a : Tensor = aten::sigmoid(%y)\n"
                                                        "  %b : Tensor = aten::mul(%a, %y)\n"
                                                        "  return (%b)\n"),
              {{4, 3}}, {{2, 3}}, "aten::linear aten::silu");
}

// A part that is used again, another number, an input that may have integers.
TEST(JitFrozenPasses, OtherProductsStay) {
  for (const std::string& text :
       {kLayer + "  %a : Tensor = aten::sigmoid(%y)\n  %b : Tensor = aten::mul(%a, %y)\n"
                 "  return (%b, %a)\n",
        kLayer + "  %s : Tensor = aten::mul(%y, %2)\n  %a : Tensor = aten::sigmoid(%s)\n"
                 "  %b : Tensor = aten::mul(%a, %y)\n  return (%b)\n",
        std::string("  %a : Tensor = aten::sigmoid(%x)\n  %b : Tensor = aten::mul(%a, %x)\n"
                    "  return (%b)\n")}) {
    auto g = with_weights(body("%x : Tensor, %w : Tensor", text), {{4, 3}});
    EXPECT_FALSE(recognize_activations(*g)) << text;
  }
}

const std::string kCentered =
    "  %e : float = prim::Constant[value=1e-5]()\n"
    "  %last : int[] = prim::Constant[value=[-1]]()\n" +
    kLayer +
    "  %m : Tensor = aten::mean(%y, %last, %true, %none)\n"
    "  %d : Tensor = aten::sub(%y, %m, %1)\n";

TEST(JitFrozenPasses, LayerNorm) {
  for (const std::string& rest :
       {std::string("  %q : Tensor = aten::pow(%d, %2)\n"
                    "  %v : Tensor = aten::mean(%q, %last, %true, %none)\n"
                    "  %s : Tensor = aten::add(%v, %e, %1)\n"
                    "  %r : Tensor = aten::sqrt(%s)\n"
                    "  %z : Tensor = aten::div(%d, %r)\n"),
        std::string("  %q : Tensor = aten::mul(%d, %d)\n"
                    "  %v : Tensor = aten::mean(%q, %last, %true, %none)\n"
                    "  %s : Tensor = aten::add(%v, %e, %1)\n"
                    "  %r : Tensor = aten::rsqrt(%s)\n"
                    "  %z : Tensor = aten::mul(%r, %d)\n"),
        std::string("  %v : Tensor = aten::var(%y, %last, %false, %true)\n"
                    "  %s : Tensor = aten::add(%v, %e, %1)\n"
                    "  %r : Tensor = aten::pow(%s, %h)\n"
                    "  %z : Tensor = aten::div(%d, %r)\n")}) {
    SCOPED_TRACE(rest);
    expect_pass(recognize_norms,
                body("%x : Tensor, %w : Tensor", kDouble3 + kCentered + rest + "  return (%z)\n"),
                {{4, 3}}, {{2, 3}}, "aten::linear aten::layer_norm");
    expect_pass(recognize_norms,
                body("%x : Tensor, %w : Tensor, %wg : Tensor, %wb : Tensor",
                     kDouble3 + kCentered + rest +
                         "  %i : Tensor = aten::mul(%wg, %z)\n"
                         "  %o : Tensor = aten::add(%i, %wb, %1)\n  return (%o)\n"),
                {{4, 3}, {4}, {4}}, {{2, 3}}, "aten::linear aten::layer_norm");
  }
}

// The variance of a sample, another dimension, a scale per row, a part that is used again.
TEST(JitFrozenPasses, OtherNormsStay) {
  const std::string end =
      "  %s : Tensor = aten::add(%v, %e, %1)\n  %r : Tensor = aten::sqrt(%s)\n"
      "  %z : Tensor = aten::div(%d, %r)\n";
  const std::string squares =
      "  %q : Tensor = aten::pow(%d, %2)\n  %v : Tensor = aten::mean(%q, %last, %true, %none)\n";
  for (const std::string& text :
       {"  %v : Tensor = aten::var(%y, %last, %true, %true)\n" + end + "  return (%z)\n",
        "  %first : int[] = prim::Constant[value=[0]]()\n"
        "  %v : Tensor = aten::var(%y, %first, %false, %true)\n" +
            end + "  return (%z)\n",
        squares + end + "  return (%z, %d)\n"}) {
    auto g = with_weights(body("%x : Tensor, %w : Tensor", kDouble3 + kCentered + text), {{4, 3}});
    EXPECT_FALSE(recognize_norms(*g)) << text;
  }
  expect_pass(recognize_norms,
              body("%x : Tensor, %w : Tensor, %wg : Tensor",
                   kDouble3 + kCentered + squares + end +
                       "  %o : Tensor = aten::mul(%z, %wg)\n  return (%o)\n"),
              {{4, 3}, {2, 1}}, {{2, 3}}, "aten::linear aten::layer_norm aten::mul");
}

const std::string kProjections =
    "  %q : Tensor = aten::linear(%x, %w, %none)\n"
    "  %k : Tensor = aten::linear(%x, %wk, %none)\n"
    "  %v : Tensor = aten::linear(%x, %wl, %none)\n";

TEST(JitFrozenPasses, Attention) {
  expect_pass(recognize_attention,
              body("%x : Tensor, %w : Tensor, %wk : Tensor, %wl : Tensor, %wm : Tensor",
                   kDouble3 +
                       "  %s : int[] = prim::ListConstruct(%2, %3, %m1)\n"
                       "  %n : Tensor = aten::view(%x, %s)\n" +
                       "  %q : Tensor = aten::linear(%n, %w, %none)\n"
                       "  %k : Tensor = aten::linear(%n, %wk, %none)\n"
                       "  %v : Tensor = aten::linear(%n, %wl, %none)\n"
                       "  %t : Tensor = aten::transpose(%k, %1, %2)\n"
                       "  %a : Tensor = aten::matmul(%q, %t)\n"
                       "  %b : Tensor = aten::div(%a, %r2)\n"
                       "  %d : Tensor = aten::add(%b, %wm, %1)\n"
                       "  %e : Tensor = aten::softmax(%d, %m1, %none)\n"
                       "  %z : Tensor = aten::matmul(%e, %v)\n"
                       "  return (%z)\n"),
              {{4, 5}, {4, 5}, {6, 5}, {3, 3}}, {{2, 3, 5}},
              "aten::view aten::linear aten::linear aten::linear "
              "aten::scaled_dot_product_attention");
}

// softmax over another dimension; scores that are used again.
TEST(JitFrozenPasses, OtherProductsOfSoftmaxStay) {
  for (const std::string& end :
       {std::string("  %e : Tensor = aten::softmax(%a, %m2, %none)\n"
                    "  %z : Tensor = aten::matmul(%e, %v)\n  return (%z)\n"),
        std::string("  %e : Tensor = aten::softmax(%a, %m1, %none)\n"
                    "  %z : Tensor = aten::matmul(%e, %v)\n  return (%z, %e)\n")}) {
    auto g = with_weights(body("%x : Tensor, %w : Tensor, %wk : Tensor, %wl : Tensor",
                               kDouble3 + kProjections +
                                   "  %t : Tensor = aten::transpose(%k, %m1, %m2)\n"
                                   "  %a : Tensor = aten::matmul(%q, %t)\n" +
                                   end),
                          {{4, 5}, {4, 5}, {6, 5}});
    EXPECT_FALSE(recognize_attention(*g)) << end;
  }
}

TEST(JitFrozenPasses, MergeLinears) {
  expect_pass(merge_linears,
              body("%x : Tensor, %w : Tensor, %wk : Tensor, %wl : Tensor",
                   kDouble3 + kProjections +
                       "  %t : Tensor = aten::transpose(%k, %m1, %m2)\n"
                       "  %a : Tensor = aten::matmul(%q, %t)\n"
                       "  %z : Tensor = aten::matmul(%a, %v)\n"
                       "  return (%z)\n"),
              {{4, 5}, {4, 5}, {6, 5}}, {{2, 3, 5}},
              "aten::linear aten::narrow aten::narrow aten::narrow aten::transpose aten::matmul "
              "aten::matmul");
}

// Results that leave the program, are written, or are viewed with joined dimensions; another dtype
// of weights is another layer.
TEST(JitFrozenPasses, MergeLeavesResultsThatAreSeen) {
  for (const std::string& end :
       {std::string("  return (%q, %k)\n"),
        std::string("  %f : Tensor = aten::view(%q, %s)\n  %g : Tensor = aten::view(%k, %s)\n"
                    "  %z : Tensor = aten::add(%f, %g, %1)\n  return (%z)\n"),
        std::string("  %f : Tensor = aten::relu_(%q)\n  %z : Tensor = aten::add(%f, %k, %1)\n"
                    "  return (%z)\n")}) {
    auto g = with_weights(body("%x : Tensor, %w : Tensor, %wk : Tensor",
                               kDouble3 +
                                   "  %s : int[] = prim::ListConstruct(%m1)\n"
                                   "  %q : Tensor = aten::linear(%x, %w, %none)\n"
                                   "  %k : Tensor = aten::linear(%x, %wk, %none)\n" +
                                   end),
                          {{4, 5}, {4, 5}});
    EXPECT_FALSE(merge_linears(*g)) << end;
  }
}

TEST(JitFrozenPasses, ChecksOfRanksGo) {
  const std::string check =
      "  %text : str = prim::Constant[value=\"rank\"]()\n"
      "  %4 : int = prim::Constant[value=4]()\n";
  const auto of = [](const std::string& v) {
    return "  %d" + v + " : int = aten::dim(%" + v + ")\n  %n" + v + " : bool = aten::ne(%d" + v +
           ", %4)\n   = prim::If(%n" + v +
           ")\n    block0():\n       = prim::RaiseException(%text, %none)\n      -> ()\n"
           "    block1():\n      -> ()\n";
  };
  auto g =
      with_weights(body("%x : Tensor, %w : Tensor, %wb : Tensor, %wc : Tensor",
                        check + kConv + of("y") +
                            "  %a : Tensor = aten::relu(%y)\n"
                            "  %b : Tensor = aten::conv2d(%a, %wc, %none, %s1, %s1, %s1, %1)\n" +
                            of("b") + "  return (%b)\n"),
                   kConvWeights + std::vector<Sizes>{{4, 4, 3, 3}});
  while (decide_shapes(*g) || propagate_constants(*g)) continue;
  eliminate_dead_code(*g);
  g->lint();
  EXPECT_EQ(kinds_without_lists(*g->block()),
            "aten::conv2d aten::dim aten::ne prim::If {prim::RaiseException} {} aten::relu "
            "aten::conv2d");
  EXPECT_EQ(run_plan(*g, {numbers({2, 3, 5, 5})}).size(), 1u);
  EXPECT_THROW(run_plan(*g, {numbers({3, 5, 5})}), Error);
}

TEST(JitShapeFacts, EqualShapesWithoutNumbers) {
  auto g = with_weights(body("%x : Tensor, %o : Tensor, %w : Tensor, %wb : Tensor, %wc : Tensor",
                             "  %s2 : int[] = prim::ListConstruct(%2, %2)\n" + kConv +
                                 "  %a : Tensor = aten::conv2d(%x, %w, %wb, %s2, %s1, %s1, %1)\n"
                                 "  %b : Tensor = aten::conv2d(%x, %wc, %none, %s2, %s0, %s1, %1)\n"
                                 "  %c : Tensor = aten::add(%y, %o, %1)\n"
                                 "  %d : Tensor = aten::add(%y, %h, %1)\n"
                                 "  return (%a, %b, %c, %d, %y)\n"),
                        kConvWeights + std::vector<Sizes>{{4, 3, 1, 1}});
  const ShapeFacts facts(*g);
  const auto& out = g->outputs();
  EXPECT_TRUE(facts.same_shape_and_dtype(out[0], out[1]));
  EXPECT_FALSE(facts.same_shape(out[0], out[4]));
  EXPECT_FALSE(facts.same_shape(out[2], out[4]));
  EXPECT_TRUE(facts.same_shape_and_dtype(out[3], out[4]));
  EXPECT_EQ(facts.size(out[4], -3), 4);
  EXPECT_EQ(facts.size(out[4], -2), std::nullopt);
  EXPECT_EQ(facts.of(out[4]).rank(), std::nullopt);
}

}  // namespace
}  // namespace tenon::jit
