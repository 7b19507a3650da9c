// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tables from labels to labels, and ZipMap, which names scores by labels.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "onnx/ops/ml/attributes.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

// _look_up: which key an element is, `n` if none; `keys` are sorted, `order` says where they were.
const Texts kTexts(R"py(
def _look_up(x: Tensor, keys: Tensor, order: Tensor, n: int, nan_at: int) -> Tensor:
  v = x.to(keys.dtype).contiguous()
  at = torch.clamp_max(torch.searchsorted(keys, v), keys.size(0) - 1)
  none = torch.full_like(at, n)
  out = torch.where(torch.take(keys, at) == v, torch.take(order, at), none)
  if nan_at >= 0:
    out = torch.where(torch.isnan(v), torch.full_like(out, nan_at), out)
  return out
def _zip_integers(x: Tensor, keys: List[int]) -> List[Dict[int, float]]:
  rows: List[List[float]] = x.reshape([-1, len(keys)]).to(torch.float64).tolist()
  out: List[Dict[int, float]] = []
  for row in rows:
    named: Dict[int, float] = {}
    for i in range(len(keys)):
      named[keys[i]] = row[i]
    out.append(named)
  return out
def _zip_strings(x: Tensor, keys: List[str]) -> List[Dict[str, float]]:
  rows: List[List[float]] = x.reshape([-1, len(keys)]).to(torch.float64).tolist()
  out: List[Dict[str, float]] = []
  for row in rows:
    named: Dict[str, float] = {}
    for i in range(len(keys)):
      named[keys[i]] = row[i]
    out.append(named)
  return out
)py");

// One side of a table: numbers or strings.
struct Side {
  Tensor numbers;
  std::vector<std::string> strings;
  bool defined() const { return numbers.defined() || !strings.empty(); }
  std::size_t size() const {
    return strings.empty() ? static_cast<std::size_t>(numbers.numel()) : strings.size();
  }
};

std::vector<std::string> strings_of(const pb::TensorProto& t) {
  return {t.string_data().begin(), t.string_data().end()};
}

// The attributes PREFIX_int64s, _floats, _strings and _tensor.
Side side_of(Builder& b, const Call& c, const std::string& prefix) {
  if (c.has(prefix + "_strings")) return {Tensor(), texts(c, prefix + "_strings")};
  if (c.has(prefix + "_int64s")) return {tensor_of(c.integers(prefix + "_int64s")), {}};
  if (c.has(prefix + "_floats"))
    return {tenon::tensor(floats(c, prefix + "_floats"), TensorOptions(kFloat)), {}};
  const auto* a = c.find(prefix + "_tensor");
  TENON_CHECK(a && a->has_t(), ValueError, "it has no ", prefix);
  if (a->t().data_type() == pb::STRING) return {Tensor(), strings_of(a->t())};
  return {b.read(a->t()).reshape({-1}), {}};
}

// Of each element, which key it is; the number of keys if none.
Value* look_up(Builder& b, const ItemPtr& x, const Side& keys) {
  const auto n = static_cast<int64_t>(keys.size());
  if (!keys.strings.empty()) {
    TENON_CHECK(x->strings, NotImplementedError,
                "keys that are strings are not supported where the input is a tensor");
    std::vector<int64_t> at;
    for (const std::string& s : x->strings->table)
      at.push_back(std::find(keys.strings.begin(), keys.strings.end(), s) - keys.strings.begin());
    if (at.empty()) at.push_back(n);
    return b.emit1("aten::take",
                   {module_constant(b, tensor_of(at), "keys"), b.tensor(x->strings->codes)});
  }
  TENON_CHECK(n > 0, ValueError, "it has no keys");
  const Tensor known = keys.numbers.to(kDouble);
  const double* p = known.data_ptr<double>();
  const bool whole = !keys.numbers.is_floating_point();
  const Tensor exact = whole ? keys.numbers.to(kLong) : Tensor();
  std::vector<int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  int64_t nan_at = -1;
  for (int64_t i = n - 1; i >= 0; --i)
    if (std::isnan(p[i])) nan_at = i;
  std::erase_if(order, [&](int64_t i) { return std::isnan(p[i]); });
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return whole ? exact.data_ptr<int64_t>()[i] < exact.data_ptr<int64_t>()[j] : p[i] < p[j];
  });
  if (order.empty()) order.push_back(nan_at);  // which equals nothing
  const Tensor at = tensor_of(order);
  Value* found =
      b.call_text("_look_up",
                  {b.tensor(x), module_constant(b, keys.numbers.index_select(0, at), "keys"),
                   module_constant(b, at, "order"), b.constant(n), b.constant(nan_at)})
          .at(0);
  return found;
}

