// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string_view>

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
    // What a native_ row gives besides is for its own backward, not to be differentiated.
    const bool first_only = std::string_view(op.name).substr(0, 7) == "native_";
    std::vector<Tensor> out;
    for (const oracle::Result& r : call_row(op, values.data())) {
      if (r.tensor && !(first_only && !out.empty())) out.push_back(Tensor(r.tensor));
    }
    return out;
  };
}

// Of several values written to one place one stays, and which is not said: no gradient there to compare.
std::vector<int> checked(const core::Op& op, const Spec& spec) {
  std::vector<int> out = spec.gradients;
  bool overwrites = false;
  for (int i = 0; i < op.n_args; ++i) {
    const SpecArg& a = spec.args[static_cast<std::size_t>(i)];
    overwrites = overwrites || (std::string_view(op.args[i].name) == "accumulate" && !a.plain.u.i64);
  }
  if (!overwrites) return out;
  out.erase(
      std::remove_if(out.begin(), out.end(), [&](int i) { return std::string_view(op.args[i].name) == "values"; }),
      out.end());
  return out;
}

}  // namespace

Outcome run_gradients(const core::Op& op, const Spec& spec, Memory memory) {
  const std::vector<int> positions = checked(op, spec);
  if (positions.empty() || spec.main != kDouble) return {Verdict::NotRun, "no smooth arguments"};
  if (memory != Memory::Contiguous && addresses_storage(op)) return {Verdict::NotRun, kAddressesStorage};
  Built inputs(spec, kDouble, memory, Place{});
  std::vector<Tensor> leaves;
  for (int i : positions) {
    core::Impl t = inputs.tensor(i);
    if (t->numel > kMost || t->numel == 0) return {Verdict::NotRun, "too many elements"};
    // A case may mix dtypes; differences need all of them to be double.
    leaves.push_back((t->dtype == kDouble ? Tensor(t) : Tensor(t).to(kDouble)).requires_grad_(true));
  }
  try {
    autograd::GradcheckFunction f = function_of(op, inputs, positions);
    int64_t outputs = 0;
    bool inside = true;
    for (const Tensor& t : f(leaves)) {
      outputs += t.numel();
      for (double v : oracle::values_of(*t.unsafeGetTensorImpl()).real) inside = inside && !std::isnan(v);
    }
    if (!inside) return {Verdict::NotRun, "outside of the function's domain"};
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
