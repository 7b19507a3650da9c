// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// LinearClassifier and LinearRegressor. They compute in float, whatever comes.
#include "onnx/ops/ml/attributes.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _to_float(x: Tensor) -> Tensor:
  return x.to(torch.float32)
def _float_rows(x: Tensor) -> Tensor:
  y = x.to(torch.float32)
  return y.unsqueeze(0) if y.dim() == 1 else y
def _linear_scores(x: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
  return torch.nn.functional.linear(_float_rows(x), weight, bias)
def _above_zero(s: Tensor) -> Tensor:
  return (s.reshape([-1]) > 0).to(torch.int64)
)py");

// Null where the attribute is left out.
Value* bias_of(Builder& b, const std::vector<float>& intercepts) {
  if (intercepts.empty()) return b.constant(IValue());
  return module_constant(b, tenon::tensor(intercepts, TensorOptions(kFloat)), "intercepts");
}

Value* scores_of(Builder& b, Call& c, int64_t targets, const std::vector<float>& intercepts) {
  const std::vector<float> coefficients = floats(c, "coefficients");
  TENON_CHECK(targets > 0 && !coefficients.empty() &&
                  static_cast<int64_t>(coefficients.size()) % targets == 0,
              ValueError, "it has ", coefficients.size(), " coefficients for ", targets,
              " targets");
  const Tensor weight = tenon::tensor(coefficients, TensorOptions(kFloat)).reshape({targets, -1});
  return b
      .call_text("_linear_scores",
                 {b.tensor(c.input(0)), module_constant(b, weight, "coefficients"),
                  bias_of(b, intercepts)})
      .at(0);
}

std::vector<ItemPtr> translate_classifier(Builder& b, Call& c) {
  const Labels labels(c, "classlabels_ints");
  std::vector<float> intercepts = floats(c, "intercepts");
  const auto n = static_cast<int64_t>(intercepts.empty() ? labels.size() : intercepts.size());
  Value* s = scores_of(b, c, n, intercepts);
  const Transform t = transform_of(c);
  if (n == 1 && labels.size() == 2) {
    // The score decides at 0, and is written as if it were a probability.
    Value* index = b.call_text("_above_zero", {s}).at(0);
    return {labels.of(b, index), Builder::item(classify_binary(b, s, true, t).scores, kFloat)};
  }
  TENON_CHECK(labels.size() == static_cast<std::size_t>(n), ValueError, "it has ", labels.size(),
              " labels for ", n, " classes");
  return {labels.of(b, b.call_text("_top_class", {s}).at(0)),
          Builder::item(transform_scores(b, s, t), kFloat)};
}

std::vector<ItemPtr> translate_regressor(Builder& b, Call& c) {
  const int64_t targets = c.integer("targets", 1);
  const std::vector<float> intercepts = floats(c, "intercepts");
  TENON_CHECK(intercepts.empty() || static_cast<int64_t>(intercepts.size()) == targets, ValueError,
              "it has ", intercepts.size(), " intercepts for ", targets, " targets");
  Value* s = scores_of(b, c, targets, intercepts);
  return {Builder::item(transform_scores(b, s, transform_of(c)), kFloat)};
}

const Entry kLinear[] = {
    {"LinearClassifier", 1, 0, Gives::Unknown, nullptr, translate_classifier},
    {"LinearRegressor", 1, 0, Gives::Unknown, nullptr, translate_regressor},
};
const Entries kRegistered("ai.onnx.ml", kLinear, std::size(kLinear));

}  // namespace
}  // namespace tenon::onnx
