// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"

namespace tenon::check {
namespace {

oracle::Tolerance tolerance(ScalarType dtype, const Values& truth) {
  double r = dtype == kDouble ? 1e-10 : dtype == kFloat ? 5e-5 : dtype == kHalf ? 1e-2 : 5e-2;
  double scale = 0;
  for (double v : truth.real) {
    if (std::isfinite(v)) scale = std::max(scale, std::fabs(v));
  }
  // Functions with a zero between large values, like sin(pi x), leave two units of 1 there.
  return {r, r * std::min(scale, 1.0) + (dtype == kDouble ? 1e-13 : 2.4e-7)};
}

// A value beyond what a short float holds is its infinity.
void saturate(Values& truth, ScalarType dtype) {
  double max = dtype == kHalf                          ? 65520
               : dtype == kFloat || dtype == kBFloat16 ? 3.4028236e38
                                                       : INFINITY;
  for (double& v : truth.real) {
    if (std::fabs(v) >= max) v = std::copysign(INFINITY, v);
  }
}

bool is_trivial(const Results& results) {
  std::size_t all = 0, dull = 0;
  for (const oracle::Result& r : results) {
    if (!r.tensor) continue;
    Values v = oracle::values_of(*r.tensor);
    all += v.real.size();
    for (double x : v.real) dull += x == 0 || std::isnan(x);
  }
  return all > 4 && dull * 10 > all * 9;
}

// As the reference sees the inputs: rounded to the cell's dtype, then float64.
Spec widen_spec(const Cell& cell, const Spec& spec) {
  Spec wide = spec;
  // The bits of an element mean something else in float64.
  const bool wider = isFloatingType(cell.dtype) && std::string_view(cell.op.name) != "view.dtype";
  each_values(wide, [&](const SpecArg& a, Values& v) {
    bool main = a.follows(v, spec.main);
    v = oracle::values_of(
        *make_tensor(v, spec, main ? cell.dtype : v.dtype, cell.memory, core::kHost));
    if (main && wider) v.dtype = kDouble;
  });
  wide.main = wider ? kDouble : cell.dtype;
  return wide;
}

DeviceId reference_place(const core::Op& op, ScalarType dtype, DeviceId reference) {
  if (reference.is_host() || op.kind != core::OpKind::Kernel) return reference;
  for (const core::Candidate& c : core::explain(op, reference.slot, dtype)) {
    if (c.serves) return c.by != core::ServedBy::Staged ? reference : core::kHost;
  }
  return core::kHost;
}

Results results_on(const Cell& cell, const Spec& wide, DeviceId place, Memory memory) {
  Built inputs(wide, wide.main, memory, place);
  Results truth = call_and_collect(cell.op, inputs);
  for (oracle::Result& r : truth) {
    if (!r.tensor || r.tensor->device_id.is_host()) continue;
    core::Impl host = core::new_tensor("check", r.tensor->dtype, core::kHost, r.tensor->ndim(),
                                       r.tensor->view.sizes);
    core::copy(*host, *r.tensor);
    r.tensor = host;
  }
  return truth;
}

// The largest change of each output when the inputs change by a unit of the cell's dtype, up and
// down in turn.
std::vector<double> sensitivity(const Cell& cell, const Truth& truth, DeviceId place,
                                Memory memory) {
  const double unit = cell.dtype == kDouble  ? 2.3e-16
                      : cell.dtype == kFloat ? 1.2e-7
                      : cell.dtype == kHalf  ? 1e-3
                                             : 8e-3;
  Spec moved = truth.wide;
  each_values(moved, [&](const SpecArg&, Values& v) {
    for (std::size_t i = 0; v.dtype == kDouble && i < v.real.size(); ++i)
      v.real[i] *= 1 + (i % 2 ? unit : -unit);
  });
  Results other = results_on(cell, moved, place, memory);
  std::vector<double> out;
  for (std::size_t k = 0; k < truth.results.size() && k < other.size(); ++k) {
    double max = 0;
    if (truth.results[k].tensor && other[k].tensor) {
      Values a = oracle::values_of(*truth.results[k].tensor),
             b = oracle::values_of(*other[k].tensor);
      for (std::size_t i = 0; i < std::min(a.real.size(), b.real.size()); ++i) {
        const double d = std::fabs(a.real[i] - b.real[i]);
        if (std::isfinite(d)) max = std::max(max, d);
      }
    }
    out.push_back(4 * max);
  }
  return out;
}

// `allowance`: the further error of each output that the rounding of the inputs may cause.
std::string difference(const Cell& cell, const tn_value* in, const Results& ours,
                       const Results& truth, const std::vector<double>& allowance) {
  if (ours.size() != truth.size())
    return core::join(ours.size(), " results instead of ", truth.size());
  oracle::EqualValueRule rule(cell.op, in);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!ours[i].tensor || !truth[i].tensor) {
      bool same =
          !ours[i].tensor == !truth[i].tensor && ours[i].plain.u.i64 == truth[i].plain.u.i64;
      if (!same) return core::join("output ", i, ": another plain value");
      continue;
    }
    Values mine = oracle::values_of(*ours[i].tensor), theirs = oracle::values_of(*truth[i].tensor);
    saturate(theirs, ours[i].tensor->dtype);
    oracle::Tolerance allowed = tolerance(ours[i].tensor->dtype, theirs);
    // At most twenty times: a jump, as that of floor, is not due to rounding.
    if (i < allowance.size()) allowed.atol += std::min(allowance[i], 19 * allowed.atol);
    std::string wrong = rule.covers(static_cast<int>(i))
                            ? rule.compare(mine, theirs)
                            : oracle::compare_values(mine, theirs, allowed);
    if (!wrong.empty()) return core::join("output ", i, ": ", wrong);
  }
  return {};
}

