// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string_view>

#include "cell.h"
#include "reference.h"
#include "tenon/autograd/forward_ad.h"
#include "tenon/gradcheck.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::check {
namespace {

using Tensors = std::vector<Tensor>;
using Function = autograd::GradcheckFunction;

// Element by element up to here, as the cost grows with the product; along one direction beyond.
constexpr int64_t kMaxPairs = 400;

bool takes_tensor(const core::Op& op, int i) {
  return op.args[i].type == core::ArgType::Tensor || op.args[i].type == core::ArgType::OptTensor;
}

// The operator as a function of the arguments that gradients are asked of.
Function make_function(const core::Op& op, Built& inputs, const std::vector<int>& positions) {
  return [&op, &inputs, &positions](const Tensors& given) {
    std::vector<tn_value> values(inputs.values(), inputs.values() + op.n_args);
    for (std::size_t k = 0; k < positions.size(); ++k) {
      values[static_cast<std::size_t>(positions[k])].u.tensor =
          &given[k].unsafeGetTensorImpl()->view;
    }
    // The other results of such operators are for their own backward and not differentiated.
    const std::string_view name = op.name;
    const bool first_only = name.substr(0, 7) == "native_" || name == "_batch_norm_train";
    Tensors out;
    for (const oracle::Result& r : call_operator(op, values.data())) {
      if (r.tensor && !(first_only && !out.empty())) out.push_back(Tensor(r.tensor));
    }
    return out;
  };
}

// Moves values away from the corners of functions, and makes them distinct.
Spec make_smooth(const Spec& spec) {
  Spec out = spec;
  std::size_t n = 0;
  each_values(out, [&](const SpecArg& a, Values& v) {
    if (a.fixed || !isFloatingType(v.dtype)) return;
    v.dtype = kDouble;
    if (a.constant) return;
    for (double& x : v.real) {
      const double f = std::fmod(static_cast<double>(++n) * 0.6180339887498949, 1.0);
      if (!std::isfinite(x) || std::fabs(x) > 50) x = 0.3;
      x += 0.01 * f;
      if (std::fabs(x * 2 - std::round(x * 2)) < 0.05) x += std::copysign(0.05 + 0.1 * f, x);
    }
  });
  out.main = kDouble;
  return out;
}

// Why the argument has no gradient to compare although the operator is differentiable; empty if it
// has one.
bool is_left_out(const core::Op& op, const Spec& spec, int i) {
  const std::string_view name = op.args[i].name;
  for (int k = 0; k < op.n_args; ++k) {
    const std::string_view other = op.args[k].name;
    const tn_value& v = spec.args[static_cast<std::size_t>(k)].plain;
    // Of several values written to one position an unspecified one stays.
    if (other == "accumulate" && !v.u.i64 && name == "values") return true;
    // Its gradient is scaled or omitted on purpose.
    if (other == "scale_grad_by_freq" && v.u.i64) return true;
    if (other == "padding_idx" && v.u.i64 >= 0) return true;
  }
  return op.args[i].mutates || spec.args[static_cast<std::size_t>(i)].constant;
}

// Differences of shorter results are noise.
bool has_tracked(const Tensors& outputs) {
  return std::any_of(outputs.begin(), outputs.end(), [](const Tensor& t) {
    return t.defined() && t.requires_grad() && t.scalar_type() == kDouble;
  });
}

std::vector<int> list_differentiable(const core::Op& op, const Spec& spec, Built& inputs) {
  std::vector<int> out;
  for (int i = 0; i < op.n_args; ++i) {
    core::Impl t = takes_tensor(op, i) ? inputs.tensor(i) : core::Impl();
    if (!t || t->dtype != kDouble || t->numel == 0 || is_left_out(op, spec, i)) continue;
    std::vector<int> one = {i};
    Tensor leaf = Tensor(t).detach().requires_grad_(true);
    if (has_tracked(make_function(op, inputs, one)({leaf}))) out.push_back(i);
  }
  return out;
}

// Fixed values in (-1, 1).
Tensor make_direction(const Tensor& like, uint32_t& state) {
  Tensor t = empty(like.sizes(), TensorOptions().dtype(kDouble));
  double* p = t.data_ptr<double>();
  for (int64_t i = 0; i < t.numel(); ++i) {
    state = state * 1664525u + 1013904223u;
    p[i] = static_cast<double>(state >> 8) / (1 << 23) - 1;
  }
  return t;
}

double inner_product(const Tensors& a, const Tensors& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i].defined() && b[i].defined()) sum += (a[i].detach() * b[i]).sum().item<double>();
  }
  return sum;
}

