// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "batch.h"

#include <tenon/tenon.h>

#include <utility>

namespace serve {
namespace {

using tenon::IValue;

struct Rows {
  int64_t begin, count, total;
};

std::optional<std::vector<IValue>> rows_of_all(const std::vector<IValue>& items, const Rows& rows);

std::optional<IValue> rows_of(const IValue& value, const Rows& rows) {
  if (value.isTensor()) {
    const tenon::Tensor& t = value.toTensor();
    if (!t.defined() || t.dim() == 0 || t.size(0) != rows.total) return std::nullopt;
    return t.narrow(0, rows.begin, rows.count);
  }
  if (value.isTuple()) {
    const auto items = rows_of_all(value.toTupleRef().items, rows);
    if (!items) return std::nullopt;
    return tenon::ivalue::Tuple::create(*items);
  }
  if (value.isList()) {
    const auto items = rows_of_all(value.toListRef().items, rows);
    if (!items) return std::nullopt;
    return *items;
  }
  if (!value.isGenericDict()) return std::nullopt;
  auto out = tenon::core::Ref<tenon::ivalue::Dict>::adopt(new tenon::ivalue::Dict());
  for (const auto& [key, item] : value.toDictRef().items()) {
    auto part = rows_of(item, rows);
    if (!part) return std::nullopt;
    out->insert_or_assign(key, *std::move(part));
  }
  return IValue(std::move(out));
}

std::optional<std::vector<IValue>> rows_of_all(const std::vector<IValue>& items, const Rows& rows) {
  std::vector<IValue> out;
  for (const IValue& item : items) {
    auto part = rows_of(item, rows);
    if (!part) return std::nullopt;
    out.push_back(*std::move(part));
  }
  return out;
}

}  // namespace

std::vector<IValue> joined_inputs(const std::vector<Request>& requests) {
  std::vector<IValue> out;
  for (std::size_t i = 0; i < requests.front().inputs.size(); ++i) {
    std::vector<tenon::Tensor> parts;
    parts.reserve(requests.size());
    for (const Request& r : requests) parts.push_back(r.inputs[i].toTensor());
    out.push_back(tenon::cat(parts));
  }
  return out;
}

std::optional<std::vector<IValue>> split_result(const IValue& result,
                                                const std::vector<Request>& requests) {
  Rows rows{0, 0, 0};
  for (const Request& r : requests) rows.total += r.rows;
  std::vector<IValue> out;
  for (const Request& r : requests) {
    rows.count = r.rows;
    auto part = rows_of(result, rows);
    if (!part) return std::nullopt;
    out.push_back(*std::move(part));
    rows.begin += r.rows;
  }
  return out;
}

}  // namespace serve
