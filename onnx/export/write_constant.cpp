// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes to tensors that are the same in every run, as tables of positions are: they happen here,
// in the memory of the examples, so that all views of it see them.
#include "onnx/export/exporter.h"
#include "tenon/core/op.h"
#include "tenon/jit/operator.h"

namespace tenon::onnx::exporting {
namespace {

bool aliases(const IValue& v, const Tensor& t) {
  return v.isTensor() && v.toTensor().defined() && v.toTensor().has_storage() &&
         v.toTensor().is_alias_of(t);
}

}  // namespace

bool Exporter::write_constant(const jit::Node& n) {
  const bool in_place = n.op && n.op->op && !n.op->schema.arguments.empty() &&
                        n.op->schema.arguments[0].alias.write && n.outputs().size() == 1;
  if (!in_place || graphs_.size() != 1 || (n.op->op->flags & core::kOpRandom)) return false;
  jit::Stack stack;
  for (const jit::Value* v : n.inputs()) {
    if (!item(v)->constant) return false;
    stack.push_back(item(v)->example);
  }
  if (!stack[0].isTensor() || !stack[0].toTensor().has_storage()) return false;
  const Tensor target = stack[0].toTensor();
  // Not the tensors of the program, and not what the model computes from this memory.
  for (const Tensor& t : program_tensors_)
    if (aliases(t, target)) return false;
  for (const auto& [value, i] : items_)
    if (!i->constant && aliases(i->example, target)) return false;
  for (Stored& s : stored_) {
    if (!aliases(s.tensor, target)) continue;
    if (s.weight) return false;
    s.tensor = s.tensor.clone();
  }
  n.op->call(stack, n.inputs().size());
  for (const auto& [value, i] : items_)
    if (aliases(i->example, target)) i->name.clear();
  set(n.output(), std::make_shared<Item>(Item{stack.back(), true}));
  return true;
}

}  // namespace tenon::onnx::exporting
