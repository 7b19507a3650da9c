// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tenon/core/op.h"
#include "tenon/jit/schema.h"

namespace tenon::jit {
namespace {

// As torch 2.15 prints them.
TEST(JitSchema, TorchTextsRoundTrip) {
  for (
      const char* text :
      {"aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)",
       "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
       "aten::__getitem__.Dict_str(Dict(str, t) self, str key) -> t(*)",
       "aten::split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]",
       "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool "
       "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
       "aten::items.str(Dict(str, t) self) -> ((str, t)[])",
       "aten::get.str(Dict(str, t) self, str key) -> t(*)?",
       "aten::keys.str(Dict(str, t) self) -> str[](*)",
       "aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()",
       "prim::Print(...) -> ()",
       "prim::tolist(...) -> ...",
       "prim::TupleUnpack(Any tup) -> ...",
       "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) "
       "max_values) -> (Tensor(a!) values, Tensor(b!) indices)",
       "aten::wait(Future(t) self) -> t",
       "aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor",
       "aten::as_tensor(Tensor(a) data, *, int? dtype=None, Device? device=None) -> Tensor(b|a)",
       "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
       "int ignore_index=-100, float label_smoothing=0.) -> Tensor",
       "aten::fft_ihfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> "
       "Tensor",
       "aten::dict.str((str, tVal)[] inputs) -> Dict(str, tVal)",
       "aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
       "aten::f(int[2] a=1, int[] b=[1, 1], int[3] c=[2, 2]) -> ()",
       "forward(Tensor x, Union(int, str) y) -> Tensor"})
    EXPECT_EQ(parse_schema(text).str(), text);
}

TEST(JitSchema, ListsOfTuples) {
  const FunctionSchema s = parse_schema("a::items(Dict(str, t) self) -> (str, t)[]");
  ASSERT_EQ(s.returns.size(), 1u);
  EXPECT_EQ(s.returns[0].type->str(), "(str, t)[]");
  EXPECT_EQ(parse_schema("a::b() -> (int, int)?").returns.at(0).type->str(), "(int, int)?");
  EXPECT_EQ(parse_type("(str, t)[]")->element()->contained().size(), 2u);
}

TEST(JitSchema, Parts) {
  FunctionSchema s = parse_schema(
      "aten::pool.out(Tensor(a -> *) self, int[2] stride=2, str mode='x', *, ScalarType? "
      "dtype=None, "
      "MemoryFormat f=contiguous_format, Tensor(b!)[] out) -> (Tensor(a|b) y, Tensor[])");
  EXPECT_EQ(s.name, "aten::pool");
  EXPECT_EQ(s.overload, "out");
  EXPECT_EQ(s.full_name(), "aten::pool.out");
  ASSERT_EQ(s.arguments.size(), 6u);
  EXPECT_EQ(s.arguments[0].alias.set, "a");
  EXPECT_EQ(s.arguments[0].alias.after, "*");
  EXPECT_EQ(s.arguments[1].fixed_length, 2);
  EXPECT_EQ(s.arguments[1].default_value->toIntVector(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(s.arguments[2].default_value->toStringRef(), "x");
  EXPECT_FALSE(s.arguments[2].keyword_only);
  EXPECT_TRUE(s.arguments[3].keyword_only);
  EXPECT_TRUE(s.arguments[3].default_value->isNone());
  EXPECT_EQ(s.arguments[4].default_value->toInt(), 0);
  EXPECT_EQ(s.arguments[5].alias.set, "");
  EXPECT_EQ(s.arguments[5].alias.elements, "b");
  EXPECT_TRUE(s.arguments[5].alias.write_elements);
  EXPECT_EQ(s.returns[0].alias.set, "a|b");
  EXPECT_EQ(s.returns[0].name, "y");
  EXPECT_EQ(s.find_argument("mode"), 2);
  EXPECT_EQ(s.find_argument("model"), -1);
}

TEST(JitSchema, EveryOperatorOfTheBuild) {
  int seen = 0;
  for (int i = 0; i < core::op_count(); ++i) {
    std::string text = core::op_at(i).schema;
    if (text.find("::") == std::string::npos) text = "aten::" + text;  // else a plugin's
    FunctionSchema s = parse_schema(text);
    EXPECT_EQ(s.arguments.size(), core::op_at(i).n_args) << text;
    EXPECT_EQ(s.returns.size(), core::op_at(i).n_results) << text;
    std::string printed = s.str();
    EXPECT_EQ(parse_schema(printed).str(), printed) << text;
    ++seen;
  }
  EXPECT_GT(seen, 500);
}

TEST(JitSchema, Errors) {
  for (auto [text, message] :
       {std::pair{"aten::add(Tensor self", "expected \",\" at position 21, found the end"},
        {"aten::add(Tensor) -> Tensor", "expected the name of an argument at position 16"},
        {"aten::add(Tensor a, int a) -> Tensor", "expected arguments of different names"},
        {"aten::add(int a=\"x) -> Tensor", "expected the end of the quoted string"},
        {"aten::add(int a=99999999999999999999) -> ()", "expected an integer of 64 bits"},
        {"aten::add() Tensor", "expected \"->\" at position 12, found \"Tensor\""}}) {
    try {
      parse_schema(text);
      ADD_FAILURE() << text;
    } catch (const ValueError& e) {
      EXPECT_NE(e.msg().find(message), std::string::npos) << e.msg();
    }
  }
}

}  // namespace
}  // namespace tenon::jit
