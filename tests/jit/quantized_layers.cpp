// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Layers between quantized_decomposed operators become layers of integers: which nodes are left,
// and the same integers but for numbers in the middle between two.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "jit/passes/passes.h"
#include "jit/run/plan.h"
#include "tenon/creation.h"
#include "tenon/jit/graph.h"
#include "tenon/ops.h"

namespace tenon::jit {
namespace {

using Constants = std::map<std::string, Tensor>;
using Sizes = std::vector<int64_t>;

Tensor integers(const Sizes& sizes, ScalarType dtype) {
  const int64_t low = dtype == kChar ? -128 : 0;
  return randint(low, low + 256, sizes).to(dtype);
}

// Inputs that `constants` has become constants.
std::shared_ptr<Graph> graph_of(const std::string& text, const Constants& constants) {
  auto g = parse_graph(text);
  for (std::size_t i = 0; i < g->inputs().size();) {
    Value* v = g->inputs()[i];
    const auto it = constants.find(v->name());
    if (it == constants.end()) {
      ++i;
      continue;
    }
    const Graph::InsertPoint at(*g, g->block()->param_node()->next());
    v->replace_all_uses_with(g->insert_constant(it->second, {}, Type::tensor()));
    g->block()->param_node()->erase_output(static_cast<int>(i));
  }
  return g;
}

std::string kinds(const Graph& g) {
  std::string out;
  for (const Node* n : g.block()->nodes()) {
    if (n->is("prim::Constant") || n->is("prim::ListConstruct")) continue;
    const std::string& kind = n->kind();
    out += (out.empty() ? "" : " ") + kind.substr(kind.find("::") + 2);
  }
  return out;
}

Tensor run(const Graph& g, const Tensor& x) {
  Stack s{x.clone()};
  Plan(g.copy()).run(s);
  return s.at(0).toTensor();
}

// `most` is the largest difference; of integers at most one in a hundred may be another one.
void expect_layers(const std::string& text, const Constants& constants, const Tensor& x,
                   const std::string& after, double most = 1) {
  const auto g = graph_of(text, constants);
  const Tensor before = run(*g, x);
  fuse_quantized(*g);
  fuse_quantized_pointwise(*g);
  eliminate_dead_code(*g);
  EXPECT_EQ(kinds(*g), after) << text;
  const Tensor y = run(*g, x);
  ASSERT_EQ(y.sizes(), before.sizes());
  EXPECT_EQ(y.scalar_type(), before.scalar_type());
  const Tensor off = (y.to(kDouble) - before.to(kDouble)).abs();
  EXPECT_LE(off.max().item<double>(), most * 1.0001) << text;
  if (!y.is_floating_point()) {
    EXPECT_LE(off.gt(0).sum().item<int64_t>() * 100, off.numel()) << text;
  }
}

// dequantize(x) as %r, the weight as %w; `layer` gives %y of both and %bias, `end` the result.
std::string graph_text(const std::string& layer, const std::string& end) {
  return R"(graph(%x : Tensor, %q : Tensor, %s : Tensor, %bias : Tensor):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %high : int = prim::Constant[value=255]()
  %low : int = prim::Constant[value=-128]()
  %top : int = prim::Constant[value=127]()
  %zero : int = prim::Constant[value=113]()
  %none : NoneType = prim::Constant()
  %no : bool = prim::Constant[value=0]()
  %step : float = prim::Constant[value=0.02]()
  %out : float = prim::Constant[value=0.5]()
  %six : float = prim::Constant[value=6.]()
  %nil : float = prim::Constant[value=0.]()
  %r : Tensor = quantized_decomposed::dequantize_per_tensor(%x, %step, %zero, %0, %high, %0, %none)
  %w : Tensor = quantized_decomposed::dequantize_per_channel(%q, %s, %none, %0, %low, %top, %1, %none)
)" + layer +
         end;
}
const std::string kQuantize = R"(
  %z : Tensor = quantized_decomposed::quantize_per_tensor(%y, %out, %zero, %0, %high, %0)
  return (%z))";
const std::string kConvolution = R"(  %one : int[] = prim::ListConstruct(%1, %1)
  %none2 : int[] = prim::ListConstruct(%0, %0)
  %y : Tensor = aten::convolution(%r, %w, %bias, %one, %one, %one, %no, %none2, %1))";
const std::string kLinear = "  %y : Tensor = aten::linear(%r, %w, %bias)";

Constants convolution_constants() {
  return {{"q", integers({12, 8, 3, 3}, kChar)},
          {"s", rand({12}) * 0.02 + 0.001},
          {"bias", randn({12})}};
}
Constants linear_constants() {
  return {
      {"q", integers({12, 40}, kChar)}, {"s", rand({12}) * 0.02 + 0.001}, {"bias", randn({12})}};
}