Tensors select_tracked(const Tensors& outputs) {
  Tensors out;
  for (const Tensor& t : outputs) {
    if (t.defined() && t.requires_grad()) out.push_back(t);
  }
  return out;
}

// Directions for tensors like these, the same for the same ones.
Tensors make_directions(const Tensors& like, uint32_t seed) {
  Tensors out;
  for (const Tensor& t : like) out.push_back(make_direction(t, seed));
  return out;
}

Tensors compute_gradient(const Function& f, const Tensors& leaves, bool create_graph) {
  Tensors outputs = select_tracked(f(leaves));
  Tensors out =
      autograd::grad(outputs, leaves, make_directions(outputs, 1), true, create_graph, true);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined()) out[i] = zeros_like(leaves[i]);
  }
  return out;
}

// The slope of <seeds, f> along one direction, by the formula and by differences.
std::string compare_slope(uint32_t way, const Function& f, const Tensors& leaves) {
  constexpr double kStep = 1e-6;
  Tensors moves = make_directions(leaves, way), outputs = select_tracked(f(leaves)),
          seeds = make_directions(outputs, 1);
  if (outputs.empty()) return {};
  Tensors grads = autograd::grad(outputs, leaves, seeds, true, false, true);
  double analytic = inner_product(grads, moves);
  auto value = [&](double step) {
    Tensors at;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      at.push_back((leaves[i].detach() + moves[i] * step).requires_grad_(true));
    }
    return inner_product(select_tracked(f(at)), seeds);
  };
  double numeric = (value(kStep) - value(-kStep)) / (2 * kStep);
  if (std::fabs(analytic - numeric) <= 1e-4 + 1e-3 * std::fabs(numeric)) return {};
  return core::join("along one direction the gradient is ", analytic, ", the difference quotient ",
                    numeric);
}

// One of many elements may be near a jump, which the next direction may miss; a wrong formula fails
// in all.
std::string compare_slopes(const Function& f, const Tensors& leaves) {
  std::string wrong;
  for (uint32_t way : {77u, 1234u, 98765u}) {
    wrong = compare_slope(way, f, leaves);
    if (wrong.empty()) break;
  }
  return wrong;
}

bool is_finite(const Tensors& tensors) {
  for (const Tensor& t : tensors) {
    if (!t.defined()) continue;
    for (double v : oracle::values_of(*t.unsafeGetTensorImpl()).real) {
      if (!std::isfinite(v)) return false;
    }
  }
  return true;
}

int64_t count_elements(const Tensors& tensors) {
  int64_t n = 0;
  for (const Tensor& t : tensors) n += t.defined() ? t.numel() : 0;
  return n;
}

// <J v, u> of dual tensors against <v, J^T u> of the gradient, which difference quotients judged.
std::string compare_tangents(const Function& f, const Tensors& leaves) {
  const Tensors moves = make_directions(leaves, 77);
  const Tensors outputs = select_tracked(f(leaves)), seeds = make_directions(outputs, 1);
  const double wanted =
      inner_product(autograd::grad(outputs, leaves, seeds, true, false, true), moves);
  const autograd::forward_ad::DualLevelGuard level;
  Tensors duals, tangents;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    duals.push_back(autograd::forward_ad::make_dual(leaves[i].detach(), moves[i]));
  for (const Tensor& t : select_tracked(f(duals)))
    tangents.push_back(autograd::forward_ad::unpack_dual(t).tangent);
  const double got = inner_product(tangents, seeds);
  if (std::fabs(got - wanted) <= 1e-7 + 1e-7 * std::fabs(wanted)) return {};
  return core::join("the tangents say ", got, ", the gradient ", wanted);
}

