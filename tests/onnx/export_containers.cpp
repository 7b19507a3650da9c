// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Programs that take and give containers: ONNX has none, so their tensors are the model's inputs
// and outputs.
#include <gtest/gtest.h>

#include <sstream>

#include "tenon/creation.h"
#include "tenon/onnx.h"
#include "tenon/onnx/export.h"
#include "tenon/ops.h"
#include "tests/onnx/programs.h"
#include "tests/support.h"

using namespace tenon;

namespace {

void add_tensors(const IValue& v, std::vector<IValue>& out) {
  if (v.isTensor()) {
    out.push_back(v);
  } else if (v.isGenericDict()) {
    for (const auto& [key, part] : v.toDictRef().items()) add_tensors(part, out);
  } else if (v.isTuple() || v.isList()) {
    for (const IValue& part : v.isTuple() ? v.toTupleRef().items : v.toListRef().items)
      add_tensors(part, out);
  }
}
std::vector<IValue> tensors_of(const std::vector<IValue>& values) {
  std::vector<IValue> out;
  for (const IValue& v : values) add_tensors(v, out);
  return out;
}

jit::Module written_and_read(const jit::Module& m, const std::vector<IValue>& inputs,
                             const onnx::ExportOptions& options) {
  std::ostringstream out;
  onnx::export_(m, inputs, out, options);
  return onnx::load_bytes(out.str());
}

void expect_same_tensors(const jit::Module& model, const jit::Module& m,
                         const std::vector<IValue>& inputs) {
  const auto want = tensors_of({m.forward(inputs)}),
             got = tensors_of({model.forward(tensors_of(inputs))});
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(allclose(got[i].toTensor(), want[i].toTensor(), 1e-5, 1e-6)) << i;
}

const jit::Module& program() {
  static const jit::Module m = define(R"(
def forward(self, d: Dict[str, Tensor], l: List[Tuple[Tensor, List[Tensor]]], n: int) -> Dict[str, Tensor]:
    made = {"a": d["x"] * n, "b": d["mask"], "a": d["x"] + 1}
    for key, value in d.items():
        made[key + "_mean"] = value.mean(1)
    more: Dict[str, Tensor] = dict()
    more.update(dict([("c", l[0][0] - made.pop("b"))]))
    made.update(more)
    if "x" in d and "x" not in made:
        made["all"] = torch.cat(l[0][1], 0)
    made["d"] = made.setdefault("a", d["x"]) * len(made)
    del made["a"]
    return made
)");
  return m;
}

std::vector<IValue> inputs(int64_t rows) {
  const Dict<std::string, Tensor> d;
  d.insert("x", randn({rows, 3}));
  d.insert("mask", randn({rows, 3}));
  std::vector<IValue> pair{IValue(randn({rows, 3})),
                           IValue(std::vector<IValue>{randn({2, 2}), randn({1, 2})})};
  List<IValue> list;
  list.push_back(IValue(core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(pair)))));
  return {d, list, int64_t{3}};
}

TEST(OnnxExportContainers, TheirTensorsAreInputsAndOutputs) {
  onnx::ExportOptions options;
  options.dynamic_axes = {{"d_x", {{0, "n"}}}, {"d_mask", {{0, "n"}}}, {"l_0_0", {{0, "n"}}}};
  const auto example = inputs(2);
  const jit::Module model = written_and_read(program(), example, options);
  std::vector<std::string> names;
  for (const auto& a : model.get_method("forward").function().schema().arguments)
    names.push_back(a.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"self", "d_x", "d_mask", "l_0_0", "l_0_1_0", "l_0_1_1"}));
  expect_same_tensors(model, program(), example);
  expect_same_tensors(model, program(), inputs(5));
}

TEST(OnnxExportContainers, NamesAreGivenOneATensor) {
  onnx::ExportOptions options;
  options.input_names = {"a", "b", "c"};
  const jit::Module model = written_and_read(program(), inputs(2), options);
  const auto& arguments = model.get_method("forward").function().schema().arguments;
  EXPECT_EQ(arguments.at(3).name, "c");
  EXPECT_EQ(arguments.at(4).name, "l_0_1_0");
  options.input_names.resize(7, "z");
  test::expect_words(test::text_of([&] { (void)written_and_read(program(), inputs(2), options); }),
                     {"7 input names for 6 inputs"});
}

TEST(OnnxExportContainers, WhatTheyCannotHoldIsTold) {
  const auto refusal = [](const std::string& body) {
    const jit::Module m = define("def forward(self, x: Tensor) -> Tensor:\n" + body);
    return test::text_of([&] { (void)written_and_read(m, {ones({2})}, {}); });
  };
  test::expect_words(refusal("    d = {int(x.sum()): x}\n    return d[2]\n"),
                     {"a key of a dictionary depends on data"});
  test::expect_words(refusal("    d = {'a': x}\n    if bool(x.sum() > 0):\n        d['a'] = x * 2\n"
                             "    return d['a']\n"),
                     {"a dictionary of outside of the branch or loop"});
  const jit::Module texts =
      define("def forward(self, x: Tensor):\n    d = {'a': 1}\n    return x, [k for k in d]\n");
  test::expect_words(test::text_of([&] { (void)written_and_read(texts, {ones({2})}, {}); }),
                     {"cannot export the result: a list of other things than numbers"});
}

// Which branch runs is decided by data, so that the model tells beside the value whether it is
// there.
TEST(OnnxExport, AValueMayBeNoneInOneBranch) {
  const jit::Module m = define(R"(
def forward(self, x: Tensor, y: Tensor) -> Tensor:
    mask: Optional[Tensor] = None
    if bool(x.sum() > 0):
        mask = y * 2
    elif bool(x.sum() < -10):
        mask = y * 3
    z = x + 1
    if mask is not None:
        z = z * mask
    if mask is None:
        z = z - y
    return z
)");
  const Tensor y = randn({3});
  const std::vector<std::vector<IValue>> calls{
      {full({3}, 1.0), y}, {full({3}, -1.0), y}, {full({3}, -9.0), y}};
  for (const auto& example : calls) {
    const jit::Module model = written_and_read(m, example, {});
    for (const auto& inputs : calls) expect_same_tensors(model, m, inputs);
  }
}

TEST(OnnxExport, AValueThatMayBeNoneIsNoResult) {
  const std::string begin =
      "def forward(self, x: Tensor):\n"
      "    y: Optional[Tensor] = None\n"
      "    if bool(x.sum() > 0):\n"
      "        y = x * 2\n";
  const auto check = [&](const std::string& end) {
    try {
      (void)written_and_read(define(begin + end), {ones({2})}, {});
      ADD_FAILURE() << end;
    } catch (const Error& e) {
      test::expect_words(e.msg(), {"a value that may be None"});
    }
  };
  check("    return y\n");
  check("    return (x, y)\n");
}

}  // namespace
