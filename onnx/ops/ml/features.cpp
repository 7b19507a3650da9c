// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of ai.onnx.ml that prepare features: they compute in float, and give floats.
#include "onnx/ops/ml/attributes.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

// OneHotEncoder: numbers are taken as integers, as those of categories are. Normalizer: the
// greatest number, not the greatest magnitude, as the operator says and ONNX Runtime does.
const Texts kTexts(R"py(
def ArrayFeatureExtractor(x: Tensor, at: Tensor) -> Tensor:
  y = x if x.dim() > 1 else x.unsqueeze(0)
  return y.index_select(y.dim() - 1, at.reshape([-1]))
def Binarizer(x: Tensor, *, threshold: float = 0.0) -> Tensor:
  return (x > threshold).to(x.dtype)
def _scale(x: Tensor, offset: Optional[Tensor], scale: Optional[Tensor]) -> Tensor:
  y = x if x.dtype == torch.float64 else x.to(torch.float32)
  if offset is not None:
    y = y - offset
  if scale is not None:
    y = y * scale
  return y.to(torch.float32)
def Normalizer(x: Tensor, *, norm: str = "MAX") -> Tensor:
  y = x.to(torch.float32)
  if norm == "MAX":
    n = torch.amax(y, -1, True)
  elif norm == "L1":
    n = torch.abs(y).sum(-1, True)
  else:
    assert norm == "L2", "norm is '{}'".format(norm)
    n = torch.sqrt(y.square().sum(-1, True))
  return y / torch.where(n == 0, torch.ones_like(n), n)
def _impute(x: Tensor, values: Tensor, replaced: float) -> Tensor:
  lost = torch.isnan(x) if replaced != replaced else x == replaced
  return torch.where(lost, values.to(x.dtype), x)
def _impute_integers(x: Tensor, values: Tensor, replaced: int) -> Tensor:
  return torch.where(x == replaced, values.to(x.dtype), x)
def _one_hot(x: Tensor, categories: Tensor, zeros: bool) -> Tensor:
  hot = x.to(torch.int64).unsqueeze(-1) == categories
  assert zeros or bool(torch.all(torch.any(hot, -1))), "OneHotEncoder: a category is not known, and zeros is 0"
  return hot.to(torch.float32)
def _join_features(inputs: List[Tensor], sizes: List[int]) -> Tensor:
  parts: List[Tensor] = []
  for i in range(len(inputs)):
    x = inputs[i].to(torch.float32)
    y = x.unsqueeze(0) if x.dim() == 1 else x.reshape([x.size(0), -1])
    if i < len(sizes):
      y = y.narrow(1, 0, min(sizes[i], y.size(1)))
      if y.size(1) < sizes[i]:
        y = torch.cat([y, torch.zeros([y.size(0), sizes[i] - y.size(1)], device=y.device)], 1)
    parts.append(y)
  return torch.cat(parts, 1)
)py");

Value* optional_floats(Builder& b, const Call& c, const char* name) {
  const std::vector<float> v = floats(c, name);
  if (v.empty()) return b.constant(IValue());
  return module_constant(b, tenon::tensor(v, TensorOptions(kFloat)), name);
}

std::vector<ItemPtr> translate_scaler(Builder& b, Call& c) {
  Value* y = b.call_text("_scale", {b.tensor(c.input(0)), optional_floats(b, c, "offset"),
                                    optional_floats(b, c, "scale")})
                 .at(0);
  return {Builder::item(y, kFloat)};
}

std::vector<ItemPtr> translate_imputer(Builder& b, Call& c) {
  const ItemPtr& x = c.input(0);
  TENON_CHECK(!c.has("imputed_value_strings"), NotImplementedError, "strings are not supported");
  const std::vector<int64_t> integers = c.integers("imputed_value_int64s");
  if (!integers.empty()) {
    Value* values = module_constant(b, tensor_of(integers), "imputed_value");
    Value* y = b.call_text("_impute_integers",
                           {b.tensor(x), values, b.constant(c.integer("replaced_value_int64", 0))})
                   .at(0);
    return {Builder::item(y, x->dtype)};
  }
  TENON_CHECK(c.has("imputed_value_floats"), ValueError,
              "it has neither imputed_value_floats nor imputed_value_int64s");
  Value* y = b.call_text("_impute", {b.tensor(x), optional_floats(b, c, "imputed_value_floats"),
                                     b.constant(c.real("replaced_value_float", 0))})
                 .at(0);
  return {Builder::item(y, x->dtype)};
}

std::vector<ItemPtr> translate_one_hot(Builder& b, Call& c) {
  const ItemPtr& x = c.input(0);
  const std::vector<std::string> names = texts(c, "cats_strings");
  const std::vector<int64_t> known = c.integers("cats_int64s");
  Value *codes = nullptr, *categories = nullptr;
  if (x->strings) {
    // Where each string of the table is among the categories; -1: nowhere.
    std::vector<int64_t> at, all;
    for (const std::string& s : x->strings->table) {
      const auto it = std::find(names.begin(), names.end(), s);
      at.push_back(it == names.end() ? -1 : it - names.begin());
    }
    for (std::size_t i = 0; i < names.size(); ++i) all.push_back(static_cast<int64_t>(i));
    codes = b.emit1("aten::take",
                    {module_constant(b, tensor_of(at), "categories"), b.tensor(x->strings->codes)});
    categories = module_constant(b, tensor_of(all), "categories");
  } else {
    TENON_CHECK(names.empty(), NotImplementedError,
                "categories that are strings are not supported where the input is a tensor");
    TENON_CHECK(!known.empty(), ValueError, "it has no cats_int64s");
    codes = b.tensor(x);
    categories = module_constant(b, tensor_of(known), "categories");
  }
  Value* y =
      b.call_text("_one_hot", {codes, categories, b.constant(c.integer("zeros", 1) != 0)}).at(0);
  return {Builder::item(y, kFloat)};
}

std::vector<ItemPtr> translate_vectorizer(Builder& b, Call& c) {
  std::vector<Value*> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) inputs.push_back(b.tensor(c.input(i)));
  Value* list = b.insert1("prim::ListConstruct", inputs, jit::Type::list(jit::Type::tensor()));
  Value* y = b.call_text("_join_features", {list, b.constant(c.integers("inputdimensions"))}).at(0);
  return {Builder::item(y, kFloat)};
}

const Entry kFeatures[] = {
    {"ArrayFeatureExtractor", 1, 0, Gives::Same},
    {"Binarizer", 1, 0, Gives::Same},
    {"Scaler", 1, 0, Gives::Unknown, nullptr, translate_scaler},
    {"Normalizer", 1, 0, Gives::Unknown},
    {"Imputer", 1, 0, Gives::Unknown, nullptr, translate_imputer},
    {"OneHotEncoder", 1, 0, Gives::Unknown, nullptr, translate_one_hot},
    {"FeatureVectorizer", 1, 0, Gives::Unknown, nullptr, translate_vectorizer},
};
const Entries kRegistered("ai.onnx.ml", kFeatures, std::size(kFeatures));

}  // namespace
}  // namespace tenon::onnx