template <class F>
void judge(Findings& out, Property property, F&& check) {
  try {
    out.judge(property, check());
  } catch (const NotImplementedError& e) {
    out.not_run(property, e.what());
  } catch (const std::exception& e) {
    out.failed(property, e.what());
  }
}

// The operator's in-place form on a copy of self as such a function, the copy being a part of a
// larger tensor or not.
Function make_inplace(const core::Op& op, Built& inputs, const std::vector<int>& positions,
                      bool through_view) {
  return [&op, &inputs, &positions, through_view](const Tensors& given) {
    std::vector<tn_value> values(inputs.values(), inputs.values() + op.n_args);
    Tensor self(inputs.tensor(0));
    for (std::size_t k = 0; k < positions.size(); ++k) {
      if (positions[k] == 0) self = given[k];
      values[static_cast<std::size_t>(positions[k])].u.tensor =
          &given[k].unsafeGetTensorImpl()->view;
    }
    const Tensor whole = through_view ? stack({self, self}) : self.clone();
    const Tensor written = through_view ? whole.select(0, 1) : whole;
    values[0].u.tensor = &written.unsafeGetTensorImpl()->view;
    std::vector<core::OwnedValue> out(op.n_results);
    op.boxed_inplace.load()(values.data(), out.data());
    return Tensors{through_view ? whole.select(0, 1) : whole};
  };
}

// The gradient by each leaf, and the gradient of those, along fixed directions.
Tensors compute_gradients(const Function& f, const Tensors& leaves) {
  Tensors first = compute_gradient(f, leaves, true), out;
  for (const Tensor& t : first) out.push_back(t.detach());
  const Tensors again = select_tracked(first);
  Tensors second(leaves.size());
  if (!again.empty())
    second = autograd::grad(again, leaves, make_directions(again, 3), false, false, true);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    out.push_back(second[i].defined() ? second[i] : zeros_like(leaves[i]));
  }
  return out;
}

std::string compare_inplace(const core::Op& op, Built& inputs, const std::vector<int>& positions,
                            const Function& f, const Tensors& leaves) {
  const Tensors wanted = compute_gradients(f, leaves);
  for (bool through_view : {false, true}) {
    const Tensors got =
        compute_gradients(make_inplace(op, inputs, positions, through_view), leaves);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      if (allclose(got[k], wanted[k], 1e-9, 1e-12, true)) continue;
      return core::join(through_view ? "through a view, " : "",
                        k < leaves.size() ? "the gradient" : "its gradient", " by argument ",
                        op.args[positions[k % leaves.size()]].name, " is not that of the function");
    }
  }
  return {};
}

// If the operator has an in-place form and the result fits into self.
void check_inplace(const core::Op& op, Built& inputs, const std::vector<int>& positions,
                   const Function& f, const Tensors& leaves, const Tensors& outputs,
                   Findings& out) {
  if (!op.boxed_inplace.load() || op.n_results != 1 || outputs.size() != 1 || !takes_tensor(op, 0))
    return;
  const core::Impl self = inputs.tensor(0);
  if (!self || self->dtype != kDouble || self->sizes() != outputs[0].sizes()) return;
  judge(out, Property::InPlaceGrad,
        [&] { return compare_inplace(op, inputs, positions, f, leaves); });
}

std::string compare_first(const Function& f, const Tensors& leaves, int64_t in, int64_t results) {
  if (in * results > kMaxPairs) return compare_slopes(f, leaves);
  autograd::gradcheck(f, leaves);
  return {};
}

std::string compare_second(const Function& f, const Tensors& leaves, int64_t in, int64_t results) {
  if ((in + results) * in <= kMaxPairs) {
    autograd::gradgradcheck(f, leaves);
    return {};
  }
  const Function first = [&](const Tensors& at) { return compute_gradient(f, at, true); };
  return compare_slopes(first, leaves);
}

