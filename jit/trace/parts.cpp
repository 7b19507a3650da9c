// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/trace/parts.h"

#include <array>
#include <set>

#include "jit/run/boxing.h"
#include "jit/trace/program.h"
#include "tenon/ops.h"

namespace tenon::jit {
namespace {

IValue packed(Stack results) {
  if (results.size() == 1) return std::move(results[0]);
  return core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(results)));
}

// By the function that serves devices without a kernel.
Stack decomposed(const core::Op& op, core::BoxedFn f, const Stack& arguments) {
  ListMemory memory;
  tn_value in[core::kMaxArgs];
  for (int i = 0; i < op.n_args; ++i)
    in[i] = to_argument(op, i, arguments[static_cast<std::size_t>(i)], memory);
  std::array<core::OwnedValue, core::kMaxOutputs> made;
  f(in, made.data());
  Stack results;
  for (int i = 0; i < op.n_results; ++i)
    results.push_back(to_result(made[static_cast<std::size_t>(i)], op.results[i].type));
  return results;
}

// A decomposition computes wide numbers; core casts what it gives.
void cast_as(const Stack& like, Stack& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].isTensor() || !like[i].isTensor()) continue;
    const Tensor t = results[i].toTensor();
    const ScalarType wanted = like[i].toTensor().scalar_type();
    if (t.defined() && t.scalar_type() != wanted) results[i] = t.to(wanted);
  }
}

core::BoxedFn decomposition_of(const core::Op& op, const Stack& results) {
  const bool complex = !results.empty() && results[0].isTensor() &&
                       isComplexType(results[0].toTensor().scalar_type());
  return complex ? nullptr : op.decomposition.load(std::memory_order_acquire);
}

}  // namespace

namespace {

// One tensor as two arguments may be two in the program that it is an example of: the recording
// would take them for one.
IValue separated(const IValue& v, std::set<const core::TensorImpl*>& seen) {
  if (v.isTensor()) {
    const Tensor& t = v.toTensor();
    return !t.defined() || seen.insert(t.unsafeGetTensorImpl()).second ? v : IValue(t.clone());
  }
  if (!v.isList()) return v;
  std::vector<IValue> items;
  for (const IValue& each : v.toListRef().items) items.push_back(separated(each, seen));
  return IValue(
      core::Ref<ivalue::List>::adopt(new ivalue::List(v.toListRef().element, std::move(items))));
}

}  // namespace

bool is_made_of_operators(const Operator& op) {
  if (op.op || !op.host) return false;
  for (const std::string_view name : {"quantized_decomposed::", "torchao::"})
    if (op.schema.name.rfind(name, 0) == 0) return true;
  return false;
}

OperatorParts record_parts(const Operator& op, const std::vector<IValue>& arguments,
                           const std::vector<std::size_t>& inputs) {
  const bool host = is_made_of_operators(op);
  if (!host && (!op.op || op.form != Operator::Form::Functional)) return {};
  const NoGradGuard no_grad;
  Stack like = arguments;
  {
    const tracing::RandomStates random(arguments);
    op.call(like, arguments.size());
  }
  const core::BoxedFn f = host ? nullptr : decomposition_of(*op.op, like);
  const bool composite = !host && op.op->kind == core::OpKind::Composite;
  if (!host && !composite && !f) return {};
  tracing::Arguments tensors;
  std::set<const core::TensorImpl*> seen;
  for (const std::size_t i : inputs) tensors.push_back(separated(arguments[i], seen));
  const auto run = [&](std::vector<IValue> given) {
    Stack all = arguments;
    for (std::size_t k = 0; k < inputs.size(); ++k) all[inputs[k]] = std::move(given[k]);
    if (host || composite)
      op.call(all, all.size());
    else
      all = decomposed(*op.op, f, all);
    cast_as(like, all);
    return packed(std::move(all));
  };
  tracing::Recording made = tracing::record(run, tensors, false, composite ? op.op : nullptr);
  return {std::move(made.graph), std::move(made.baked)};
}

}  // namespace tenon::jit