// A number in [0, 1) for each element, the same in every run.
double fraction(std::size_t i) {
  return std::fmod(static_cast<double>(i + 1) * 0.6180339887498949, 1.0);
}

double in_set(int set, double v, std::size_t i) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kSpecial[] = {kInf, -kInf, std::numeric_limits<double>::quiet_NaN(), 1};
  const double f = fraction(i);
  switch (set) {
    case 1:
      return 0.05 + 0.9 * f;
    case 2:
      return 1.1 + 2 * f;
    case 3:
      return f < 0.5 ? 0.25 : 1;
    case 4:
      return kSpecial[i % 4];
    case 5:
      return f < 0.8 ? 0 : 1;
    default:
      return v;
  }
}

}  // namespace

bool has_bits(const core::Op& op) {
  const std::string_view n = op.name;
  return n.substr(0, 5) != "empty" && n.substr(0, 9) != "new_empty";
}

bool has_values(const core::Op& op) {
  const std::string_view n = op.name, family = op.family;
  if (!has_bits(op)) return false;
  for (const char* slope :
       {"native_dropout_backward", "_standard_gamma_grad", "dirichlet_grad", "_dirichlet_grad"}) {
    if (n == slope) return true;
  }
  return family != "random" && family != "draw";
}

Spec with_values(const Spec& spec, int set) {
  Spec out = spec;
  std::size_t seed = 0;
  each_values(out, [&](const SpecArg& a, Values& v) {
    if (!a.follows(v, spec.main) || a.constant || set == 0) return;
    for (std::size_t i = 0; i < v.real.size(); ++i) v.real[i] = in_set(set, v.real[i], i + seed);
    if (set != 3) seed += v.real.size();  // set 3: equal elements in all arguments
    if (isFloatingType(v.dtype)) return;
    for (std::size_t i = 0; i < v.real.size(); ++i) {
      if (!std::isfinite(v.real[i])) v.real[i] = 0;
      v.exact[i] = static_cast<int64_t>(std::round(4 * v.real[i]));
      if (v.dtype == kBool) v.exact[i] = v.exact[i] > 0;
      v.real[i] = static_cast<double>(v.exact[i]);
    }
  });
  return out;
}

Truth find_truth(const Cell& cell, DeviceId reference) {
  Truth first;
  for (int set = 0; set < (cell.spec.ordered ? 1 : kValueSets); ++set) {
    Truth t;
    t.spec = with_values(cell.spec, set);
    t.wide = widen_spec(cell, t.spec);
    Memory memory = addresses_storage(cell.op) ? cell.memory : Memory::Contiguous;
    try {
      t.results =
          results_on(cell, t.wide, reference_place(cell.op, t.wide.main, reference), memory);
      t.dull = has_values(cell.op) && is_trivial(t.results);
      if (!t.dull) return t;
    } catch (const Error& e) {
      t.refusal = e.what();
      t.refusal_code = e.code();
    }
    if (set == 0) first = std::move(t);
  }
  return first;
}

tn_status refusal_in_layout(const Cell& cell, const Truth& truth, DeviceId reference) {
  try {
    results_on(cell, truth.wide, reference_place(cell.op, truth.wide.main, reference), cell.memory);
  } catch (const Error& e) {
    return e.code();
  }
  return TN_OK;
}

std::string close_values(const Values& ours, const Values& truth) {
  return oracle::compare_values(ours, truth, tolerance(ours.dtype, truth));
}

std::string compare(const Cell& cell, const tn_value* in, const Results& ours, const Truth& truth,
                    DeviceId reference) {
  std::string wrong = difference(cell, in, ours, truth.results, {});
  if (wrong.empty() || !isFloatingType(cell.dtype)) return wrong;
  Memory memory = addresses_storage(cell.op) ? cell.memory : Memory::Contiguous;
  DeviceId place = reference_place(cell.op, truth.wide.main, reference);
  return difference(cell, in, ours, truth.results, sensitivity(cell, truth, place, memory));
}

}  // namespace tenon::check
