// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lists that change in loops and branches are sequences of the model.
#include <gtest/gtest.h>

#include <sstream>

#include "onnx/proto/model.pb.h"
#include "tenon/creation.h"
#include "tenon/onnx/export.h"
#include "tenon/ops.h"
#include "tests/onnx/programs.h"
#include "tests/onnx/support.h"
#include "tests/support.h"

using namespace tenon;

namespace {

std::string exported_rows(const jit::Module& m, const Tensor& x, bool dynamic = true) {
  onnx::ExportOptions options;
  options.input_names = {"x"};
  if (dynamic) options.dynamic_axes = {{"x", {{0, "rows"}}}};
  std::ostringstream out;
  onnx::export_(m, {x}, out, options);
  return out.str();
}

// Written with 3 rows, it computes the same for other numbers of rows, written once more, too.
void expect_same(const std::string& body, const std::vector<int64_t>& rows = {3, 1, 8}) {
  SCOPED_TRACE(body);
  manual_seed(8);
  const jit::Module m = define_of_x(body);
  jit::Module back, again;
  ASSERT_NO_THROW(back = onnx::load_bytes(exported_rows(m, randn({3, 4}))));
  ASSERT_NO_THROW(again = onnx::load_bytes(exported_rows(back, randn({3, 4}))));
  for (const int64_t n : rows) {
    const Tensor x = randn({n, 4}), expected = m.forward({x}).toTensor();
    for (const jit::Module& one : {back, again}) {
      const Tensor got = one.forward({x}).toTensor();
      ASSERT_EQ(got.sizes(), expected.sizes());
      EXPECT_LE((got - expected).abs().max().item<double>(), 1e-5);
    }
  }
}

TEST(OnnxExportLists, AListGrowsInALoop) {
  expect_same(R"(
    xs: List[Tensor] = []
    for i in range(x.size(0)):
        xs.append(torch.tanh(x[i]) * i)
    return torch.stack(xs, 1)
)");
  expect_same(R"(
    xs: List[Tensor] = [x[0], x[0] * 2]
    n = 0
    while n < x.size(0):
        xs += [xs[-1] + x[n]]
        n += 1
    return torch.cat(xs) * len(xs)
)");
}

TEST(OnnxExportLists, AListIsCarriedOrChangedByALoop) {
  expect_same(R"(
    xs = [x[0]]
    for i in range(x.size(0)):
        xs = xs + [x[i] - xs[0]]
    return torch.stack(xs)
)");
  expect_same(R"(
    xs = [x[0], x[0] * 2, x[0] * 3]
    for i in range(x.size(0)):
        xs.insert(1, x[i])
        last = xs.pop()
        xs[0] = xs[0] + last
        xs[i % 2] = last
        xs[-1] = xs[-1] * 2
    return torch.stack(xs)
)");
}

TEST(OnnxExportLists, BranchesAndLoopsInALoopChangeIt) {
  expect_same(R"(
    xs: List[Tensor] = []
    ys: List[Tensor] = []
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            xs.append(x[i])
        else:
            ys.append(x[i] * 2)
        for k in range(i):
            ys.append(x[k])
    xs.append(x[0])
    ys.append(x[0])
    return torch.stack(xs).sum(0) - torch.stack(ys).sum(0)
)");
}

TEST(OnnxExportLists, NumbersAreATensor) {
  expect_same(R"(
    ns: List[int] = [1]
    for i in range(x.size(0)):
        ns.append(i * 2)
    total = 0
    for i in range(len(ns)):
        total += ns[i] * ns[-1]
    return x * total
)");
}

// What is joined in a turn is longer than in the turn before.
TEST(OnnxExportLists, SizesThatChangeFromTurnToTurnAreComputed) {
  for (const bool dynamic : {true, false}) {
    const jit::Module m = define_of_x(R"(
    xs: List[Tensor] = []
    seen = x[:1]
    for i in range(3):
        xs.append(x[i])
        all = torch.stack(xs)
        seen = torch.cat([seen, x * all.size(0)])
        xs[-1] = xs[-1] + all.mean(0) * seen.size(0)
    return torch.cat(xs).view(4, -1) + seen.size(0)
)");
    const Tensor x = randn({3, 4});
    const jit::Module back = onnx::load_bytes(exported_rows(m, x, dynamic));
    const Tensor y = randn({3, 4}), expected = m.forward({y}).toTensor();
    EXPECT_LE((back.forward({y}).toTensor() - expected).abs().max().item<double>(), 1e-4);
  }
}

TEST(OnnxExportLists, TheModelHasALoopWithASequence) {
  const jit::Module m = define_of_x(R"(
    xs: List[Tensor] = []
    for i in range(x.size(0)):
        xs.append(x[i])
    return torch.stack(xs)
)");
  tenon::onnx::pb::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(exported_rows(m, randn({3, 4}).to(kDouble))));
  std::map<std::string, int> types;
  for (const auto& n : model.graph().node()) {
    ++types[n.op_type()];
    if (n.op_type() != "Loop") continue;
    const auto& body = n.attribute(0).g();
    const auto& state = body.input(2).type();
    ASSERT_TRUE(state.has_sequence_type());
    EXPECT_EQ(state.sequence_type().elem_type().tensor_type().elem_type(), tenon::onnx::pb::DOUBLE);
    EXPECT_EQ(body.output(1).type().has_sequence_type(), true);
  }
  EXPECT_EQ(types["SequenceEmpty"], 1);
  EXPECT_EQ(types["Loop"], 1);
  EXPECT_EQ(types["ConcatFromSequence"], 1);
}

