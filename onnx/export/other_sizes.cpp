// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/export/other_sizes.h"

#include "jit/passes/values.h"
#include "onnx/export/size_rules.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx::exporting {
namespace {

using jit::Node;
using jit::Value;

using Length = int64_t (*)(int64_t);

// Its elements again and again along the dimensions that vary. Nothing if these are not known.
std::optional<IValue> longer(const Item& i, Length length) {
  if (i.constant) return i.example;
  if (i.example.isTensor()) {
    if (!i.sizes || !i.example.toTensor().defined()) return std::nullopt;
    Tensor t = i.example.toTensor();
    for (int64_t d = 0; d < t.dim(); ++d) {
      const int64_t n = t.size(d);
      if (i.sizes->at(static_cast<std::size_t>(d)) == kFixed) continue;
      if (n == 0) return std::nullopt;
      t = t.index_select(d, arange(length(n), TensorOptions(kInt64)).remainder(n));
    }
    return t;
  }
  if (!i.has_parts || !i.example.isList()) return std::nullopt;
  std::vector<IValue> items;
  for (const ItemPtr& p : i.parts) {
    std::optional<IValue> one = longer(*p, length);
    if (!one) return std::nullopt;
    items.push_back(std::move(*one));
  }
  return IValue(core::Ref<ivalue::List>::adopt(
      new ivalue::List(i.example.toListRef().element, std::move(items))));
}

bool is_same(const IValue& a, const IValue& b) {
  if (a.isTensor() && b.isTensor()) {
    const Tensor x = a.toTensor(), y = b.toTensor();
    if (!x.defined() || !y.defined()) return x.defined() == y.defined();
    return x.scalar_type() == y.scalar_type() && x.sizes() == y.sizes() && x.equal(y);
  }
  if (a.isList() && b.isList()) {
    const auto &x = a.toListRef().items, &y = b.toListRef().items;
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), is_same);
  }
  return a == b;
}

bool is_same(const Node& a, const Node& b, const std::map<const Value*, const Value*>& known) {
  if (a.kind() != b.kind() || a.op != b.op || a.inputs().size() != b.inputs().size() ||
      a.outputs().size() != b.outputs().size() || !a.blocks().empty() || !b.blocks().empty())
    return false;
  for (std::size_t k = 0; k < a.inputs().size(); ++k)
    if (known.at(a.input(k)) != b.input(k)) return false;
  if (!a.is("prim::Constant")) return true;
  const std::optional<IValue> x = jit::to_constant(a.output()), y = jit::to_constant(b.output());
  return x && y && is_same(*x, *y);
}

bool is_same(const jit::Graph& a, const jit::Graph& b) {
  const std::vector<Node*> first = a.block()->nodes(), second = b.block()->nodes();
  if (first.size() != second.size() || a.inputs().size() != b.inputs().size() ||
      a.outputs().size() != b.outputs().size())
    return false;
  std::map<const Value*, const Value*> known;
  for (std::size_t k = 0; k < a.inputs().size(); ++k) known[a.inputs()[k]] = b.inputs()[k];
  for (std::size_t n = 0; n < first.size(); ++n) {
    if (!is_same(*first[n], *second[n], known)) return false;
    for (std::size_t k = 0; k < first[n]->outputs().size(); ++k)
      known[first[n]->output(k)] = second[n]->output(k);
  }
  for (std::size_t k = 0; k < a.outputs().size(); ++k)
    if (known.at(a.outputs()[k]) != b.outputs()[k]) return false;
  return true;
}

}  // namespace

bool is_same_for_other_sizes(const jit::Graph& graph, const std::vector<ItemPtr>& tensors,
                             const std::vector<IValue>& arguments,
                             const std::vector<std::size_t>& inputs, const MadeOf& made_of) {
  const Length lengths[] = {[](int64_t n) { return n + 1; }, [](int64_t n) { return 2 * n + 3; }};
  for (const Length length : lengths) {
    std::vector<IValue> given = arguments;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      std::optional<IValue> other = longer(*tensors[k], length);
      if (!other) return false;
      given[inputs[k]] = std::move(*other);
    }
    try {
      const std::shared_ptr<jit::Graph> made = made_of(given);
      if (!made || !is_same(graph, *made)) return false;
    } catch (const Error&) {
      return false;
    }
  }
  return true;
}

}  // namespace tenon::onnx::exporting
