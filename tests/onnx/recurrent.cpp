// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recurrent layers over packed sequences, and with projections.
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

constexpr int64_t kFeatures = 3, kHidden = 4;

std::string exported(const jit::Module& m, const std::vector<IValue>& inputs,
                     const onnx::ExportOptions& options = {}) {
  std::ostringstream out;
  onnx::export_(m, inputs, out, options);
  return out.str();
}
void expect_same(const IValue& got, const IValue& expected) {
  const auto &a = got.toTupleRef().items, &b = expected.toTupleRef().items;
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    ASSERT_EQ(a[k].toTensor().sizes(), b[k].toTensor().sizes()) << "result " << k;
    EXPECT_TRUE(allclose(a[k].toTensor(), b[k].toTensor(), 1e-5, 1e-6)) << "result " << k;
  }
}

// Its weights are parameters w0, w1, ...
jit::Module recurrent(const std::string& text, int64_t gates, int64_t directions,
                      int64_t projected = 0) {
  manual_seed(4);
  jit::Module m("__torch__.Recurrent");
  std::string all;
  const auto add = [&](const Tensor& w) {
    const std::string name = "w" + std::to_string(all.size());
    m.register_parameter(name, w, false);
    all += (all.empty() ? "self." : ", self.") + name;
  };
  const int64_t state = projected > 0 ? projected : kHidden;
  for (int64_t d = 0; d < directions; ++d) {
    add(randn({gates * kHidden, kFeatures}));
    add(randn({gates * kHidden, state}));
    if (projected > 0) add(randn({projected, kHidden}));
  }
  std::string program = text;
  program.replace(program.find("WEIGHTS"), 7, "[" + all + "]");
  m.define(program);
  return m;
}

const char* const kPacked = R"(
def forward(self, x: Tensor, lengths: Tensor):
    n, order = torch.sort(lengths, 0, True)
    data, sizes = torch._pack_padded_sequence(x.index_select(1, order), n, False)
    h = torch.zeros([2, int(sizes[0]), 4])
    y, h, c = torch.lstm(data * 2, sizes, [h, h + 1], WEIGHTS, False, 1, 0.0, False, True)
    padded, again = torch._pad_packed_sequence(y, sizes, True, 7.0, sizes.size(0) + 1)
    return y, h, c, padded, again, sizes
)";

TEST(OnnxExport, PackedSequencesOfAnyLengths) {
  const jit::Module m = recurrent(kPacked, 4, 2);
  onnx::ExportOptions options;
  options.dynamic_axes = {{"x", {{0, "time"}, {1, "batch"}}}, {"lengths", {{0, "batch"}}}};
  const jit::Module back =
      onnx::load_bytes(exported(m, {randn({4, 3, kFeatures}), tensor({2, 4, 1}, kLong)}, options));
  for (const auto& [time, lengths] :
       {std::pair(4, tensor({2, 4, 1}, kLong)), std::pair(7, tensor({5, 1, 6, 5}, kLong)),
        std::pair(2, tensor({1}, kLong))}) {
    const Tensor x = randn({time, lengths.size(0), kFeatures});
    expect_same(back.forward({x, lengths}), m.forward({x, lengths}));
  }
}

TEST(OnnxExport, PackedSequencesOfEachKindOfCell) {
  for (const auto& [name, gates] : {std::pair("gru", 3), {"rnn_tanh", 1}, {"rnn_relu", 1}}) {
    const jit::Module m =
        recurrent(std::string(R"(
def forward(self, x: Tensor, lengths: Tensor):
    data, sizes = torch._pack_padded_sequence(x, lengths, True)
    y, h = torch.)") + name +
                      R"((data, sizes, torch.ones([1, 3, 4]), WEIGHTS, False, 1, 0.0, False, False)
    padded, again = torch._pad_packed_sequence(y, sizes, True, 0.0, 0)
    return padded, h, again
)",
                  gates, 1);
    const Tensor x = randn({3, 5, kFeatures}), lengths = tensor({4, 2, 2}, kLong);
    const jit::Module back = onnx::load_bytes(exported(m, {x, lengths}));
    for (const Tensor& n : {lengths, tensor({5, 5, 1}, kLong)})
      expect_same(back.forward({x, n}), m.forward({x, n}));
  }
}

// What a model does not need of them is not in it.
TEST(OnnxExport, PackedElementsThatNobodyTakesAreNotWritten) {
  const jit::Module m = recurrent(R"(
def forward(self, x: Tensor, lengths: Tensor):
    data, sizes = torch._pack_padded_sequence(x, lengths, False)
    h = torch.zeros([1, 3, 4])
    y, h, c = torch.lstm(data, sizes, [h, h], WEIGHTS, False, 1, 0.0, False, False)
    return torch._pad_packed_sequence(y, sizes, False, 0.0, sizes.size(0))
)",
                                  4, 1);
  const std::string model = exported(m, {randn({4, 3, kFeatures}), tensor({4, 2, 1}, kLong)});
  EXPECT_NE(model.find("LSTM"), model.npos);
  for (const char* unused : {"Compress", "Pad"}) EXPECT_EQ(model.find(unused), model.npos);
}

TEST(OnnxExport, ProjectedHiddenStates) {
  const char* const whole = R"(
def forward(self, x: Tensor):
    h, c = torch.zeros([2, x.size(1), 2]), torch.ones([2, x.size(1), 4])
    return torch.lstm(x, [h, c], WEIGHTS, False, 1, 0.0, False, True, False)
)";
  const char* const packed = R"(
def forward(self, x: Tensor, lengths: Tensor):
    data, sizes = torch._pack_padded_sequence(x, lengths, False)
    h, c = torch.zeros([2, x.size(1), 2]), torch.ones([2, x.size(1), 4])
    return torch.lstm(data, sizes, [h, c], WEIGHTS, False, 1, 0.0, False, True)
)";
  const Tensor x = randn({4, 3, kFeatures}), lengths = tensor({4, 2, 1}, kLong);
  const jit::Module a = recurrent(whole, 4, 2, 2), b = recurrent(packed, 4, 2, 2);
  expect_same(onnx::load_bytes(exported(a, {x})).forward({x}), a.forward({x}));
  expect_same(onnx::load_bytes(exported(b, {x, lengths})).forward({x, lengths}),
              b.forward({x, lengths}));
}

}  // namespace