TEST(QuantizedLayers, AreConvolutionsOfIntegers) {
  manual_seed(0);
  const Constants c = convolution_constants();
  const Tensor x = integers({2, 8, 9, 7}, kByte);
  expect_layers(graph_text(kConvolution, kQuantize), c, x, "convolution");
  expect_layers(graph_text(kConvolution, R"(
  %a : Tensor = aten::relu(%y)
  %z : Tensor = quantized_decomposed::quantize_per_tensor(%a, %out, %zero, %0, %high, %0)
  return (%z))"),
                c, x, "convolution");
  expect_layers(graph_text(kConvolution, "\n  return (%y)"), c, x, "convolution", 1e-3);
}

// 6 / 0.5 + 113 is less than 255: numbers between would not be held at 6.
TEST(QuantizedLayers, HoldAtTheEndOfTheirRange) {
  manual_seed(1);
  const Constants c = convolution_constants();
  const Tensor x = integers({1, 8, 9, 7}, kByte);
  const auto text = [](const char* step) {
    return graph_text(kConvolution, std::string(R"(
  %a : Tensor = aten::hardtanh(%y, %nil, %six)
  %z : Tensor = quantized_decomposed::quantize_per_tensor(%a, )") +
                                        step + R"(, %zero, %0, %high, %0)
  return (%z))");
  };
  expect_layers(text("%step"), c, x, "convolution");
  expect_layers(text("%out"), c, x, "convolution hardtanh quantize_per_tensor");
}

TEST(QuantizedLayers, AreProductsOfRows) {
  manual_seed(2);
  const Constants c = linear_constants();
  expect_layers(graph_text(kLinear, kQuantize), c, integers({3, 5, 40}, kByte), "product");
  expect_layers(graph_text(R"(  %n : int = prim::Constant[value=-1]()
  %k : int = prim::Constant[value=40]()
  %rows : int[] = prim::ListConstruct(%n, %k)
  %v : Tensor = aten::view(%r, %rows)
  %t : Tensor = aten::t(%w)
  %y : Tensor = aten::addmm(%bias, %v, %t, %1, %1))",
                           kQuantize),
                c, integers({3, 5, 40}, kByte), "view product");
  expect_layers(graph_text(R"(  %t : Tensor = aten::t(%w)
  %m : Tensor = aten::matmul(%r, %t)
  %y : Tensor = aten::add(%m, %bias, %1))",
                           kQuantize),
                c, integers({4, 40}, kByte), "product");
}

TEST(QuantizedLayers, AreConvolutionsOfSequencesAndOfImagesAlone) {
  manual_seed(3);
  Constants c = convolution_constants();
  c["q"] = integers({12, 8, 3}, kChar);
  expect_layers(graph_text(R"(  %one : int[] = prim::ListConstruct(%1)
  %y : Tensor = aten::conv1d(%r, %w, %bias, %one, %one, %one, %1))",
                           kQuantize),
                c, integers({2, 8, 21}, kByte), "convolution");
  expect_layers(graph_text(R"(  %one : int[] = prim::ListConstruct(%1, %1)
  %y : Tensor = aten::conv2d(%r, %w, %bias, %one, %one, %one, %1))",
                           kQuantize),
                convolution_constants(), integers({8, 9, 7}, kByte), "convolution");
}

TEST(QuantizedLayers, MoveIntegersThroughWhatPicksThem) {
  manual_seed(4);
  const std::string text = graph_text(R"(  %two : int = prim::Constant[value=2]()
  %k : int[] = prim::ListConstruct(%two, %two)
  %one : int[] = prim::ListConstruct(%1, %1)
  %none2 : int[] = prim::ListConstruct(%0, %0)
  %p : Tensor = aten::max_pool2d(%r, %k, %k, %none2, %one, %no)
  %y : Tensor = quantized_decomposed::quantize_per_tensor(%p, %step, %zero, %0, %high, %0))",
                                      "\n  return (%y)");
  expect_layers(text, linear_constants(), integers({2, 3, 8, 6}, kByte), "max_pool2d", 0);
}

