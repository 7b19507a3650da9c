// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/export/sizes.h"

#include <algorithm>

#include "jit/passes/values.h"
#include "onnx/export/call.h"
#include "onnx/export/size_rules.h"
#include "tenon/core/op.h"
#include "tenon/jit/operator.h"

namespace tenon::onnx::exporting {

using jit::Node;

bool Exporter::is_fixed(const Item& tensor) const {
  if (is_static() || tensor.constant) return true;
  return tensor.sizes && std::all_of(tensor.sizes->begin(), tensor.sizes->end(),
                                     [](int64_t s) { return s == kFixed; });
}

bool Exporter::is_fixed(const Item& tensor, int64_t dim) const {
  if (is_static() || tensor.constant) return true;
  if (!tensor.sizes) return false;
  const auto n = static_cast<int64_t>(tensor.sizes->size());
  const int64_t at = dim < 0 ? dim + n : dim;
  return at >= 0 && at < n && (*tensor.sizes)[static_cast<std::size_t>(at)] == kFixed;
}

int64_t Exporter::symbol_of(const Item& tensor, int64_t dim) {
  if (is_fixed(tensor, dim)) return kFixed;
  return tensor.sizes ? tensor.sizes->at(static_cast<std::size_t>(dim)) : fresh_symbol();
}

bool Exporter::is_dynamic_axis(const Item& tensor, int64_t dim) const {
  if (is_fixed(tensor, dim) || !tensor.sizes) return false;
  const int64_t symbol = tensor.sizes->at(static_cast<std::size_t>(dim));
  return std::any_of(axis_symbols_.begin(), axis_symbols_.end(),
                     [symbol](const auto& axis) { return axis.second == symbol; });
}

bool has_fixed_sizes(const Exporter& e, const Item& i) {
  if (i.constant || e.is_static()) return true;
  if (i.example.isTensor()) return e.is_fixed(i);
  return i.has_parts && std::all_of(i.parts.begin(), i.parts.end(),
                                    [&e](const ItemPtr& p) { return has_fixed_sizes(e, *p); });
}

// All sizes, their product, or one of them: the same in every run.
bool Exporter::asks_fixed_sizes(const Node& n) const {
  if (!jit::asks_sizes(n)) return false;
  const Item& of = *item(n.input(0));
  if (is_static() || (of.example.isTensor() && is_fixed(of))) return true;
  if (n.inputs().size() != 2 || !of.example.isTensor() || !item(n.input(1))->constant) return false;
  const IValue& dim = item(n.input(1))->example;
  return dim.isInt() && is_fixed(of, dim.toInt());
}

// Whether two sizes are equal does not depend on the run if they are one.
bool Exporter::compare_sizes(const Node& n) {
  if (!(n.is("aten::eq") || n.is("aten::ne")) || n.inputs().size() != 2) return false;
  const Item &a = *item(n.input(0)), &b = *item(n.input(1));
  if (!a.example.isInt() || a.symbol == kFixed || a.symbol != b.symbol) return false;
  set(n.output(), std::make_shared<Item>(Item{IValue(n.is("aten::eq")), true}));
  return true;
}

namespace {

// How many elements there are depends on values.
bool sizes_by_values(const Exporter& e, const Node& n, const std::string& name) {
  if (!n.op || !n.op->op || name == "tensor" || jit::may_give_sizes_by_data(n)) return true;
  if (name != "index" && name != "_index") return false;
  const Item& list = *e.item(n.input(1));
  if (!list.has_parts) return !list.constant;
  return std::any_of(list.parts.begin(), list.parts.end(),
                     [](const ItemPtr& i) { return is_mask(i->example) && !i->constant; });
}

bool all_constant(const Exporter& e, const Node& n) {
  return std::all_of(n.inputs().begin(), n.inputs().end(),
                     [&](const jit::Value* v) { return e.item(v)->constant; });
}

void note(Exporter& e, Item& i, const std::function<std::optional<Sizes>()>& rule) {
  if (i.constant || i.sizes || !i.example.isTensor() || !i.example.toTensor().defined()) return;
  const auto rank = static_cast<std::size_t>(i.example.toTensor().dim());
  std::optional<Sizes> sizes = rule();
  if (!sizes || sizes->size() != rank) {
    sizes.emplace(rank);
    for (int64_t& s : *sizes) s = e.fresh_symbol();
  }
  i.sizes = std::move(sizes);
}

}  // namespace

void note_sizes(Exporter& e, const Node& n) {
  const std::string name = plain_name(n);
  const bool by_values = sizes_by_values(e, n, name);
  if (by_values && !all_constant(e, n)) e.note_varying();
  bool fixed = e.is_static() || !by_values;
  if (!e.is_static())
    for (const jit::Value* v : n.inputs()) fixed = fixed && has_fixed_sizes(e, *e.item(v));
  for (std::size_t k = 0; k < n.outputs().size(); ++k) {
    Item* out = e.find_item(n.output(k));
    if (!out) continue;
    if (!e.is_static() && !out->example.isTensor()) note_number(e, n, name, *out);
    const auto one = [&](Item& i) {
      note(e, i, [&]() -> std::optional<Sizes> {
        if (fixed) return Sizes(static_cast<std::size_t>(i.example.toTensor().dim()), kFixed);
        return sizes_by_rule(e, n, name, i.example.toTensor());
      });
      if (!e.is_static()) note_number(e, n, name, i);
    };
    if (out->has_parts)
      for (const ItemPtr& p : out->parts) one(*p);
    else
      one(*out);
  }
}

}  // namespace tenon::onnx::exporting
