// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shadow checks: every nth native call runs again on a reference device, and the results are
// compared. Catches silent miscompiles and races in the field; off, it costs the branch that the
// trampoline has anyway.
#include <cmath>

#include "core/dispatch/shadow.h"
#include "runtime/base/watched_calls.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::core {

std::atomic<uint32_t> g_shadow_every{0};

namespace {

std::atomic<DeviceSlot> g_reference{-1};
std::atomic<uint64_t> g_calls{0}, g_mismatches{0};
thread_local bool t_inside = false;

Impl on_reference(TensorImpl& tensor, DeviceSlot slot) {
  Impl made = new_tensor("shadow", tensor.dtype, {slot, 0}, tensor.ndim(), tensor.view.sizes);
  copy(*made, tensor);
  return made;
}

Impl as_double(TensorImpl& tensor) {
  Impl made = new_tensor("shadow", kDouble, kHost, tensor.ndim(), tensor.view.sizes);
  copy(*made, tensor);
  return made;
}

// Within 3 % for 16-bit dtypes, 1e-3 for float32 and 1e-7 for float64, of 1 plus the value: an
// alarm for wrong results, not for rounding.
bool agree(TensorImpl& a, TensorImpl& b) {
  Impl x = as_double(a), y = as_double(b);
  const double* p = reinterpret_cast<const double*>(x->host_data());
  const double* q = reinterpret_cast<const double*>(y->host_data());
  const double tolerance = item_size(a.dtype) <= 2 ? 3e-2 : item_size(a.dtype) == 4 ? 1e-3 : 1e-7;
  for (int64_t i = 0; i < x->numel; ++i) {
    if (std::isnan(p[i]) && std::isnan(q[i])) continue;
    if (p[i] == q[i]) continue;
    if (!(std::fabs(p[i] - q[i]) <= tolerance * (1 + std::fabs(q[i])))) return false;
  }
  return true;
}

struct Inside {
  Inside() { t_inside = true; }
  ~Inside() { t_inside = false; }
};

}  // namespace

void shadow_check(CallFrame& frame) {
  uint32_t every = g_shadow_every.load(std::memory_order_relaxed);
  DeviceSlot slot = g_reference.load(std::memory_order_relaxed);
  if (every == 0 || slot < 0 || slot == frame.device.slot || t_inside ||
      frame.form != Form::Functional)
    return;
  if (frame.op().flags & (kOpRandom | kOpDynamic | kOpCrossDevice)) return;
  if (g_calls.fetch_add(1, std::memory_order_relaxed) % every != 0) return;
  Inside inside;
  tn_value in[kMaxArgs];
  std::vector<Impl> kept;
  for (int i = 0; i < frame.op().n_args; ++i) {
    in[i] = frame.infer.in[i];
    if (in[i].tag == TN_TAG_TENSOR_LIST || frame.op().args[i].mutates) return;
    if (in[i].tag != TN_TAG_TENSOR) continue;
    kept.push_back(on_reference(frame.infer.tensor(i), slot));
    in[i].u.tensor = &kept.back()->view;
  }
  TensorImpl* outs[kMaxOutputs];
  call(frame.op(), in, outs);
  for (int k = 0; k < frame.op().n_results; ++k) {
    Impl reference = Impl::adopt(outs[k]);
    if (!reference || agree(*frame.outs[k], *reference)) continue;
    g_mismatches.fetch_add(1, std::memory_order_relaxed);
    warn("shadow", join(frame.op().name, " on ", device_entry(frame.device).name, " differs from ",
                        device_entry(slot).name));
  }
}

void set_shadow(uint32_t every_nth, std::string_view reference_device) {
  DeviceSlot slot = every_nth ? device_slot_from_name(reference_device) : -1;
  TENON_CHECK(every_nth == 0 || (slot >= 0 && ensure_device(slot)), ValueError,
              "set_shadow: device '", reference_device, "' is not available");
  g_reference.store(slot);
  const bool was = g_shadow_every.exchange(every_nth) != 0;
  watch_calls(static_cast<int>(every_nth != 0) - static_cast<int>(was));
}

uint64_t shadow_mismatches() noexcept { return g_mismatches.load(std::memory_order_relaxed); }

}  // namespace tenon::core