TEST(QuantizedLayers, MoveIntegersThroughChains) {
  manual_seed(10);
  const std::string chain = R"(  %two : int = prim::Constant[value=2]()
  %three : int = prim::Constant[value=3]()
  %split : int[] = prim::ListConstruct(%two, %two, %three, %two)
  %order : int[] = prim::ListConstruct(%0, %two, %1, %three)
  %whole : int[] = prim::ListConstruct(%two, %two, %three, %two)
  %v : Tensor = aten::reshape(%r, %split)
  %p : Tensor = aten::permute(%v, %order)
  %y : Tensor = aten::slice(%p, %1, %1, %three, %1))";
  const Tensor x = integers({2, 12}, kByte);
  const std::string moved = "reshape permute slice";
  expect_layers(graph_text(chain, R"(
  %z : Tensor = quantized_decomposed::quantize_per_tensor(%y, %step, %zero, %0, %high, %0)
  %n : Tensor = aten::neg(%z)
  return (%n))"),
                linear_constants(), x, moved + " neg", 0);
  // Another step, and a result that may not be a view of the argument.
  expect_layers(graph_text(chain, kQuantize), linear_constants(), x, moved + " _byte_table", 0);
  expect_layers(graph_text(chain, R"(
  %z : Tensor = quantized_decomposed::quantize_per_tensor(%y, %step, %zero, %0, %high, %0)
  return (%z))"),
                linear_constants(), x, moved + " _byte_table", 0);
}

TEST(QuantizedLayers, JoinIntegers) {
  manual_seed(11);
  const auto text = [](const std::string& list, const std::string& end) {
    return graph_text(
        "  %t : Tensor = quantized_decomposed::dequantize_per_tensor(%q, %out, %0, "
        "%0, %high, %0, %none)\n"
        R"(  %c : Tensor = aten::slice(%r, %0, %1, %none, %1)
  %l : Tensor[] = prim::ListConstruct()" +
            list + R"()
  %y : Tensor = aten::cat(%l, %0))",
        end);
  };
  const std::string same = R"(
  %z : Tensor = quantized_decomposed::quantize_per_tensor(%y, %step, %zero, %0, %high, %0)
  return (%z))";
  const Constants c{{"q", integers({12, 40}, kByte)}, {"s", rand({12})}, {"bias", randn({12})}};
  const Tensor x = integers({12, 40}, kByte);
  expect_layers(text("%r, %c", same), c, x, "slice cat", 0);
  expect_layers(text("%r, %t, %c", same), c, x, "_byte_table slice cat", 0);
  expect_layers(text("%r, %r", kQuantize), c, x, "_byte_table _byte_table cat", 0);
  const Constants other{{"q", integers({12, 40}, kChar)}, {"s", rand({12})}, {"bias", randn({12})}};
  expect_layers(text("%r, %w", same), other, x,
                "dequantize_per_tensor dequantize_per_channel cat quantize_per_tensor", 0);
}

// Of one tensor: whatever the numbers are, the same integers.
TEST(QuantizedPointwise, BecomesATable) {
  manual_seed(8);
  const Tensor x = integers({3, 40}, kByte);
  const Constants c = linear_constants();
  const auto expect_table = [&](const std::string& nodes) {
    expect_layers(graph_text(nodes, kQuantize), c, x, "_byte_table", 0);
  };
  expect_table("  %y : Tensor = aten::silu(%r)");
  expect_table("  %h : Tensor = aten::sigmoid(%r)\n  %y : Tensor = aten::mul(%r, %h)");
  expect_table(R"(  %h : Tensor = aten::add(%r, %six, %1)
  %k : Tensor = aten::clamp(%h, %nil, %six)
  %m : Tensor = aten::mul(%k, %r)
  %y : Tensor = aten::div(%m, %six))");
  expect_table("  %y : Tensor = aten::log(%r)");
  // Another scale alone.
  expect_layers(graph_text("", R"(
  %z : Tensor = quantized_decomposed::quantize_per_tensor(%r, %out, %zero, %0, %high, %0)
  return (%z))"),
                c, x, "_byte_table", 0);
}

// A table's result that is written before it is read: what follows reads it when it did.
TEST(QuantizedPointwise, KeepsTheOrderOfWrites) {
  manual_seed(10);
  expect_layers(graph_text(R"(  %h : Tensor = aten::silu(%r)
  %m : Tensor = quantized_decomposed::quantize_per_tensor(%h, %out, %zero, %0, %high, %0)
  %k : Tensor = quantized_decomposed::dequantize_per_tensor(%m, %out, %zero, %0, %high, %0, %none)
  %o : Tensor = aten::zero_(%m)
  %y : Tensor = aten::tanh(%k))",
                           kQuantize),
                linear_constants(), integers({3, 40}, kByte),
                "_byte_table dequantize_per_tensor zero_ tanh quantize_per_tensor", 0);
}