// A rotation by turns: the dimension of each is the number of the turn, which ONNX wants to know.
TEST(OnnxExportLists, ALoopOverDimensionsIsUnrolled) {
  expect_same(R"(
    y = x
    for d in range(x.dim()):
        y = y.transpose(d, 1 - d) + y.sum(d, True).sum()
    return y
)");
}

// A loop over constants has no node, and neither has a check with its message.
TEST(OnnxExportLists, WhatIsKnownIsComputed) {
  const jit::Module m = define_of_x(R"(
    order: List[int] = []
    for i in range(x.dim()):
        order.append(x.dim() - 1 - i)
    total = float(x.sum().item())
    assert total > -1000.0, "the sum is {}".format(total)
    return x.permute(order)
)");
  tenon::onnx::pb::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(exported_rows(m, randn({3, 4}))));
  for (const auto& n : model.graph().node()) {
    EXPECT_NE(n.op_type(), "Loop");
    EXPECT_NE(n.op_type(), "If");
  }
}

// Also what compares elements, and a search that ends early.
TEST(OnnxExportLists, OrdersAndSearchesOfKnownNumbersAreComputed) {
  expect_same(R"(
    axes = [x.dim() - i for i in range(2)]
    axes.sort()
    y = x
    for a in axes:
        y = y.unsqueeze(a)
    return y.flatten(1)
)");
  jit::Module m("__torch__.Program");
  m.define(R"(
def find(self, xs: List[int], wanted: int) -> int:
    for i in range(len(xs)):
        if xs[i] == wanted:
            return i
    return -1
def forward(self, x: Tensor) -> Tensor:
    if self.find([5, x.dim(), 7], 2) == 1:
        x = x + 1
    return x
)");
  tenon::onnx::pb::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(exported_rows(m, randn({3, 4}))));
  for (const auto& n : model.graph().node())
    EXPECT_TRUE(n.op_type() != "Loop" && n.op_type() != "If") << n.op_type();
}

TEST(OnnxExportLists, AListMayBeTheResult) {
  jit::Module m("__torch__.Program");
  m.define(R"(
def forward(self, x: Tensor) -> List[Tensor]:
    xs: List[Tensor] = []
    for i in range(x.size(0)):
        xs.append(x[i])
    return xs
)");
  const jit::Module back = onnx::load_bytes(exported_rows(m, ones({2, 3})));
  EXPECT_EQ(back.forward({ones({5, 3})}).toListRef().items.size(), 5u);
}

TEST(OnnxExportLists, ADictionaryGivesItsValues) {
  jit::Module m("__torch__.Program");
  m.define(R"(
def forward(self, x: Tensor) -> Dict[str, Tensor]:
    return {"out": x + 1, "aux": x * 2}
)");
  const auto out =
      onnx::load_bytes(exported_rows(m, ones({2}))).forward({ones({2})}).toTupleRef().items;
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[1].toTensor().sum().item<float>(), 4);
}

TEST(OnnxExportLists, AListWithAnotherNameIsRefused) {
  const jit::Module m = define_of_x(R"(
    xs = [x]
    ys = [x, x]
    if bool(x.sum() > 0):
        zs = xs
    else:
        zs = ys
    zs.append(x)
    return torch.cat(xs)
)");
  test::expect_words(test::text_of([&] {
                       exported_rows(m, ones({2, 2}));
                     }),
                     {"cannot export aten::append", "other names in the program"});
}

// A loop that stays one, as it breaks: the first element's size is not that of the others.
TEST(OnnxExportLists, ElementsOfAKnownListHaveSizesOfTheirOwn) {
  for (const char* condition : {"", "        if bool(total > 1000):\n            break\n"}) {
    const std::string body = std::string(R"(
    sizes = [x, x[:, :3], x[:, 1:2]]
    total = torch.zeros([])
    for part in sizes:
        total = total + part.sum() / (part.shape[1] + 1)
)") + condition + "    return total\n";
    expect_same(body);
    SCOPED_TRACE(body);
    const jit::Module m = define_of_x(body);
    const Tensor x = randn({3, 4});
    EXPECT_TRUE(allclose(onnx::load_bytes(exported_rows(m, x, false)).forward({x}).toTensor(),
                         m.forward({x}).toTensor()));
  }
}

TEST(OnnxExportLists, ALoopOverKnownValuesMayCarryWhatOnnxDoesNotHave) {
  expect_same(R"(
    parts: List[Tensor] = []
    for piece in [x, x * 2]:
        parts.append(piece + 1)
    more: Optional[List[Dict[str, Tensor]]] = None
    if x.dim() == 3:
        more = [{"a": x}]
    for i in range(len(parts)):
        part = parts[i]
        own = more[i] if more is not None else None
        if own is not None:
            part = part + own["a"]
        parts[i] = part - 3
        if more is not None and own is not None:
            more[i] = own
    return torch.cat(parts, 1)
)");
}

}  // namespace
