// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The text form: what torch 2.15 printed for programs is read and printed again, byte for byte.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tenon/jit/graph.h"

namespace tenon::jit {
namespace {

std::string read_golden(const std::string& name) {
  std::ifstream in(TENON_TEST_JIT "/graphs/" + name + ".txt");
  EXPECT_TRUE(in) << name;
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(JitText, TorchGraphsAreReadAndPrinted) {
  for (const char* name :
       {"attributes_and_buffers", "branches_by_data", "constants", "dictionaries", "forks",
        "function_calls_with_keywords", "in_place_and_views", "named_tuples", "script_classes",
        "types_of_values", "union_and_isinstance", "while_with_break"}) {
    std::string text = read_golden(name);
    auto g = parse_graph(text);
    EXPECT_EQ(g->str(), text) << name;
    auto copy = g->copy();
    copy->lint();
    EXPECT_EQ(copy->str(), text) << name;
  }
}

TEST(JitText, ConstantsKeepTheirKinds) {
  auto g = parse_graph(
      "graph():\n"
      "  %a : float = prim::Constant[value=10000000000000000]()\n"
      "  %b : bool = prim::Constant[value=1]()\n"
      "  %c : NoneType = prim::Constant()\n"
      "  %d : Device = prim::Constant[value=\"cpu\"]()\n"
      "  %e : str = prim::Constant[value=\"\\303\\251\\n\"]()\n"
      "  %f : Dict(str, float[]) = prim::Constant[value={\"a\": [1., 2.]}]()\n"
      "  %g : (int,) = prim::Constant[value=(1,)]()\n"
      "  return (%a, %b, %c, %d, %e, %f, %g)\n");
  auto value = [&](std::size_t i) { return *to_constant(g->outputs().at(i)); };
  EXPECT_EQ(value(0).toDouble(), 1e16);
  EXPECT_TRUE(value(1).toBool());
  EXPECT_TRUE(value(2).isNone());
  EXPECT_TRUE(value(3).isDevice());
  EXPECT_EQ(value(4).toStringRef(), "\xc3\xa9\n");
  EXPECT_EQ(value(5).toDictRef().value->str(), "float[]");
  EXPECT_EQ(value(6).toTupleRef().size(), 1u);
  EXPECT_NE(g->str().find("\"\\303\\251\\n\""), std::string::npos);
}

TEST(JitText, Sources) {
  auto source = std::make_shared<Source>();
  source->text = "def f(x):\n  return x + x\n";
  source->file = "f.py";
  auto g = std::make_shared<Graph>();
  Value* x = g->add_input("x");
  Node* n = g->insert(g->create("aten::add", {x, x}));
  n->range = SourceRange{source, 19, 24};
  g->register_output(n->output());
  EXPECT_NE(g->str(true).find("= aten::add(%x, %x) # f.py:2:9\n"), std::string::npos);
  EXPECT_EQ(g->str().find('#'), std::string::npos);
  EXPECT_EQ(parse_graph(g->str(true))->str(), g->str());
}

TEST(JitText, ErrorsSayWhatWasExpected) {
  for (auto [text, message] :
       {std::pair{"graph(%x : Tensor):\n  return (%y)\n", "expected a value that is made before"},
        {"graph(%x : Tensor, %x : int):\n  return ()\n", "expected a name other than %x"},
        {"graph(%x : Tensor):\n  %y = aten::neg(%x)\n", "expected \"return\""},
        {"graph():\n   = prim::If()\n  return ()\n", "needs a condition and two blocks"},
        {"graph():\n  %1, %2 = prim::Constant[value=1]()\n  return ()\n", "one output"},
        {"graph():\n  %99999999999 : int = prim::Constant[value=1]()\n  return ()\n", "smaller"},
        {"graph():\n  return ()\nmore", "expected the end"}}) {
    try {
      parse_graph(text);
      ADD_FAILURE() << text;
    } catch (const ValueError& e) {
      EXPECT_NE(e.msg().find(message), std::string::npos) << e.msg();
    }
  }
  std::string deep = "graph(%c : bool):\n";
  for (int i = 0; i < 10000; ++i) deep += " = prim::If(%c)\nblock0():\n";
  EXPECT_THROW(parse_graph(deep), ValueError);
}

TEST(JitText, Highlight) {
  auto source = std::make_shared<Source>();
  source->text = "def f(x: Tensor):\n    return [1,\n  'a']\n\n\n";
  source->file = "code/f.py";
  source->first_line = 10;
  SourceRange list{source, 29, 39};
  EXPECT_EQ(list.text(), "[1,\n  'a']");
  EXPECT_EQ(list.line(), 11);
  EXPECT_EQ(list.column(), 11);
  EXPECT_EQ(list.highlight(),
            "  File \"code/f.py\", line 11\n"
            "def f(x: Tensor):\n"
            "    return [1,\n"
            "           ~~~\n"
            "  'a']\n"
            "  ~~~~ <--- HERE\n"
            "\n"
            "\n");
  SourceRange nowhere;
  EXPECT_EQ(nowhere.highlight(), "");
  EXPECT_EQ(ErrorReport(nowhere, "bad").msg(), "bad");
  SourceRange beyond{source, 1000, 2000};
  EXPECT_FALSE(beyond.highlight().empty());
  source = std::make_shared<Source>();
  EXPECT_NE((SourceRange{source, 0, 0}).highlight().find("~ <--- HERE"), std::string::npos);
}

// As torch reports an undefined name.
TEST(JitText, ErrorReport) {
  auto source = std::make_shared<Source>();
  source->text = "def f(x: Tensor):\n    y = x + zz\n    return y\n";
  EXPECT_EQ(ErrorReport(SourceRange{source, 30, 32}, "undefined value zz").msg(),
            "undefined value zz:\n"
            "  File \"<string>\", line 2\n"
            "def f(x: Tensor):\n"
            "    y = x + zz\n"
            "            ~~ <--- HERE\n"
            "    return y\n");
}

}  // namespace
}  // namespace tenon::jit
