// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/language/match.h"

#include <gtest/gtest.h>

#include <string>

namespace tenon::jit::language {
namespace {

class JitMatch : public ::testing::Test {
 protected:
  Value* value(const std::string& type) { return graph_->add_input("v", parse_type(type)); }
  // The kinds of the arguments that the schema gets, or the reason why it does not match.
  std::string match(const std::string& schema, const std::vector<NamedValue>& args,
                    bool conversions) {
    const FunctionSchema s = parse_schema(schema);
    std::string why;
    const auto m = try_schema(s, *graph_, {}, args, conversions, &why);
    if (!m) return why.substr(why.find(":\n") + 2);
    std::string out;
    for (const Value* v : m->inputs) out += (out.empty() ? "" : ", ") + v->type()->str();
    for (const TypePtr& t : m->returns) out += " -> " + t->str();
    return out;
  }
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
};

TEST_F(JitMatch, PositionsKeywordsAndDefaults) {
  const std::string s = "t::f(Tensor self, int n=1, *, float scale=2.0) -> Tensor";
  EXPECT_EQ(match(s, {{"", value("Tensor"), {}}}, false), "Tensor, int, float -> Tensor");
  EXPECT_EQ(match(s, {{"", value("Tensor"), {}}, {"scale", value("float"), {}}}, false),
            "Tensor, int, float -> Tensor");
  EXPECT_EQ(match(s, {{"self", value("Tensor"), {}}, {"n", value("int"), {}}}, false),
            "Tensor, int, float -> Tensor");
  EXPECT_EQ(match(s, {{"n", value("int"), {}}}, false), "Argument self not provided.\n");
  EXPECT_EQ(match(s, {{"", value("Tensor"), {}}, {"", value("int"), {}}, {"", value("float"), {}}},
                  false),
            "Expected at most 2 arguments but found 3 positional arguments.\n");
  EXPECT_EQ(match(s, {{"", value("Tensor"), {}}, {"m", value("int"), {}}}, false),
            "Unknown keyword argument 'm'.\n");
  EXPECT_EQ(match(s, {{"", value("Tensor"), {}}, {"self", value("Tensor"), {}}}, false),
            "Keyword argument self specified twice.\n");
  EXPECT_EQ(match(s, {{"", value("str"), {}}}, true),
            "Expected a value of type 'Tensor' for argument 'self' but instead found type "
            "'str'.\n");
}

TEST_F(JitMatch, TypeVariables) {
  EXPECT_EQ(
      match("t::f(t[] l, t e) -> t?", {{"", value("str[]"), {}}, {"", value("str"), {}}}, false),
      "str[], str -> str?");
  EXPECT_EQ(
      match("t::f(t[] l, t e) -> t", {{"", value("str[]"), {}}, {"", value("int"), {}}}, false),
      "Could not match type int to t in argument 'e': Type variable 't' previously matched "
      "to type str is matched to type int.\n");
  EXPECT_EQ(match("t::f(Dict(str, t) d) -> t[]", {{"", value("Dict(str, int[])"), {}}}, false),
            "Dict(str, int[]) -> int[][]");
  EXPECT_EQ(match("t::f(Future(t) f) -> t", {{"", value("Future(float)"), {}}}, false),
            "Future(float) -> float");
  EXPECT_EQ(match("t::f(t[] l) -> t", {{"", value("str"), {}}}, false),
            "Could not match type str to List[t] in argument 'l': Cannot match List[t] to str.\n");
}

TEST_F(JitMatch, Conversions) {
  EXPECT_EQ(match("t::f(Scalar s) -> ()", {{"", value("int"), {}}}, false), "int");
  EXPECT_EQ(match("t::f(int[2] s) -> ()", {{"", value("int"), {}}}, false), "int[]");
  EXPECT_EQ(match("t::f(int[] s) -> ()", {{"", value("(int, int)"), {}}}, false), "int[]");
  EXPECT_EQ(match("t::f(Tensor? s) -> ()", {{"", graph_->insert_constant(IValue()), {}}}, false),
            "NoneType");
  for (const char* type : {"int", "float", "Scalar"}) {
    const std::string schema = std::string("t::f(") + type + " s) -> ()";
    EXPECT_EQ(match(schema, {{"", value("Tensor"), {}}}, true), type);
    EXPECT_NE(match(schema, {{"", value("Tensor"), {}}}, false), type);
  }
  EXPECT_EQ(match("t::f(Device d) -> ()", {{"", value("str"), {}}}, true), "Device");
  const std::vector<NamedValue> sizes = {{"", value("int"), {}}, {"", value("int"), {}}};
  EXPECT_EQ(match("t::f(int[] size, *, int k=0) -> ()", sizes, true), "int[], int");
  EXPECT_NE(match("t::f(int[] size, *, int k=0) -> ()", sizes, false), "int[], int");
}

TEST_F(JitMatch, OverloadsInOrderWithoutConversionsFirst) {
  Value* t = value("Tensor");
  Value* n = value("int");
  EXPECT_EQ(match_operator("aten::mul", *graph_, {}, t, {{"", t, {}}}).op->schema.overload,
            "Tensor");
  EXPECT_EQ(match_operator("aten::mul", *graph_, {}, t, {{"", n, {}}}).op->schema.overload,
            "Scalar");
  EXPECT_EQ(match_operator("aten::mul", *graph_, {}, n, {{"", n, {}}}).op->schema.overload, "int");
  EXPECT_THROW(match_operator("aten::mul", *graph_, {}, t, {}), ErrorReport);
  try {
    (void)match_operator("aten::ad", *graph_, {}, t, {});
    ADD_FAILURE();
  } catch (const ErrorReport& e) {
    EXPECT_NE(std::string(e.what()).find("Unknown builtin op: aten::ad"), std::string::npos);
  }
}

// A number before a tensor: 2 - x is (-x) + 2.
TEST_F(JitMatch, NumbersBeforeTensors) {
  Value* v = emit_operator("aten::sub", *graph_, {}, nullptr,
                           {{"", value("int"), {}}, {"", value("Tensor"), {}}});
  EXPECT_TRUE(v->node()->is("aten::add"));
  EXPECT_TRUE(v->node()->input(0)->node()->is("aten::neg"));
  v = emit_operator("aten::lt", *graph_, {}, nullptr,
                    {{"", value("float"), {}}, {"", value("Tensor"), {}}});
  EXPECT_TRUE(v->node()->is("aten::gt"));
}

}  // namespace
}  // namespace tenon::jit::language