void check_function(const Function& f, const Tensors& leaves, const Tensors& outputs,
                    Findings& out) {
  const int64_t in = count_elements(leaves), results = count_elements(outputs);
  judge(out, Property::Gradcheck, [&] { return compare_first(f, leaves, in, results); });
  if (out.all().back().verdict != Verdict::Passed) return;
  judge(out, Property::Tangent, [&] { return compare_tangents(f, leaves); });
  judge(out, Property::Gradgradcheck, [&] { return compare_second(f, leaves, in, results); });
}

// The operator on complex numbers, as a function of their parts [..., 2]; `constants` are the
// arguments without a gradient.
Function make_complex(const core::Op& op, Built& inputs, const std::vector<int>& positions,
                      const std::vector<std::pair<int, Tensor>>& constants) {
  const Function f = make_function(op, inputs, positions);
  for (const auto& [i, number] : constants)
    inputs.values()[i].u.tensor = &number.unsafeGetTensorImpl()->view;
  return [f](const Tensors& parts) {
    Tensors numbers, out;
    for (const Tensor& t : parts) numbers.push_back(view_as_complex(t));
    for (const Tensor& t : f(numbers))
      out.push_back(t.defined() && isComplexType(t.scalar_type()) ? view_as_real(t) : t);
    return out;
  };
}

// First and second derivatives and tangents where every floating argument is complex.
void check_complex(const core::Op& op, const Spec& spec, const std::vector<int>& positions,
                   Findings& out) {
  if (!core::parse_dtype_mask(op.dtypes).has(kComplexDouble)) return;
  Built inputs(spec, kDouble, Memory::Contiguous, core::kHost);
  Tensors leaves;
  std::vector<std::pair<int, Tensor>> constants;
  uint32_t seed = 5;
  for (int i = 0; i < op.n_args; ++i) {
    const core::Impl t = takes_tensor(op, i) ? inputs.tensor(i) : core::Impl();
    if (!t || t->dtype != kDouble) continue;
    const Tensor real(t), parts = stack({real, make_direction(real, seed)}, -1);
    if (std::find(positions.begin(), positions.end(), i) != positions.end())
      leaves.push_back(parts.requires_grad_(true));
    else
      constants.emplace_back(i, view_as_complex(parts));
  }
  const Function f = make_complex(op, inputs, positions, constants);
  Tensors outputs;
  try {
    outputs = select_tracked(f(leaves));
  } catch (const Error& e) {
    return out.not_run(Property::ComplexGrad, e.what());  // one of the arguments has to be real
  }
  if (outputs.empty()) return;
  if (!is_finite(outputs))
    return out.not_run(Property::ComplexGrad, "outside of the function's domain");
  judge(out, Property::ComplexGrad, [&]() -> std::string {
    const int64_t in = count_elements(leaves), results = count_elements(outputs);
    std::string wrong = compare_first(f, leaves, in, results);
    if (wrong.empty()) wrong = compare_tangents(f, leaves);
    return wrong.empty() ? compare_second(f, leaves, in, results) : wrong;
  });
}

}  // namespace

Findings run_gradients(const core::Op& op, const Spec& given, Memory memory) {
  Findings out;
  const Spec start = make_smooth(given);
  std::string why;
  for (int set : {0, 1, 2}) {  // until one lies inside of the function's domain
    Spec spec = with_values(start, set);
    try {
      Built inputs(spec, kDouble, memory, core::kHost);
      const std::vector<int> positions = list_differentiable(op, spec, inputs);
      if (positions.empty()) return out;
      Tensors leaves;
      for (int i : positions) leaves.push_back(Tensor(inputs.tensor(i)).requires_grad_(true));
      Function f = make_function(op, inputs, positions);
      Tensors outputs = f(leaves);
      why = "outside of the function's domain";
      if (!is_finite(outputs)) continue;
      check_function(f, leaves, outputs, out);
      check_inplace(op, inputs, positions, f, leaves, outputs, out);
      if (memory == Memory::Contiguous) check_complex(op, spec, positions, out);
      return out;
    } catch (const NotImplementedError& e) {
      return out;  // the operator does not take float64
    } catch (const Error& e) {
      why = e.what();
    }
  }
  if (!why.empty()) out.not_run(Property::Gradcheck, why);
  return out;
}

}  // namespace tenon::check
