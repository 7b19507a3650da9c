// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "cell.h"

#include <algorithm>
#include <cmath>

#include "sentinel.h"
#include "tenon/core/dispatch.h"
#include "tenon/core/error.h"
#include "tenon/core/threads.h"

namespace tenon::check {
namespace {

using Results = std::vector<oracle::Result>;

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
  double most = dtype == kHalf ? 65520 : dtype == kFloat || dtype == kBFloat16 ? 3.4028236e38 : INFINITY;
  for (double& v : truth.real) {
    if (std::fabs(v) >= most) v = std::copysign(INFINITY, v);
  }
}

bool says_little(const Results& results) {
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
Spec widened(const Cell& cell) {
  Spec wide = cell.spec;
  for (SpecArg& a : wide.args) {
    for (auto& t : a.tensors) {
      if (!t) continue;
      bool main = t->dtype == cell.spec.main;
      core::Impl rounded = make_tensor(*t, cell.spec, main ? cell.dtype : t->dtype, cell.memory, Place{});
      *t = oracle::values_of(*rounded);
      if (main && isFloatingType(cell.dtype)) t->dtype = kDouble;
    }
  }
  wide.main = isFloatingType(cell.dtype) ? kDouble : cell.dtype;
  return wide;
}

// `sensitivity`: how far each output may be off besides, because of the rounding of the inputs.
std::string compare(const Cell& cell, const tn_value* in, const Results& ours, const Results& truth,
                    const std::vector<double>& sensitivity = {}) {
  if (ours.size() != truth.size()) return core::join(ours.size(), " results instead of ", truth.size());
  oracle::EqualValueRule rule(cell.op, in);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!ours[i].tensor || !truth[i].tensor) {
      bool same = !ours[i].tensor == !truth[i].tensor && ours[i].plain.u.i64 == truth[i].plain.u.i64;
      if (!same) return core::join("output ", i, ": another plain value");
      continue;
    }
    Values mine = oracle::values_of(*ours[i].tensor), theirs = oracle::values_of(*truth[i].tensor);
    saturate(theirs, ours[i].tensor->dtype);
    oracle::Tolerance allowed = tolerance(ours[i].tensor->dtype, theirs);
    // At most ten times: a jump, as that of floor, is no matter of rounding.
    if (i < sensitivity.size()) allowed.atol += std::min(sensitivity[i], 9 * allowed.atol);
    std::string difference =
        rule.covers(static_cast<int>(i)) ? rule.compare(mine, theirs) : oracle::compare_values(mine, theirs, allowed);
    if (!difference.empty()) return core::join("output ", i, ": ", difference);
  }
  return {};
}

std::vector<std::vector<char>> bits(const Results& results) {
  std::vector<std::vector<char>> out;
  for (const oracle::Result& r : results) {
    if (!r.tensor) continue;
    Values v = oracle::values_of(*r.tensor);
    const char* p = reinterpret_cast<const char*>(v.real.data());
    out.emplace_back(p, p + v.real.size() * sizeof(double));
    const char* q = reinterpret_cast<const char*>(v.exact.data());
    out.emplace_back(q, q + v.exact.size() * sizeof(int64_t));
  }
  return out;
}

bool has_values(const core::Op& op) {
  std::string_view n = op.name;
  return n.substr(0, 5) != "empty" && n.substr(0, 9) != "new_empty" && !(op.flags & core::kOpRandom);
}

Results reference_results(const Cell& cell, const Spec& wide, Place where) {
  Built inputs(wide, wide.main, Memory::Contiguous, where);
  Results truth = call_row(cell.op, inputs.values());
  for (oracle::Result& r : truth) {
    if (!r.tensor || r.tensor->slot == 0) continue;
    core::Impl host = core::new_tensor("check", r.tensor->dtype, 0, 0, r.tensor->ndim(), r.tensor->view.sizes);
    core::copy(*host, *r.tensor);
    r.tensor = host;
  }
  return truth;
}

