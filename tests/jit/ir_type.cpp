// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Types of programs. Texts are those that torch 2.15 prints for the same types.
#include <gtest/gtest.h>

#include "tenon/jit/schema.h"
#include "tenon/jit/type.h"
#include "tenon/jit/unit.h"

namespace tenon::jit {
namespace {

TypePtr parsed(const char* text) { return parse_type(text); }
bool subtype(const char* a, const char* b) { return is_subtype(*parsed(a), *parsed(b)); }
std::string unified(const char* a, const char* b) {
  TypePtr t = unify(parsed(a), parsed(b));
  return t ? t->str() : "none";
}

TEST(JitType, TextRoundTrips) {
  for (const char* text : {"Tensor",
                           "int",
                           "float",
                           "bool",
                           "str",
                           "complex",
                           "Scalar",
                           "Device",
                           "Generator",
                           "Any",
                           "NoneType",
                           "Tensor?",
                           "int[]",
                           "Tensor?[]",
                           "int[]?",
                           "Dict(str, Tensor)",
                           "(Tensor, int)",
                           "()",
                           "Future(Tensor)",
                           "Union(int, NoneType, str)",
                           "Dict(int, (float, Tensor[])[])",
                           "t",
                           "t[]",
                           "list",
                           "tuple"})
    EXPECT_EQ(parsed(text)->str(), text);
}

TEST(JitType, Annotations) {
  EXPECT_EQ(parsed("int[]?")->annotation(), "Optional[List[int]]");
  EXPECT_EQ(parsed("Dict(str, Tensor)")->annotation(), "Dict[str, Tensor]");
  EXPECT_EQ(parsed("Union(int, str, None)")->annotation(), "Union[int, NoneType, str]");
  EXPECT_EQ(parsed("()")->annotation(), "Tuple[()]");
  EXPECT_EQ(parsed("(Tensor, Future(int)?)")->annotation(), "Tuple[Tensor, Optional[Future[int]]]");
  EXPECT_EQ(parsed("Scalar")->annotation(), "number");
  EXPECT_EQ(parsed("Optional[List[Dict[str, Tuple[int, float]]]]")->str(),
            "Dict(str, (int, float))[]?");
}

TEST(JitType, OtherNamesOfTypes) {
  EXPECT_EQ(parsed("SymInt[2]?")->str(), "int[]?");
  EXPECT_EQ(parsed("ScalarType?")->str(), "int?");
  EXPECT_EQ(parsed("Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)")->str(), "Tensor");
}

TEST(JitType, ErrorsSayWhatWasExpectedAndWhere) {
  for (auto [text, message] :
       {std::pair{"Dict(str", "expected \",\" at position 8, found the end"},
        {"Wrong", "expected a type at position 0, found \"Wrong\""},
        {"int]", "expected the end at position 3, found \"]\""},
        {"int[65]", "expected a length from 1 to 64 at position 4"},
        {"Dict(str)", "expected 2 types for Dict at position 9"},
        {"__torch__.M", "expected the name of a known class at position 0"}}) {
    try {
      parse_type(text);
      ADD_FAILURE() << text;
    } catch (const ValueError& e) {
      EXPECT_NE(e.msg().find(message), std::string::npos) << e.msg();
    }
  }
  EXPECT_THROW(parse_type(std::string(100000, '(')), ValueError);
  EXPECT_THROW(parse_type("int" + std::string(100000, '?')), ValueError);
}

TEST(JitType, Subtypes) {
  EXPECT_TRUE(subtype("int", "int?"));
  EXPECT_TRUE(subtype("NoneType", "int?"));
  EXPECT_FALSE(subtype("int?", "int"));
  EXPECT_TRUE(subtype("int", "Scalar"));
  EXPECT_FALSE(subtype("bool", "Scalar"));
  EXPECT_FALSE(subtype("int[]", "Scalar[]"));
  EXPECT_TRUE(subtype("int[]", "list"));
  EXPECT_TRUE(subtype("(int, Tensor)", "(int?, Tensor)"));
  EXPECT_FALSE(subtype("(int,)", "(int, int)"));
  EXPECT_TRUE(subtype("Tensor[][]", "Any"));
  EXPECT_TRUE(subtype("int?", "Union(int, str, None)"));
  EXPECT_TRUE(subtype("Union(int, str)", "Union(float, str, int)"));
  EXPECT_FALSE(subtype("Union(int, float, str)", "Union(str, int)"));
  EXPECT_TRUE(subtype("Union(int, float)", "Scalar"));
}

TEST(JitType, AnyEnumIsOfEnums) {
  const TypePtr color = EnumType::make("__torch__.Color", Type::integer(), {{"RED", 1}});
  EXPECT_EQ(parse_type("AnyEnumType")->str(), "AnyEnumType");
  EXPECT_TRUE(is_subtype(*color, *Type::any_enum()));
  EXPECT_FALSE(is_subtype(*Type::integer(), *Type::any_enum()));
  EXPECT_TRUE(is_subtype(*Type::any_enum(), *Type::any()));
  const IValue red = core::Ref<ivalue::Enum>::adopt(new ivalue::Enum("__torch__.Color", "RED", 1));
  EXPECT_TRUE(is_instance(red, *Type::any_enum()));
  EXPECT_FALSE(is_instance(1, *Type::any_enum()));
}

TEST(JitType, Unions) {
  EXPECT_EQ(parsed("Union(int, int)")->str(), "int");
  EXPECT_EQ(parsed("Union(int, None)")->str(), "int?");
  EXPECT_EQ(parsed("Union(str, Union(int, Tensor))")->str(), "Union(Tensor, int, str)");
  EXPECT_EQ(Type::optional(parsed("Union(int, str)"))->str(), "Union(int, NoneType, str)");
  EXPECT_EQ(Type::optional(parsed("int?"))->str(), "int?");
  EXPECT_EQ(Type::optional(Type::any())->str(), "Any");
}

TEST(JitType, Unify) {
  EXPECT_EQ(unified("int", "NoneType"), "int?");
  EXPECT_EQ(unified("int?", "int"), "int?");
  EXPECT_EQ(unified("(int, NoneType)", "(int, Tensor)"), "(int, Tensor?)");
  EXPECT_EQ(unified("int", "float"), "none");
  EXPECT_EQ(unified("int", "Scalar"), "Scalar");
  EXPECT_EQ(unified("int[]", "float[]"), "none");
  EXPECT_EQ(unified("int", "Any"), "Any");
}

TEST(JitType, ClassesAreComparedByIdentity) {
  auto a = ClassType::make("__torch__.A", false), b = ClassType::make("__torch__.A", false);
  EXPECT_TRUE(same_type(*a, *a));
  EXPECT_FALSE(same_type(*a, *b));
  EXPECT_EQ(a->add_attribute("x", Type::integer()), 0);
  EXPECT_EQ(a->add_attribute("y", Type::tensor()), 1);
  EXPECT_EQ(a->add_attribute("x", Type::integer()), 0);
  EXPECT_EQ(a->find_slot("y"), 1);
  EXPECT_EQ(a->find_slot("z"), -1);
  EXPECT_THROW(a->add_attribute("x", Type::tensor()), ValueError);
  a->add_constant("k", 3);
  EXPECT_EQ(a->find_constant("k")->toInt(), 3);
}

TEST(JitType, ClassesOfAnInterface) {
  CompilationUnit unit;
  auto interface = InterfaceType::make("__torch__.I", false);
  interface->methods.push_back(parse_schema("run(Any self, Tensor x) -> Tensor?"));
  auto with_method = [&](const char* name, const char* schema) {
    auto cls = ClassType::make(name, false);
    cls->add_method(unit.add_function(std::make_unique<Function>(
        std::string(name) + ".run", std::make_shared<Graph>(), parse_schema(schema))));
    return cls;
  };
  auto exact = with_method("__torch__.A", "run(Any self, Tensor x) -> Tensor?");
  auto wider = with_method("__torch__.B", "run(Any self, Tensor? x) -> Tensor");
  auto narrower = with_method("__torch__.C", "run(Any self, int x) -> Tensor");
  auto longer = with_method("__torch__.D", "run(Any self, Tensor x, int n) -> Tensor");
  EXPECT_TRUE(is_subtype(*exact, *interface));
  EXPECT_TRUE(is_subtype(*wider, *interface));
  EXPECT_FALSE(is_subtype(*narrower, *interface));
  EXPECT_FALSE(is_subtype(*longer, *interface));
  EXPECT_FALSE(is_subtype(*ClassType::make("__torch__.E", false), *interface));
  EXPECT_FALSE(is_subtype(*Type::integer(), *interface));
}

TEST(JitType, TypesOfValues) {
  EXPECT_EQ(type_of(IValue(std::vector<int64_t>{1}))->str(), "int[]");
  EXPECT_EQ(type_of(IValue(std::vector<Tensor>{}))->str(), "Tensor[]");
  EXPECT_EQ(type_of(IValue(std::make_tuple(1, 2.5, true)))->str(), "(int, float, bool)");
  EXPECT_EQ(type_of(IValue(std::vector<IValue>{1, IValue()}))->str(), "int?[]");
  EXPECT_EQ(type_of(IValue(std::vector<IValue>{1, "a"}))->str(), "Any[]");
}

TEST(JitType, InstancesAndElementTypes) {
  IValue list =
      std::vector<IValue>{IValue(std::vector<IValue>{1, 2}), IValue(std::vector<IValue>{})};
  EXPECT_TRUE(is_instance(list, *parsed("int[][]")));
  EXPECT_FALSE(is_instance(list, *parsed("float[][]")));
  set_element_type(list, parsed("int[][]"));
  EXPECT_EQ(type_of(list)->str(), "int[][]");
  EXPECT_EQ(list.toListRef().items[1].toListRef().element->str(), "int");
  EXPECT_TRUE(is_instance(list, *parsed("int[][]")));
  EXPECT_FALSE(is_instance(list.toListRef().items[1], *parsed("float[]")));
  EXPECT_TRUE(is_instance(IValue(), *parsed("Tensor?")));
  EXPECT_TRUE(is_instance(IValue(2), *parsed("Union(str, int)")));
  EXPECT_FALSE(is_instance(IValue(true), *parsed("int")));
  EXPECT_TRUE(is_instance(IValue(Tensor()), *parsed("Any")));
}

}  // namespace
}  // namespace tenon::jit
