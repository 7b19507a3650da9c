// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What loops and branches of a program change beside their results: attributes, values that may be
// None, and lists that are empty with the examples.
#include <gtest/gtest.h>

#include <sstream>

#include "tenon/creation.h"
#include "tenon/onnx.h"
#include "tenon/onnx/export.h"
#include "tenon/ops.h"
#include "tests/onnx/programs.h"

using namespace tenon;

namespace {

jit::Module model_of_state(const jit::Module& m, const Tensor& x) {
  onnx::ExportOptions options;
  options.input_names = {"x"};
  options.dynamic_axes = {{"x", {{0, "rows"}}}};
  std::ostringstream out;
  onnx::export_(m, {x}, out, options);
  return onnx::load_bytes(out.str());
}

void expect_same_state(const jit::Module& back, const jit::Module& m, const Tensor& x) {
  const Tensor got = back.forward({x.clone()}).toTensor(),
               expected = m.clone().forward({x.clone()}).toTensor();
  ASSERT_EQ(got.sizes(), expected.sizes());
  EXPECT_LE((got - expected).abs().max().item<double>(), 1e-5);
}

// Every run of a model begins with the attribute's value of the file.
void expect_state(const std::string& body) {
  SCOPED_TRACE(body);
  manual_seed(51);
  jit::Module m("__torch__.Stateful");
  m.register_buffer("state", randn({4}));
  m.define("def forward(self, x: Tensor) -> Tensor:\n" + body);
  jit::Module back;
  ASSERT_NO_THROW(back = model_of_state(m.clone(), randn({3, 4})));
  for (const int64_t rows : {3, 1, 6}) expect_same_state(back, m, randn({rows, 4}));
}

TEST(OnnxExportState, AttributesAreSetInLoopsAndBranches) {
  expect_state(R"(
    out: List[Tensor] = []
    for i in range(x.size(0)):
        self.state = self.state * 0.5 + x[i]
        out.append(self.state)
    return torch.stack(out) + self.state
)");
  expect_state(R"(
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            self.state = self.state + x[i]
            for k in range(i):
                self.state = self.state * 0.9 + x[k]
        x = x + self.state
    return x
)");
}

TEST(OnnxExportState, AttributesAreWrittenInPlace) {
  expect_state(R"(
    self.state.mul_(2)
    for i in range(x.size(0)):
        self.state.mul_(0.5)
        self.state.add_(x[i])
        x = x + self.state
    return x * self.state
)");
  expect_state(R"(
    out: List[Tensor] = []
    for i in range(4):
        self.state[i] = x[0, i]
        out.append(self.state.sum())
    return torch.stack(out)
)");
}

void expect_optional(const std::string& body, const Tensor& example,
                     const std::vector<Tensor>& others) {
  SCOPED_TRACE(body);
  const jit::Module m = define_of_x(body);
  jit::Module back;
  ASSERT_NO_THROW(back = model_of_state(m, example));
  expect_same_state(back, m, example);
  for (const Tensor& x : others) expect_same_state(back, m, x);
}

TEST(OnnxExportState, LoopsCarryNone) {
  manual_seed(52);
  const Tensor x = randn({3, 4});
  const std::vector<Tensor> others{randn({6, 4}), randn({1, 4}), -randn({4, 4}).abs()};
  expect_optional(R"(
    h: Optional[Tensor] = None
    out: List[Tensor] = []
    for i in range(x.size(0)):
        if h is None:
            h = x[i]
        else:
            h = h * 0.5 + x[i]
        out.append(h)
    return torch.stack(out)
)",
                  x, others);
  const std::string best = R"(
    best: Optional[Tensor] = None
    at: Optional[int] = None
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            best = x[i]
            at = i
    if best is None:
        return torch.zeros([4])
    if at is None:
        return best
    return best * (at + 2)
)";
  expect_optional(best, x, others);
  expect_optional(best, -x.abs(), others);  // None after the loop with the example
  expect_optional(R"(
    last: Optional[Tensor] = None
    for i in range(x.size(0)):
        for k in range(i):
            if bool(x[k, 0] > 0):
                last = x[k] + i
        if last is not None:
            x = x + last
    return x
)",
                  x, others);
}

// It is None again and again, and before the loop it is, or not.
TEST(OnnxExportState, LoopsSetAndTakeBackAValue) {
  const std::string body = R"(
    y: Optional[Tensor] = None
    if bool(x.sum() > 0):
        y = x * 2
    for i in range(int(x.abs().sum())):
        y = x * i if y is None else None
    return x if y is None else x + y
)";
  const std::vector<Tensor> all{ones({3, 1}), -ones({2, 1}), -ones({3, 1}), zeros({2, 1}),
                                ones({4, 1})};
  for (const Tensor& example : all) expect_optional(body, example, all);
}

// The cells of a decoder, for as many sequences as there are.
TEST(OnnxExportState, LoopsTakeStepsOfRecurrentCells) {
  manual_seed(55);
  const std::vector<Tensor> others{randn({6, 4}), randn({1, 4})};
  for (const char* cell : {"torch.gru_cell(y, h, w[:9], w[:9, :3], w[:9, 0], w[:9, 1])",
                           "torch.rnn_tanh_cell(y, h, w[:3], w[:3, :3])",
                           "torch.rnn_relu_cell(y, h, w[:3], w[:3, :3], w[:3, 0], w[:3, 1])",
                           "torch.lstm_cell(y, (h, h * 2), w, w[:, :3], w[:, 1], w[:, 0])[1]"})
    expect_optional(
        "    w = torch.arange(48.0).view(12, 4).sin()\n"
        "    h = torch.zeros([x.size(0), 3])\n"
        "    y = x\n"
        "    out: List[Tensor] = []\n"
        "    for i in range(20):\n"
        "        h = " +
            std::string(cell) +
            "\n"
            "        y = torch.cat([h, x[:, :1]], 1)\n"
            "        out.append(h)\n"
            "        if bool(h.sum() > 1):\n"
            "            break\n"
            "    return torch.stack(out, 1)\n",
        randn({3, 4}), others);
}

TEST(OnnxExportState, AListMayBeEmptyWithTheExample) {
  manual_seed(53);
  const Tensor x = -randn({3, 4}).abs();
  expect_optional(R"(
    out: List[Tensor] = []
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            out.append(x[i])
    if len(out) == 0:
        return torch.zeros([1, 4])
    return torch.stack(out)
)",
                  x, {randn({6, 4}), -x, x[0].unsqueeze(0)});
}

TEST(OnnxExportState, AListOfALengthThatIsComputed) {
  manual_seed(54);
  const std::vector<Tensor> others{randn({6, 4}), randn({1, 4})};
  expect_optional(R"(
    sizes = [1] * x.size(0)
    parts = torch.split(x, sizes)
    out: List[Tensor] = []
    for i in range(len(sizes)):
        out.append(parts[len(sizes) - 1 - i] * i)
    out.reverse()
    return torch.cat(out)
)",
                  randn({3, 4}), others);
}

}  // namespace
