// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cell.h"
#include "tenon/core/error.h"
#include "tenon/gradcheck.h"

namespace tenon::check {
namespace {

constexpr int64_t kMost = 60;  // elements of one input; the cost grows with the square

// The row as a function of the arguments that gradients are asked of.
autograd::GradcheckFunction function_of(const core::Op& op, Built& inputs, const std::vector<int>& positions) {
  return [&op, &inputs, &positions](const std::vector<Tensor>& given) {
    std::vector<tn_value> values(inputs.values(), inputs.values() + op.n_args);
    for (std::size_t k = 0; k < positions.size(); ++k) {
      values[static_cast<std::size_t>(positions[k])].u.tensor = &given[k].unsafeGetTensorImpl()->view;
    }
    std::vector<Tensor> out;
    for (const oracle::Result& r : call_row(op, values.data())) {
      if (r.tensor) out.push_back(Tensor(r.tensor));
    }
    return out;
  };
}

}  // namespace

Outcome run_gradients(const core::Op& op, const Spec& spec, Memory memory) {
  if (spec.gradients.empty() || spec.main != kDouble) return {Verdict::NotRun, "no smooth arguments"};
  Built inputs(spec, kDouble, memory, Place{});
  std::vector<Tensor> leaves;
  for (int i : spec.gradients) {
    core::Impl t = inputs.tensor(i);
    if (t->numel > kMost || t->numel == 0) return {Verdict::NotRun, "too many elements"};
    leaves.push_back(Tensor(t).requires_grad_(true));
  }
  try {
    autograd::GradcheckFunction f = function_of(op, inputs, spec.gradients);
    int64_t outputs = 0;
    for (const Tensor& t : f(leaves)) outputs += t.numel();
    if (outputs > kMost) return {Verdict::NotRun, "too many elements"};
    autograd::gradcheck(f, leaves);
    if (outputs <= 24) autograd::gradgradcheck(f, leaves);
  } catch (const NotImplementedError& e) {
    return {Verdict::NotRun, e.what()};
  } catch (const std::exception& e) {
    return {Verdict::Failed, e.what()};
  }
  return {Verdict::Passed, ""};
}

}  // namespace tenon::check
