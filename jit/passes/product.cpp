// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/product.h"

#include <map>
#include <optional>
#include <string>

#include "jit/passes/values.h"

namespace tenon::jit {
namespace {

std::optional<std::vector<int64_t>> window_of(const Node& n, const char* name, std::size_t space) {
  const Value* v = argument(n, name);
  auto list = v ? ints_of(v) : std::nullopt;
  if (!list) return std::nullopt;
  if (list->size() == 1) list->resize(space, (*list)[0]);
  return list->size() == space ? list : std::nullopt;
}

// "valid" and "same" as numbers; "same" only where both sides get as much.
std::optional<std::vector<int64_t>> named_padding(const Node& n, const Product& p) {
  const Value* v = argument(n, "padding");
  const auto c = v ? to_constant(v) : std::nullopt;
  if (!c || !c->isString()) return std::nullopt;
  std::vector<int64_t> out(p.dilation.size(), 0);
  if (c->toStringView() == "valid") return out;
  if (c->toStringView() != "same") return std::nullopt;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int64_t total = p.dilation[i] * (p.weight.size(static_cast<int64_t>(i) + 2) - 1);
    if (total % 2 != 0 || p.stride[i] != 1) return std::nullopt;
    out[i] = total / 2;
  }
  return out;
}

}  // namespace

bool fill_convolution(const Node& n, Product& p) {
  if (p.weight.dim() < 3 || p.weight.dim() > 5) return false;
  if (const Value* t = argument(n, "transposed"); t && bool_of(t) != std::optional(false))
    return false;
  const auto space = static_cast<std::size_t>(p.weight.dim() - 2);
  const auto stride = window_of(n, "stride", space), dilation = window_of(n, "dilation", space);
  const auto groups = argument(n, "groups") ? int_of(argument(n, "groups")) : std::nullopt;
  if (!stride || !dilation || !groups) return false;
  p.stride = *stride;
  p.dilation = *dilation;
  p.groups = *groups;
  auto padding = window_of(n, "padding", space);
  if (!padding) padding = named_padding(n, p);
  if (!padding) return false;
  p.padding = *padding;
  return true;
}

const ProductLayout* product_layout(const Node& n) {
  static const std::map<std::string, ProductLayout, std::less<>> all{
      {"aten::conv1d", {0, 1, 2, true, false}},       {"aten::conv2d", {0, 1, 2, true, false}},
      {"aten::conv3d", {0, 1, 2, true, false}},       {"aten::convolution", {0, 1, 2, true, false}},
      {"aten::_convolution", {0, 1, 2, true, false}}, {"aten::linear", {0, 1, 2, false, false}},
      {"aten::addmm", {1, 2, 0, false, true}},        {"aten::matmul", {0, 1, -1, false, true}},
      {"aten::mm", {0, 1, -1, false, true}}};
  const auto it = all.find(n.kind());
  return it == all.end() || !n.op ? nullptr : &it->second;
}

}  // namespace tenon::jit
