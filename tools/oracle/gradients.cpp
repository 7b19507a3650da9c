// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "gradients.h"

#include <algorithm>
#include <cmath>

#include "matrix_formula.h"
#include "tenon/autograd.h"
#include "tenon/call.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/tensor.h"

namespace tenon::oracle {
namespace {

// A float32 gradient is a sum over outputs, whose rounding errors add up; the float64 truth has
// none of them.
Tolerance widen_tolerance(Tolerance tol, ScalarType dtype, const Values& cotangent,
                          const Values& truth) {
  if (dtype == kDouble || dtype == kComplexDouble) return tol;
  double terms = static_cast<double>(cotangent.real.size()) /
                 static_cast<double>(std::max<std::size_t>(1, truth.real.size()));
  // A contraction inside runs over at most the longest dimension; its errors grow with the root of
  // that.
  double longest = 1;
  for (int64_t s : cotangent.sizes) longest = std::max(longest, static_cast<double>(s));
  for (int64_t s : truth.sizes) longest = std::max(longest, static_cast<double>(s));
  double factor = std::max(std::sqrt(longest), terms);
  return {tol.rtol * factor, tol.atol * factor};
}

// The gradient of a tensor of a layout has that layout, and elements at most where the tensor has
// some: what it does not hold is not a variable, whatever torch computes for it.
std::string compare_gradient(const Tensor& leaf, const Tensor& grad, Values truth,
                             const std::string& part, Tolerance tol) {
  Values ours = values_of(*grad.unsafeGetTensorImpl());
  if (!part.empty() && ours.sizes == truth.sizes) {
    take_part(ours, part);
    take_part(truth, part);
  }
  if (leaf.layout() == kStrided || ours.sizes != truth.sizes)
    return compare_values(ours, truth, tol);
  if (grad.layout() != leaf.layout()) return core::join("layout ", toString(grad.layout()));
  const Tensor parts = leaf.detach();
  const Tensor ones =
      call("_with_values", {parts, ones_like(parts.component("values"))})[0].to_dense();
  const Values present = values_of(*ones.unsafeGetTensorImpl());
  for (std::size_t i = 0; i < truth.real.size(); ++i) {
    if (present.real[i] != 0) continue;
    if (ours.real[i] != 0) return core::join("an element at ", i, ", where the tensor has none");
    ours.real[i] = truth.real[i];
  }
  return compare_values(ours, truth, tol);
}

}  // namespace

void require_gradients(const json& c, const Arguments& args) {
  for (auto& [name, unused] : c.at("grads").items()) {
    core::Impl t = args.tensor(name);
    TENON_CHECK(t, ValueError, "case: a gradient of '", name, "', which is not a tensor");
    if (!isFloatingType(t->dtype) && !isComplexType(t->dtype)) continue;  // expected to get none
    Tensor(t).requires_grad_(true);
  }
}

std::string judge_gradients(const CaseFile& file, const json& c, const Arguments& args,
                            const std::vector<Result>& given, core::DeviceId place) {
  const std::vector<Result> results = in_order(file, c, given);
  std::vector<Tensor> outputs, cotangents;
  Values longest;
  for (auto& [index, ref] : c.at("cotangents").items()) {
    const Result& r = results.at(std::stoul(index));
    if (!r.tensor) return "output " + index + ": no tensor to start backward from";
    Tensor out(r.tensor);
    if (!out.requires_grad()) continue;
    outputs.push_back(out.to_dense());
    const std::string through =
        c.contains("through") ? c.at("through").value(index, std::string()) : std::string();
    if (through == "abs") outputs.back() = abs(outputs.back());
    cotangents.push_back(Tensor(file.tensor_as(ref, outputs.back().scalar_type(), place)));
    Values v = file.values(ref);
    if (v.real.size() > longest.real.size()) longest = std::move(v);
  }
  if (!outputs.empty()) autograd::backward(outputs, cotangents);
  for (auto& [name, ref] : c.at("grads").items()) {
    Tensor leaf(args.tensor(name));
    const Tensor& grad = leaf.grad();
    if (ref.is_null()) {
      if (grad.defined()) return "gradient of " + name + ": defined, but none is expected";
      continue;
    }
    if (!grad.defined()) return "gradient of " + name + ": none";
    if (grad.scalar_type() != leaf.scalar_type()) {
      return "gradient of " + name + ": dtype " + std::string(dtype_name(grad.scalar_type()));
    }
    Values truth = file.values(ref);
    const std::string part =
        c.contains("grad_part") ? c.at("grad_part").value(name, std::string()) : std::string();
    Tolerance tol = c.contains("grad_tol")
                        ? tolerance_of(c.at("grad_tol"))
                        : widen_tolerance(tolerance(c), leaf.scalar_type(), longest, truth);
    std::string difference = compare_gradient(leaf, grad, truth, part, tol);
    if (!difference.empty()) return "gradient of " + name + ": " + difference;
  }
  return {};
}

core::Impl recorded_copy(const core::Impl& leaf) { return Tensor(leaf).clone().getIntrusivePtr(); }

}  // namespace tenon::oracle