TEST(QuantizedPointwise, OfTwoIsOneOperator) {
  manual_seed(9);
  const Tensor x = integers({12, 40}, kByte);
  const Constants c{{"q", integers({12, 40}, kByte)}, {"s", rand({12})}, {"bias", randn({12})}};
  const std::string other =
      "  %d : Tensor = quantized_decomposed::dequantize_per_tensor(%q, %out, %0, %0, %high, %0, "
      "%none)\n";
  const auto expect_one = [&](const std::string& nodes, const std::string& after) {
    expect_layers(graph_text(other + nodes, kQuantize), c, x, after, 0);
  };
  expect_one("  %y : Tensor = aten::add(%r, %d, %1)", "_quantized_add");
  expect_one("  %y : Tensor = aten::mul(%d, %r)", "_quantized_mul");
  expect_one("  %a : Tensor = aten::add(%r, %d, %1)\n  %y : Tensor = aten::relu(%a)",
             "_quantized_add");
  // A factor, another activation, and a value that is used twice.
  expect_one("  %two : int = prim::Constant[value=2]()\n  %y : Tensor = aten::add(%r, %d, %two)",
             "dequantize_per_tensor dequantize_per_tensor add quantize_per_tensor");
  expect_one("  %a : Tensor = aten::add(%r, %d, %1)\n  %y : Tensor = aten::tanh(%a)",
             "dequantize_per_tensor dequantize_per_tensor add tanh quantize_per_tensor");
  expect_layers(graph_text(other, R"(
  %y : Tensor = aten::add(%r, %d, %1)
  %z : Tensor = quantized_decomposed::quantize_per_tensor(%y, %out, %zero, %0, %high, %0)
  %n : Tensor = quantized_decomposed::dequantize_per_tensor(%z, %out, %zero, %0, %high, %0, %none)
  %e : Tensor = aten::sub(%y, %n, %1)
  return (%e))"),
                c, x,
                "dequantize_per_tensor dequantize_per_tensor add quantize_per_tensor "
                "dequantize_per_tensor sub",
                0);
}

// What was fresh does not become the input, or a view of it, where one could tell.
TEST(QuantizedLayers, KeepMemoryApart) {
  manual_seed(7);
  const std::string again =
      "  %y : Tensor = quantized_decomposed::quantize_per_tensor(%r, %step, %zero, %0, %high, "
      "%0)\n";
  const Tensor x = integers({3, 4}, kByte);
  const Constants c = linear_constants();
  expect_layers(graph_text(again, "  return (%y)"), c, x, "_byte_table", 0);
  expect_layers(
      graph_text(again,
                 "  %d : Tensor = aten::zero_(%y)\n  %e : Tensor = aten::neg(%y)\n  return (%e)"),
      c, x, "_byte_table zero_ neg", 0);
  expect_layers(graph_text(again, "  %d : Tensor = aten::neg(%y)\n  return (%d)"), c, x, "neg", 0);
}

// Weights around another number than 0, ranges of less than 8 bits, and inputs that are written.
TEST(QuantizedLayers, LeaveWhatTheyAreNotFor) {
  manual_seed(5);
  const std::string float_kinds = "dequantize_per_tensor dequantize_per_channel linear";
  const Constants c = linear_constants();
  expect_layers(graph_text(kLinear, R"(
  %z : Tensor = quantized_decomposed::quantize_per_tensor(%y, %out, %zero, %0, %top, %0)
  return (%z))"),
                c, integers({3, 40}, kByte), "product quantize_per_tensor");
  expect_layers(graph_text(kLinear, R"(
  %d : Tensor = aten::zero_(%x)
  return (%y))"),
                c, integers({3, 40}, kByte), float_kinds + " zero_", 1e-3);
}

// Bytes around another number are what they are around it, and a shift.
TEST(QuantizedLayers, ShiftBytes) {
  manual_seed(7);
  Constants c = linear_constants();
  c["q"] = integers({12, 40}, kByte);
  expect_layers(graph_text(kLinear, "\n  return (%y)"), c, integers({3, 40}, kByte),
                "shifted_product", 1e-3);
}

// Bytes around 128 are the signed integers around 0.
TEST(QuantizedLayers, CenterBytes) {
  manual_seed(6);
  Constants c = linear_constants();
  c["q"] = integers({12, 40}, kByte);
  std::string text = graph_text(kLinear, kQuantize);
  const std::string from = "dequantize_per_channel(%q, %s, %none, %0, %low, %top, %1, %none)";
  text.replace(text.find(from), from.size(),
               "dequantize_per_tensor(%q, %step, %middle, %0, %high, %0, %none)");
  text.replace(text.find("  %none : "), 0, "  %middle : int = prim::Constant[value=128]()\n");
  expect_layers(text, c, integers({3, 40}, kByte), "product");
}

}  // namespace
}  // namespace tenon::jit