// The elements of `values` at `index`, and one more, which is the default.
ItemPtr take_values(Builder& b, Value* index, const Side& values, const Tensor& number,
                    const std::string& text) {
  if (!values.strings.empty()) {
    std::vector<std::string> table = values.strings;
    table.push_back(text);
    return Builder::strings_item(Builder::item(index, kLong), std::move(table));
  }
  const ScalarType dtype = values.numbers.scalar_type();
  const Tensor all = cat({values.numbers, number.to(dtype).reshape({1})});
  return Builder::item(b.emit1("aten::take", {module_constant(b, all, "values"), index}), dtype);
}

Side places(std::size_t n) {
  std::vector<int64_t> v(n);
  std::iota(v.begin(), v.end(), 0);
  return {tensor_of(v), {}};
}

// Of version 1, and CategoryMapper: strings and their numbers, in the direction of the input.
std::vector<ItemPtr> translate_pair(Builder& b, Call& c, const Side& strings,
                                    const Side& integers) {
  const ItemPtr& x = c.input(0);
  TENON_CHECK(strings.size() == integers.size(), ValueError, "it has ", strings.size(),
              " strings for ", integers.size(), " numbers");
  const Tensor number = scalar_tensor(static_cast<double>(c.integer("default_int64", -1)), kLong);
  if (x->strings) return {take_values(b, look_up(b, x, strings), integers, number, {})};
  return {take_values(b, look_up(b, x, integers), strings, number,
                      c.text("default_string", "_Unused"))};
}

std::vector<ItemPtr> translate_encoder_1(Builder& b, Call& c) {
  const Side strings{Tensor(), texts(c, "classes_strings")};
  return translate_pair(b, c, strings, places(strings.size()));
}

std::vector<ItemPtr> translate_mapper(Builder& b, Call& c) {
  return translate_pair(b, c, Side{Tensor(), texts(c, "cats_strings")},
                        Side{tensor_of(c.integers("cats_int64s")), {}});
}

std::vector<ItemPtr> translate_encoder(Builder& b, Call& c) {
  const Side keys = side_of(b, c, "keys"), values = side_of(b, c, "values");
  TENON_CHECK(keys.size() == values.size(), ValueError, "it has ", keys.size(), " keys for ",
              values.size(), " values");
  std::string text = c.text("default_string", "_Unused");
  Tensor number = scalar_tensor(static_cast<double>(c.integer("default_int64", -1)), kLong);
  if (values.numbers.defined() && values.numbers.is_floating_point())
    number = scalar_tensor(c.real("default_float", -0.0), kDouble);
  if (const auto* a = c.find("default_tensor")) {
    if (a->t().data_type() != pb::STRING)
      number = b.read(a->t());
    else if (a->t().string_data_size() > 0)
      text = a->t().string_data(0);
  }
  return {take_values(b, look_up(b, c.input(0), keys), values, number, text)};
}

std::vector<ItemPtr> translate_zip(Builder& b, Call& c) {
  const Labels labels(c, "classlabels_int64s");
  Value* x = b.tensor(c.input(0));
  const bool strings = !labels.strings.empty();
  Value* keys = strings ? b.constant(labels.strings) : b.constant(labels.integers);
  return {Builder::item(b.call_text(strings ? "_zip_strings" : "_zip_integers", {x, keys}).at(0))};
}

const Entry kMaps[] = {
    {"LabelEncoder", 1, 1, Gives::Unknown, nullptr, translate_encoder_1},
    {"LabelEncoder", 2, 0, Gives::Unknown, nullptr, translate_encoder},
    {"CategoryMapper", 1, 0, Gives::Unknown, nullptr, translate_mapper},
    {"ZipMap", 1, 0, Gives::Unknown, nullptr, translate_zip},
};
const Entries kRegistered("ai.onnx.ml", kMaps, std::size(kMaps));

}  // namespace
}  // namespace tenon::onnx
