// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Dictionaries and nested containers as arguments and results of exported programs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tenon/jit.h"
#include "tenon/jit/export_program.h"
#include "tenon/tenon.h"
#include "tests/jit/formats/support.h"
#include "tests/support.h"

namespace tenon::jit {
namespace {

Module exported(const Module& m, const std::vector<IValue>& inputs,
                const ExportProgramOptions& options = {}) {
  const std::string path =
      core::join(testing::TempDir(), "/tenon_containers_", getpid(), ".pt2");  // one a process
  export_program(m, inputs, path, options);
  Module back = load(path);
  std::filesystem::remove(path);
  return back;
}
Module saved_as_torchscript(const Module& m) {
  std::stringstream archive;
  m.save(archive);
  return load(archive);
}
void expect_same(const IValue& got, const IValue& want) {
  std::stringstream a, b;
  a << got;
  b << want;
  EXPECT_EQ(a.str(), b.str());
}

TEST(ExportedContainers, OperatorsOfDictionariesAreDoneWhereTheProgramIsWritten) {
  const Module m = define(R"(
def forward(self, d: Dict[str, Tensor]) -> Dict[str, Tensor]:
    made = {"a": d["x"] + 1, "b": d["y"], "a": d["x"] * 2}
    made.update({"c": d["x"] - d["y"]})
    for key in d.keys():
        made[key + "2"] = d[key] * 2
    for key, value in made.items():
        if key != "b":
            made[key] = value + len(made)
    more = made.copy()
    more.clear()
    rest: Dict[str, Tensor] = dict()
    rest.update(dict([("z", made.pop("c"))]))
    made["d"] = made.setdefault("e", rest["z"]) + made.setdefault("a", d["y"])
    if "x" in made:
        made["never"] = d["x"]
    if "q" not in d and len(more) == 0:
        made["f"] = torch.stack(made.values(), 0)
    del made["b"]
    return made
)");
  const Dict<std::string, Tensor> d;
  d.insert("x", tensor({1.0f, 2.0f}));
  d.insert("y", tensor({3.0f, 5.0f}));
  const Module back = exported(m, {d});
  expect_same(back.forward({d}), m.forward({d}));
  EXPECT_EQ(back.forward({d}).toDictRef().items().size(), 6u);
  d.erase("y");
  test::expect_words(test::text_of([&] { (void)back.forward({d}); }),
                     {"argument 'd' has 1 values", "exported for 2"});
}

TEST(ExportedContainers, NestedOnesAreSavedAsTorchScript) {
  const Module m = define(R"(
def forward(self, d: Dict[int, Dict[str, Tensor]], l: List[Tuple[Tensor, List[Tensor]]]) -> Tuple[Tensor, Dict[int, List[Tensor]]]:
    last: Dict[int, List[Tensor]] = {}
    last[3] = l[0][1]
    last[3].append(d[2]["y"])
    return d[2]["x"] + d[7]["x"] + l[0][0], last
)");
  const Tensor x = tensor({1.0f, 2.0f});
  Dict<std::string, Tensor> a, b;
  a.insert("x", x);
  a.insert("y", x * 3);
  b.insert("x", x + 1);
  const Dict<int64_t, Dict<std::string, Tensor>> d;
  d.insert(2, a);
  d.insert(7, b);
  const auto list = [&] {  // the program writes it
    return List<IValue>{IValue(std::make_tuple(x * 4, std::vector<Tensor>{x, x - 1}))};
  };
  const IValue want = m.forward({d, list()});
  const Module back = exported(m, {d, list()});
  expect_same(back.forward({d, list()}), want);
  expect_same(saved_as_torchscript(back).forward({d, list()}), want);
  test::expect_words(test::text_of([&] {
                       (void)back.forward({d, List<IValue>{IValue(x)}});
                     }),
                     {"List[Tuple[Tensor, List[Tensor]]]", "argument 'l'", "List[Tensor]"});
}

// Values of several types are of the type Any, and are told apart by the file.
TEST(ExportedContainers, MixedOnesAreSavedAsTorchScript) {
  const Module m = define(R"(
def forward(self, d: Dict[str, Any]) -> Tensor:
    x = d["x"]
    parts = d["parts"]
    assert isinstance(x, Tensor)
    assert isinstance(parts, List[Tensor])
    return x + parts[0] * parts[1]
)");
  const Tensor x = tensor({1.0f, 2.0f});
  auto d = core::Ref<ivalue::Dict>::adopt(new ivalue::Dict(Type::string(), Type::any()));
  d->insert_or_assign("x", x);
  d->insert_or_assign("parts", std::vector<Tensor>{x, x + 1});
  const Module back = exported(m, {IValue(d)});
  expect_same(back.forward({IValue(d)}), m.forward({IValue(d)}));
  const Module again = saved_as_torchscript(back);
  expect_same(again.forward({IValue(d)}), m.forward({IValue(d)}));
  expect_same(exported(back, {IValue(d)}).forward({IValue(d)}), m.forward({IValue(d)}));
}

// Parts of a list that is used as a whole vary as well.
TEST(ExportedContainers, SizesOfPartsVary) {
  const Module m = define(R"(
def forward(self, l: List[Tensor], d: Dict[str, Tensor]) -> Tensor:
    all = torch.cat(l, 0)
    return torch.cat([all, d["x"]], 0).view([2 * l[0].size(0) + d["x"].size(0), -1])
)");
  const auto inputs = [](int64_t rows, int64_t more) {
    const Dict<std::string, Tensor> d;
    d.insert("x", randn({more, 2}));
    return std::vector<IValue>{IValue(std::vector<Tensor>{randn({rows, 2}), randn({rows, 2})}), d};
  };
  ExportProgramOptions options;
  options.dynamic_axes = {{"l[0]", {{0, "n"}}}, {"l[1]", {{0, "n"}}}, {"d['x']", {{0, "m"}}}};
  const Module back = exported(m, inputs(2, 3), options);
  for (const auto& [rows, more] : {std::pair{4, 3}, {2, 5}, {7, 1}}) {
    const auto at = inputs(rows, more);
    expect_same(back.forward(at), m.forward(at));
  }
}

// torch calls an argument `input` input_1, which a part must not be called then.
TEST(ExportedContainers, PartsAreNamedByTheirPlace) {
  const Module m = define(R"(
def forward(self, input: Tuple[Tensor, Dict[str, Tensor]]) -> Tensor:
    return input[0] + input[1]["mask"]
)");
  const Dict<std::string, Tensor> d;
  d.insert("mask", ones({2}));
  const std::string path = core::join(testing::TempDir(), "/tenon_parts_", getpid(), ".pt2");
  export_program(m, {IValue(std::make_tuple(ones({2}), IValue(d)))}, path);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  for (const char* name : {"\"input_0\"", "\"input_1_mask\""})
    EXPECT_NE(bytes.find(name), std::string::npos) << name;
}

TEST(ExportedContainers, WhatTheyCannotHoldIsTold) {
  const auto refusal = [](const std::string& body) {
    Module m = define("def forward(self, x: Tensor) -> Tensor:\n" + body);
    return test::text_of([&] { (void)exported(m, {ones({2})}); });
  };
  test::expect_words(refusal("    d = {int(x.sum()): x}\n    return d[2]\n"),
                     {"cannot write", "depends on data"});
  test::expect_words(refusal("    d = {1.5: x}\n    return d[1.5]\n"),
                     {"cannot write prim::DictConstruct", "strings or integers", "<--- HERE"});
  const Module absent =
      define("def forward(self, x: Tensor) -> Tensor:\n    return {'a': x}['b']\n");
  EXPECT_THROW((void)exported(absent, {ones({2})}), IndexError);
}

// Each word is looked up on its own: no table of the whole vocabulary is made for it.
TEST(ExportedContainers, WordsOfALargeVocabulary) {
  constexpr int64_t kWords = 100000;
  auto words = core::Ref<ivalue::Dict>::adopt(new ivalue::Dict(Type::string(), Type::integer()));
  for (int64_t i = 0; i < kWords; ++i) words->insert_or_assign(core::join("w", i), i);
  Module m("__torch__.Program");
  m.register_attribute("words", Type::dict(Type::string(), Type::integer()), IValue(words));
  m.define(R"(
def forward(self, x: Tensor):
    ids = [len(self.words)]
    for i in range(1000):
        word = "w" + str(i * 7)
        if word in self.words:
            ids.append(self.words[word])
    return x + torch.tensor(ids)
)");
  const Tensor x = zeros({1}, kLong);
  const Tensor want = m.forward({x}).toTensor();
  EXPECT_EQ(want.numel(), 1001);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(exported(m, {x}).forward({x}).toTensor().equal(want));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));  // it took minutes
}

}  // namespace
}  // namespace tenon::jit
