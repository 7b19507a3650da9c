// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/ops/ml/attributes.h"

#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _transform_scores(y: Tensor, transform: int) -> Tensor:
  if transform == 1:
    return torch.softmax(y, -1)
  if transform == 2:
    return torch.sigmoid(y)
  if transform == 3:
    zero = torch.abs(y) <= 1e-7
    p = torch.softmax(torch.where(zero, torch.full_like(y, float("-inf")), y), -1)
    return torch.where(zero, torch.zeros_like(y), p)
  if transform == 4:
    return torch.erfinv(2 * y - 1) * math.sqrt(2.0)
  return y
def _binary_scores(s: Tensor, positive: bool, transform: int) -> Tuple[Tensor, Tensor]:
  index = (s.reshape([-1]) > (0.5 if positive else 0.0)).to(torch.int64)
  if transform == 2:
    return torch.cat([torch.sigmoid(-s), torch.sigmoid(s)], 1), index
  both = torch.cat([1 - s, s], 1) if positive else torch.cat([-s, s], 1)
  return both, index
)py");

void check_kind(const pb::AttributeProto& a, pb::AttributeProto::AttributeType wanted) {
  TENON_CHECK(a.type() == wanted || a.type() == pb::AttributeProto::UNDEFINED, ValueError,
              "attribute '", a.name(), "' is of kind ", static_cast<int>(a.type()), ", expected ",
              static_cast<int>(wanted), " (AttributeProto.AttributeType)");
}

}  // namespace

std::vector<float> floats(const Call& c, std::string_view name) {
  const auto* a = c.find(name);
  if (!a) return {};
  check_kind(*a, pb::AttributeProto::FLOATS);
  return {a->floats().begin(), a->floats().end()};
}

std::vector<std::string> texts(const Call& c, std::string_view name) {
  const auto* a = c.find(name);
  if (!a) return {};
  check_kind(*a, pb::AttributeProto::STRINGS);
  return {a->strings().begin(), a->strings().end()};
}

Tensor numbers(Builder& b, const Call& c, const std::string& name) {
  if (const auto* a = c.find(name + "_as_tensor")) {
    check_kind(*a, pb::AttributeProto::TENSOR);
    return b.read(a->t()).reshape({-1});
  }
  return tenon::tensor(floats(c, name), TensorOptions(kFloat));
}

Tensor tensor_of(const std::vector<int64_t>& v) { return tenon::tensor(v, TensorOptions(kLong)); }

Value* module_constant(Builder& b, const Tensor& t, const char* name) {
  return b.tensor(Builder::constant_item(t, name));
}

Transform transform_of(const Call& c) {
  const std::string t = c.text("post_transform", "NONE");
  if (t == "NONE") return Transform::None;
  if (t == "SOFTMAX") return Transform::Softmax;
  if (t == "LOGISTIC") return Transform::Logistic;
  if (t == "SOFTMAX_ZERO") return Transform::SoftmaxZero;
  TENON_CHECK(t == "PROBIT", ValueError, "post_transform is '", t, "'");
  return Transform::Probit;
}

Value* transform_scores(Builder& b, Value* scores, Transform t) {
  if (t == Transform::None) return scores;
  return b.call_text("_transform_scores", {scores, b.constant(static_cast<int64_t>(t))}).at(0);
}

Labels::Labels(const Call& c, const char* name)
    : integers(c.integers(name)), strings(texts(c, "classlabels_strings")) {
  TENON_CHECK(size() > 0, ValueError, "it has neither ", name, " nor classlabels_strings");
}

ItemPtr Labels::of(Builder& b, Value* index) const {
  if (!strings.empty()) return Builder::strings_item(Builder::item(index, kLong), strings);
  bool same = true;
  for (std::size_t i = 0; i < integers.size(); ++i)
    same = same && integers[i] == static_cast<int64_t>(i);
  if (same) return Builder::item(index, kLong);
  Value* all = module_constant(b, tensor_of(integers), "classlabels");
  return Builder::item(b.emit1("aten::index_select", {all, b.constant(int64_t{0}), index}), kLong);
}

Classified classify_binary(Builder& b, Value* s, bool positive, Transform t) {
  const auto both =
      b.call_text("_binary_scores", {s, b.constant(positive), b.constant(static_cast<int64_t>(t))});
  return {both.at(0), both.at(1)};
}

}  // namespace tenon::onnx