// The largest change of each output when the inputs change by a unit of the cell's dtype, up and down in turn.
std::vector<double> sensitivity(const Cell& cell, const Spec& wide, Place where, const Results& truth) {
  const double unit = cell.dtype == kDouble  ? 2.3e-16
                      : cell.dtype == kFloat ? 1.2e-7
                      : cell.dtype == kHalf  ? 1e-3
                                             : 8e-3;
  Spec moved = wide;
  for (SpecArg& a : moved.args) {
    for (auto& t : a.tensors) {
      if (!t || t->dtype != kDouble) continue;
      for (std::size_t i = 0; i < t->real.size(); ++i) t->real[i] *= 1 + (i % 2 ? unit : -unit);
    }
  }
  Results other = reference_results(cell, moved, where);
  std::vector<double> out;
  for (std::size_t k = 0; k < truth.size() && k < other.size(); ++k) {
    double most = 0;
    if (truth[k].tensor && other[k].tensor) {
      Values a = oracle::values_of(*truth[k].tensor), b = oracle::values_of(*other[k].tensor);
      for (std::size_t i = 0; i < std::min(a.real.size(), b.real.size()); ++i) {
        const double d = std::fabs(a.real[i] - b.real[i]);
        if (std::isfinite(d)) most = std::max(most, d);
      }
    }
    out.push_back(4 * most);
  }
  return out;
}

std::string against_reference(const Cell& cell, const Results& ours, const tn_value* in, Place reference,
                              std::string* not_run) {
  Spec wide = widened(cell);
  Place where = reference_serves(cell.op, wide.main, reference) ? reference : Place{};
  Results truth;
  try {
    truth = reference_results(cell, wide, where);
  } catch (const Error& e) {
    *not_run = core::join("the reference refuses: ", e.what());
    return {};
  }
  if (says_little(truth)) *not_run = "the expected values are zeros or NaN";
  std::string wrong = compare(cell, in, ours, truth);
  if (wrong.empty() || !isFloatingType(cell.dtype)) return wrong;
  return compare(cell, in, ours, truth, sensitivity(cell, wide, where, truth));
}

std::string repeated(const Cell& cell, Built& inputs, const Results& first) {
  auto expected = bits(first);
  for (int threads : {1, 2}) {
    core::set_num_threads(threads);
    if (bits(call_row(cell.op, inputs.values())) != expected) {
      return core::join("other bits in a second run, with ", threads, threads == 1 ? " thread" : " threads");
    }
  }
  return {};
}

}  // namespace

std::vector<oracle::Result> call_row(const core::Op& op, const tn_value* in) {
  std::vector<core::OwnedValue> values(op.n_results);
  op.row_call.load()(in, values.data());
  return oracle::flatten(values.data(), op.n_results);
}

bool reference_serves(const core::Op& op, ScalarType dtype, Place reference) {
  if (reference.slot == 0) return false;
  if (op.kind != core::OpKind::Kernel) return true;
  for (const core::Rung& r : core::explain(op, reference.slot, dtype)) {
    if (r.serves) return r.rung != "staged";
  }
  return false;
}

bool addresses_storage(const core::Op& op) {
  return std::any_of(op.args, op.args + op.n_args,
                     [](const core::ArgInfo& a) { return std::string_view(a.name) == "storage_offset"; });
}

Outcome run_cell(const Cell& cell, Place reference) {
  if (cell.memory != Memory::Contiguous && addresses_storage(cell.op)) return {Verdict::NotRun, kAddressesStorage};
  Built inputs(cell.spec, cell.dtype, cell.memory, cell.place);
  auto before = inputs.bytes();
  Results ours;
  try {
    ours = call_row(cell.op, inputs.values());
  } catch (const NotImplementedError& e) {
    return {Verdict::NotRun, e.what()};
  } catch (const Error& e) {
    bool valid = cell.spec.keep && cell.dtype == cell.spec.main;  // a generated shape may be refused with reason
    if (valid && cell.memory == Memory::Contiguous) return {Verdict::Failed, e.what()};
    return {Verdict::NotRun, e.what()};  // other values may be outside of the op's domain
  }
  if (inputs.bytes() != before) {
    for (int i = 0; i < cell.op.n_args; ++i) {
      if (cell.op.args[i].mutates) return {Verdict::NotRun, "writes to its arguments"};
    }
    return {Verdict::Failed, "an input was changed"};
  }
  std::string wrong, not_run;
  if (has_values(cell.op)) {
    wrong = against_reference(cell, ours, inputs.values(), reference, &not_run);
    if (wrong.empty()) wrong = repeated(cell, inputs, ours);
  } else {
    not_run = "no values to compare";
  }
  if (wrong.empty() && cell.op.row_call_out.load() && has_values(cell.op)) wrong = out_stays_inside(cell, ours);
  if (!wrong.empty()) return {Verdict::Failed, wrong};
  return {not_run.empty() ? Verdict::Passed : Verdict::NotRun, not_run};
}

}  // namespace tenon::check
