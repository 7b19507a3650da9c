// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Against tests/ref, which computes in long double from the same elements, widened to float64.
#include <cmath>

#include "compare.h"
#include "known.h"
#include "tenon/core/dispatch.h"
#include "tools/check/operator_check.h"
#include "tools/check/reference.h"
#include "ways.h"
#include "wild.h"

namespace tenon::fuzz {
namespace {

bool is_served(const core::Op& op, ScalarType dtype, core::DeviceSlot slot) {
  if (op.kind != core::OpKind::Kernel) return op.kind == core::OpKind::Composite;
  for (const core::Candidate& c : core::explain(op, slot, dtype)) {
    if (c.serves) return c.by != core::ServedBy::Staged;
  }
  return false;
}

Impl copy_to(core::TensorImpl& t, ScalarType dtype, core::DeviceId to) {
  Impl wide = core::new_tensor("fuzz", dtype, core::kHost, t.ndim(), t.view.sizes);
  core::copy(*wide, t);
  if (to.is_host()) return wide;
  Impl remote = core::new_tensor("fuzz", dtype, to, t.ndim(), t.view.sizes);
  core::copy(*remote, *wide);
  return remote;
}

// By so many units in the last place of the dtype; one of float64 at least.
double moved(double x, double units, ScalarType dtype) {
  const double y = x + units * (std::fabs(x) * unit(dtype) + smallest(dtype) / 2);
  return x != y ? y : std::nextafter(x, units > 0 ? HUGE_VAL : -HUGE_VAL);
}

// Sums of such elements cancel, and products and powers of them overflow on the way, in the dtype
// alone: the reference in double says nothing of them.
bool has_large(const Call& call) {
  const double max = core::item_size(call.dtype()) <= 2 ? 16 : 1e3;
  for (const Impl& t : call.tensors()) {
    for (double v : oracle::values_of(*t).real) {
      if (std::isfinite(v) && std::fabs(v) > max) return true;
    }
  }
  return false;
}

}  // namespace

Answer call_widened(const Call& call, core::DeviceId place, double units, unsigned signs) {
  const ScalarType wide = isFloatingType(call.dtype()) ? kDouble : call.dtype();
  std::vector<Impl> there;
  for (const Impl& t : call.tensors()) {
    Impl host = copy_to(*t, t->dtype == call.dtype() ? wide : t->dtype, {});
    for (int64_t i = 0; host->dtype == kDouble && units != 0 && i < host->numel; ++i) {
      auto& x = reinterpret_cast<double*>(host->host_data())[i];
      signs = signs * 1664525u + 1013904223u;
      x = moved(x, signs >> 16 & 1 ? units : -units, t->dtype);
    }
    there.push_back(copy_to(*host, host->dtype, place));
  }
  Call::Arguments in = call.bind(std::move(there));
  Answer out = answer(call.op(), in);
  for (oracle::Result& r : out.results) {
    if (r.tensor) r.tensor = copy_to(*r.tensor, r.tensor->dtype, {});
  }
  return out;
}

std::string compare_with_reference(const Call& call, const Answer& ours, bool* compared) {
  static const core::DeviceId place = check::find_place("ref");
  const core::Op& op = call.op();
  const std::string_view name = op.name;
  if (place.is_none()) return "reference: there is no device 'ref'; build the target tenon_ref";
  if (ours.refused() || call.mixed() || !check::has_values(op) || is_left_out(op, Way::Reference))
    return {};
  if (call.spec().device_arg >= 0 || call.spec().dtype_arg >= 0 || check::addresses_storage(op))
    return {};
  const bool floats = isFloatingType(call.dtype());
  // The reference computes integers in long double, which does not wrap.
  const bool moves = family_of(op) == Family::Copies;
  if (!floats && !moves && (call.wild().whole_range || call.wild().chance > 0)) return {};
  if (!floats && (name.substr(0, 4) == "prod" || name.substr(0, 7) == "cumprod")) return {};
  if (floats && family_of(op) == Family::Sums && has_large(call)) return {};
  if (!is_served(op, floats ? kDouble : call.dtype(), place.slot)) return {};
  const Answer truth = call_widened(call, place, 0, 0);
  if (truth.refused()) {
    const std::string wrong = "reference: refuses: " + truth.refusal;
    return is_known(call, Way::Reference, wrong) ? "" : wrong;
  }
  tally("against the reference");
  *compared = true;
  Call::Arguments plain = call.contiguous();
  const Nearness near = nearness(call, Way::Reference);
  std::string wrong = too_far(op, plain.values.data(), ours.results, truth.results, near);
  if (wrong.empty()) return {};
  Slack slack;
  // So many that two operands hardly move together in all: what cancels shows in one of them.
  for (unsigned signs = 1; signs < 13; ++signs)
    widen(slack, call_widened(call, place, 1, signs).results, truth.results);
  wrong = too_far(op, plain.values.data(), ours.results, truth.results, near, slack);
  return wrong.empty() || is_known(call, Way::Reference, wrong) ? "" : "reference: " + wrong;
}

}  // namespace tenon::fuzz
