// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/containers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon {
namespace {

TEST(Containers, ListsOfTensors) {
  const List<Tensor> same({ones({2}), zeros({2})});
  List<Tensor> list = same;
  list.push_back(full({2}, 7.));
  EXPECT_EQ(same.size(), 3u);
  EXPECT_TRUE(same.get(2).equal(full({2}, 7.)));
  list.set(0, full({2}, 5.));
  list[1] = list[0];
  EXPECT_TRUE(static_cast<Tensor>(same[1]).equal(full({2}, 5.)));
  double sum = 0;
  for (const Tensor t : same) sum += t.sum().item<double>();
  EXPECT_EQ(sum, 34);
  EXPECT_EQ(same.vec().size(), 3u);
  EXPECT_TRUE(IValue(list).isTensorList());
  EXPECT_TRUE(IValue(list).toTensorList().is(list));
}

TEST(Containers, ListsOfNumbersAndOfAnything) {
  List<int64_t> numbers({3, 1, 2});
  EXPECT_EQ(*std::max_element(numbers.begin(), numbers.end()), 3);
  EXPECT_EQ(numbers.begin()[2], 2);
  EXPECT_FALSE(numbers.begin()[2] == 2.5);
  numbers.append(numbers);
  EXPECT_EQ(numbers.vec(), (std::vector<int64_t>{3, 1, 2, 3, 1, 2}));
  const List<int64_t> other = numbers.copy();
  numbers.clear();
  EXPECT_TRUE(numbers.empty());
  EXPECT_EQ(other.size(), 6u);
  EXPECT_TRUE(other == List<int64_t>({3, 1, 2, 3, 1, 2}));
  List<List<int64_t>> nested;
  nested.push_back(other);
  EXPECT_EQ(nested.get(0).get(1), 1);
  EXPECT_EQ(IValue(nested).toList()[0].toIntList().size(), 6u);
  impl::GenericList any(jit::TypePtr{});
  any.push_back(IValue("text"));
  any.push_back(IValue(2.5));
  any[0] = IValue(true);
  EXPECT_TRUE(any.get(0).toBool());
  for (const IValue& v : any) EXPECT_FALSE(v.isString());
}

TEST(Containers, Dictionaries) {
  Dict<std::string, Tensor> dict;
  EXPECT_TRUE(dict.insert("a", ones({1})).second);
  EXPECT_FALSE(dict.insert("a", zeros({1})).second);
  EXPECT_FALSE(dict.insert_or_assign("a", full({1}, 3.)).second);
  dict.insert("b", zeros({1}));
  EXPECT_EQ(dict.at("a").item<double>(), 3);
  EXPECT_EQ(dict.find("b")->key(), "b");
  EXPECT_TRUE(dict.find("c") == dict.end());
  std::string keys;
  for (const auto& entry : dict) keys += entry.key();
  EXPECT_EQ(keys, "ab");
  const impl::GenericDict generic = IValue(dict).toGenericDict();
  EXPECT_TRUE(generic.contains("b"));
  EXPECT_EQ(dict.erase("b"), 1u);
  EXPECT_FALSE(generic.contains("b"));
  EXPECT_EQ(dict.copy().size(), 1u);
}

// As in libtorch, where moving from a handle leaves it as it was.
TEST(Containers, MovingCopiesTheHandle) {
  List<int64_t> list({1, 2});
  const List<int64_t> taken = std::move(list);
  EXPECT_EQ(list.size(), 2u);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(taken.is(list));
  Dict<std::string, int64_t> dict;
  dict.insert("a", 1);
  Dict<std::string, int64_t> other;
  other = std::move(dict);
  EXPECT_EQ(dict.at("a"), 1);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(other.is(dict));
}

TEST(Containers, InsertingAndErasing) {
  List<int64_t> list({1, 4});
  EXPECT_EQ(static_cast<int64_t>(*list.insert(list.begin() + 1, 3)), 3);
  list.emplace(list.begin() + 1, 2);
  EXPECT_EQ(list.vec(), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(static_cast<int64_t>(*list.erase(list.begin())), 2);
  const auto after = list.erase(list.begin() + 1, list.end());
  EXPECT_TRUE(after == list.end());
  EXPECT_EQ(list.vec(), (std::vector<int64_t>{2}));

  Dict<int64_t, int64_t> squares;
  squares.reserve(20);
  for (int64_t i = 0; i < 20; ++i) squares.insert(i, i * i);  // beyond the keys that are compared
  EXPECT_EQ(squares.find(11)->value(), 121);
  squares.find(11)->setValue(-1);
  EXPECT_EQ(squares.at(11), -1);
  squares.erase(squares.find(11));
  EXPECT_TRUE(squares.find(11) == squares.end());
  EXPECT_EQ(squares.find(12)->value(), 144);
  EXPECT_EQ(squares.size(), 19u);
}

TEST(Containers, TensorsAreKeysByIdentity) {
  const Tensor a = ones({2}), same_values = ones({2});
  Dict<Tensor, int64_t> dict;
  dict.insert(a, 1);
  EXPECT_TRUE(dict.find(same_values) == dict.end());
  EXPECT_TRUE(dict.insert(same_values, 2).second);
  EXPECT_EQ(dict.find(a)->value(), 1);
  EXPECT_EQ(dict.find(same_values)->value(), 2);
}

TEST(Containers, Refusals) {
  const List<int64_t> list({1});
  test::expect_words(test::text_of<IndexError>([&] { (void)list.get(1); }),
                     {"index 1", "1 elements"});
  test::expect_words(test::text_of<IndexError>([&] { List<double>().pop_back(); }),
                     {"out of range"});
  test::expect_words(test::text_of<TypeError>([&] { (void)IValue(list).toTensorList().get(0); }),
                     {"Tensor", "Int"});
  test::expect_words(test::text_of<TypeError>([&] { (void)IValue(3).toList(); }), {"list", "Int"});
  const Dict<std::string, int64_t> dict;
  test::expect_words(test::text_of<IndexError>([&] { (void)dict.at("x"); }), {"x"});
}

}  // namespace
}  // namespace tenon
