// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Containers as arguments of programs.
#include <gtest/gtest.h>

#include "tenon/jit.h"
#include "tenon/tenon.h"
#include "tests/support.h"

namespace tenon::jit {
namespace {

const char* const kProgram = R"(
def count(lists: List[List[Tensor]], b: int):
    return len(lists) + b
def first(x: List[Optional[int]]):
    return x[0]
def at(d: Dict[str, List[float]]):
    return d["a"][0]
)";

TEST(Arguments, ContainersOfTheirElements) {
  const auto unit = compile(kProgram);
  List<List<Tensor>> lists;
  EXPECT_EQ(unit->run_method("count", lists, 2).toInt(), 2);
  lists.push_back(List<Tensor>({ones({1})}));
  EXPECT_EQ(unit->run_method("count", lists, 2).toInt(), 3);
  EXPECT_EQ(unit->run_method("first", std::vector<int64_t>{4}).toInt(), 4);
  Dict<std::string, List<double>> d;
  d.insert("a", List<double>({2.5}));
  EXPECT_EQ(unit->run_method("at", d).toDouble(), 2.5);
}

TEST(Arguments, ErrorsNameTheOperatorAndThePlace) {
  const auto unit = compile(R"(
def inner(x: Tensor, y: Tensor):
    return torch.mm(x, y)
def outer(x: Tensor, y: Tensor):
    return inner(x, y) + 1
)");
  try {
    (void)unit->run_method("outer", ones({2, 3}), ones({2, 3}));
    FAIL();
  } catch (const ValueError& e) {
    EXPECT_EQ(e.op(), "mm");
    test::expect_words(e.what(), {"mm", "Traceback of the program", "torch.mm(x, y)", "inner"});
  }
}

TEST(Arguments, RefusedOnesStayAsTheyWere) {
  const auto unit = compile(kProgram);
  const TypePtr lists = Type::list(Type::list(Type::tensor()));
  const impl::GenericList deeper(lists);
  const auto call = [&] { (void)unit->run_method("count", deeper, 2); };
  for (int i = 0; i < 2; ++i) {
    test::expect_words(test::text_of<TypeError>(call),
                       {"count() Expected a value of type 'List[List[Tensor]]' for argument "
                        "'lists' but instead found type 'List[List[List[Tensor]]]'"});
    EXPECT_TRUE(same_type(*deeper.elementType(), *lists));
    deeper.push_back(List<List<Tensor>>({List<Tensor>({ones({1})})}));
  }
  List<int64_t> numbers({1});
  test::expect_words(
      test::text_of<TypeError>([&] { (void)unit->run_method("first", List<double>({1.})); }),
      {"'List[Optional[int]]'", "'List[float]'"});
  EXPECT_EQ(unit->run_method("first", numbers).toInt(), 1);
}

}  // namespace
}  // namespace tenon::jit
