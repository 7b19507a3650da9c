// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Scans, counts and losses over axes of any size, and the nested tensors of nn.TransformerEncoder.
#include <gtest/gtest.h>

#include <sstream>

#include "tenon/creation.h"
#include "tenon/onnx.h"
#include "tenon/onnx/export.h"
#include "tenon/ops.h"
#include "tests/onnx/programs.h"

using namespace tenon;

namespace {

jit::Module model_of_any_size(const jit::Module& m, const std::vector<Tensor>& inputs,
                              const std::map<std::string, std::map<int64_t, std::string>>& axes) {
  onnx::ExportOptions options;
  for (const auto& [name, dims] : axes) options.input_names.push_back(name);
  options.dynamic_axes = axes;
  options.opset = 18;
  std::ostringstream out;
  std::vector<IValue> examples(inputs.begin(), inputs.end());
  onnx::export_(m, examples, out, options);
  return onnx::load_bytes(out.str());
}

void expect_reduced(const jit::Module& back, const jit::Module& m, const std::vector<Tensor>& x) {
  const std::vector<IValue> inputs(x.begin(), x.end());
  const Tensor got = back.forward(inputs).toTensor(), expected = m.forward(inputs).toTensor();
  ASSERT_EQ(got.sizes(), expected.sizes());
  ASSERT_EQ(got.scalar_type(), expected.scalar_type());
  EXPECT_TRUE(allclose(got, expected, 1e-4, 1e-5, /*equal_nan=*/true));
}

void expect_rows(const std::string& formula, const std::vector<Tensor>& others) {
  SCOPED_TRACE(formula);
  const jit::Module m = define_of_x("    return " + formula + "\n");
  jit::Module back;
  ASSERT_NO_THROW(back = model_of_any_size(m, {others[0]}, {{"x", {{0, "n"}}}}));
  for (const Tensor& x : others) expect_reduced(back, m, {x});
}

TEST(OnnxExportReductions, AlongAnAxisOfAnySize) {
  manual_seed(61);
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor extreme = tensor({-inf, -inf, 1.0, inf, 2.0, -inf, 500.0, -500.0}).view({2, 4});
  const std::vector<Tensor> others{randn({3, 4}), randn({6, 4}) * 100, extreme.to(kFloat32)};
  expect_rows("torch.logcumsumexp(x, 0)", others);
  expect_rows("torch.logcumsumexp(x, 1)", others);
  const std::vector<Tensor> finite{randn({3, 4}), randn({7, 4}) * 3, ones({2, 4})};
  expect_rows("torch.histc(x)", finite);
  expect_rows("torch.histc(x, 7)", finite);
  expect_rows("torch.histc(x, 5, -1, 1)", finite);
}

TEST(OnnxExportReductions, ByPositionsOfAnyNumber) {
  manual_seed(62);
  for (const char* how : {"prod", "mean", "amax", "amin"})
    for (const char* with : {"True", "False"}) {
      const jit::Module m = define(std::string(R"(
def forward(self, index: Tensor, source: Tensor, x: Tensor) -> Tensor:
    return torch.index_reduce(x, 0, index, source, ")") +
                                   how + "\", include_self=" + with + ")\n");
      SCOPED_TRACE(how);
      const jit::Module back =
          model_of_any_size(m, {tensor({2, 0}), randn({2, 4}), randn({3, 4})},
                            {{"index", {{0, "k"}}}, {"source", {{0, "k"}}}, {"x", {{0, "n"}}}});
      expect_reduced(back, m, {tensor({4, 1, 4, 4}), randn({4, 4}), randn({5, 4})});
    }
}

TEST(OnnxExportReductions, MarginsOfSeveralClasses) {
  manual_seed(63);
  for (const char* rest :
       {"", ", 2, 0.7", ", 1, 1.0, torch.tensor([1.0, 2.0, 0.5, 3.0])", ", 1, 1.0, None, 0"}) {
    SCOPED_TRACE(rest);
    const jit::Module m = define(std::string(R"(
def forward(self, target: Tensor, x: Tensor) -> Tensor:
    return torch.multi_margin_loss(x, target)") +
                                 rest + ")\n");
    const jit::Module back = model_of_any_size(m, {tensor({2, 0, 3}), randn({3, 4})},
                                               {{"target", {{0, "n"}}}, {"x", {{0, "n"}}}});
    expect_reduced(back, m, {tensor({1, 1, 3, 0, 2}), randn({5, 4})});
  }
}

TEST(OnnxExportReductions, RowsOfATableAreHeld) {
  manual_seed(64);
  const jit::Module m = define(R"(
def forward(self, index: Tensor, x: Tensor) -> Tensor:
    w = x.clone()
    torch.embedding_renorm_(w, index, 1.0, 2.0)
    return torch.embedding(w, index)
)");
  const jit::Module back = model_of_any_size(m, {tensor({2, 0, 2}), randn({3, 4})},
                                             {{"index", {{0, "k"}}}, {"x", {{0, "n"}}}});
  expect_reduced(back, m, {tensor({4, 4, 1, 0}), randn({5, 4}) * 2});
}

TEST(OnnxExportReductions, DrawsAreDifferent) {
  const jit::Module m = define_of_x("    return torch.multinomial(x, 3).sort(1)[0]\n");
  const jit::Module back = model_of_any_size(m, {ones({2, 4})}, {{"x", {{0, "n"}}}});
  const Tensor x = tensor({1.0, 0.0, 1.0, 5.0}).to(kFloat32).expand({50, 4}).contiguous();
  const Tensor got = back.forward({x}).toTensor();
  EXPECT_TRUE(got.equal(tensor({0, 2, 3}).expand({50, 3})));
}

// As nn.TransformerEncoder in a script, in evaluation.
TEST(OnnxExportReductions, SequencesWithoutTheirPadding) {
  manual_seed(65);
  const jit::Module m = define(R"(
def forward(self, mask: Tensor, x: Tensor, w: Tensor, b: Tensor, o: Tensor, z: Tensor) -> Tensor:
    y = x
    nested = torch._nested_tensor_from_mask_left_aligned(x, mask.logical_not())
    if nested:
        y = torch._nested_tensor_from_mask(x, mask.logical_not(), False)
    y = torch._transformer_encoder_layer_fwd(y, 8, 2, w, b, o, z, False, False, 1e-5, z, z, z, z, o, z, o, z, None, None)
    y = torch._transformer_encoder_layer_fwd(y, 8, 2, w, b, o, z, False, False, 1e-5, z, z, z, z, o, z, o, z, None, None)
    if nested:
        y = torch.to_padded_tensor(y, 0.0, x.size())
    return y
)");
  onnx::ExportOptions options;
  options.input_names = {"mask", "x"};
  options.dynamic_axes = {{"mask", {{0, "b"}, {1, "t"}}}, {"x", {{0, "b"}, {1, "t"}}}};
  std::ostringstream out;
  const Tensor w = randn({24, 8}), b = randn({24}), o = randn({8, 8}), z = randn({8});
  const Tensor none = zeros({2, 5}, TensorOptions(kBool));
  onnx::export_(m, {none, randn({2, 5, 8}), w, b, o, z}, out, options);
  const jit::Module back = onnx::load_bytes(out.str());
  const Tensor mask = arange(7) >= tensor({4, 7, 1}).unsqueeze(1);
  expect_reduced(back, m, {mask, randn({3, 7, 8}), w, b, o, z});
}

}  // namespace
