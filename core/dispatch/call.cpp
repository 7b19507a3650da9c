// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A call: inference, device, outputs, kernel, fallback chain. One path for every plugin, device and
// layout.
#include "core/dispatch/fallback.h"
#include "core/dispatch/fast_path.h"
#include "core/dispatch/layout_rules.h"
#include "core/dispatch/prepare.h"
#include "core/dispatch/registered_dtype.h"
#include "core/dispatch/run_kernel.h"
#include "core/dispatch/shadow.h"
#include "runtime/base/in_flight.h"
#include "runtime/base/watched_calls.h"
#include "tenon/core/batched_call.h"
#include "tenon/core/dispatch.h"
#include "tenon/core/layout.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

namespace {

// Opens what serves the device if there is no kernel yet.
TENON_COLD KernelEntry* kernel_of_layout(CallFrame& f) {
  TENON_CHECK(op_takes(f.op(), f.c.checked), NotImplementedError, f.op().name,
              ": not implemented for dtype ", dtype_name(f.c.checked), "; it takes ",
              f.op().dtypes);
  first_use(f.device.slot);
  return KernelList(f, f.device.slot).next();
}

inline KernelEntry* first_kernel(CallFrame& f) {
  if (TENON_UNLIKELY(f.layout != 0)) return kernel_of_layout(f);
  if (f.op().flags & kOpNoKernel) return nullptr;
  KernelEntry* e = find_kernel(f.op(), f.device.slot, 0, f.dtype);
  if (TENON_UNLIKELY(g_dtypes_in_use.load(std::memory_order_relaxed)) && e && !knows_dtypes(f, *e))
    return nullptr;
  return e;
}

// No kernel for this dtype, or it declined.
TENON_COLD void without_kernel(CallFrame& f, const KernelEntry* declined) {
  if (!op_takes(f.op(), f.c.checked)) {
    throw NotImplementedError(join(f.op().name, ": not implemented for dtype ",
                                   dtype_name(f.c.checked), "; it takes ", f.op().dtypes));
  }
  fall_back(f, declined);
}

// Only the operator copy takes tensors of two devices, and no kernel sees both: core moves the
// bytes. False for one device.
TENON_COLD bool copy_across(CallFrame& f) {
  TensorImpl &to = f.c.tensor(0), &from = f.c.tensor(1);
  const bool same = to.device_id == from.device_id;
  // A kernel that converts may know real numbers only.
  const bool mixed = isComplexType(to.dtype) != isComplexType(from.dtype);
  if (TENON_LIKELY(same && !foreign(to.dtype) && !foreign(from.dtype) &&
                   (!mixed || to.device_id.is_host())))
    return false;
  try {
    make_outputs(f);
    copy(*f.targets[0], from, f.in[2].u.i64 != 0);
    finish_outputs(f);
  } catch (...) {
    drop_outputs(f);
    throw;
  }
  return true;
}

// A view needs no kernel: its geometry is all there is.
void call_view(const Op& op, const tn_value* in, TensorImpl** outs, Form form) {
  Infer c(op, in, form);
  op.infer(c);
  const OutMeta& o = c.out[0];
  outs[0] =
      new_view(c.tensor(o.alias_of), o.dtype, o.byte_offset, o.ndim, o.sizes, o.strides).leak();
}

// Allocation is all there is. The device is the one asked for, else that of the first tensor.
void call_new(const Op& op, const tn_value* in, TensorImpl** outs) {
  Infer c(op, in, Form::Functional);
  op.infer(c);
  DeviceId device = c.device;
  for (int i = 0; device.is_none() && i < op.n_args; ++i) {
    if (in[i].tag == TN_TAG_TENSOR) device = c.tensor(i).device_id;
  }
  if (device.is_none()) device = kHost;
  const OutMeta& o = c.out[0];
  outs[0] =
      new_tensor(op.name, o.dtype, device, o.ndim, o.sizes, o.has_strides ? o.strides : nullptr)
          .leak();
}

void call_general(const Op& op, const tn_value* in, TensorImpl** outs, Form form) {
  if (TENON_UNLIKELY(op.flags & kOpListLengths)) check_list_lengths(op, in);
  const BatchedCall batched = g_batched_call.load(std::memory_order_relaxed);
  if (TENON_UNLIKELY(batched != nullptr) && batched(op, in, outs, form)) return;
  const bool layouts = op.layout != nullptr || g_layouts_in_use.load(std::memory_order_relaxed);
  const int layout = TENON_UNLIKELY(layouts) ? layout_of_call(op, in) : 0;
  TENON_CHECK(op.infer, NotImplementedError, op.name, " is a composite: call its function");
  if (TENON_LIKELY(layout == 0)) {
    if (op.kind == OpKind::View) return call_view(op, in, outs, form);
    if ((op.flags & kOpNoKernel) && form == Form::Functional) return call_new(op, in, outs);
  }
  CallFrame f(op, in, outs, form);
  f.layout = layout;
  if (TENON_LIKELY(layout == 0)) {
    op.infer(f.c);
  } else {
    (void)usable_layout(layout_name(layout));  // opens its plugin
    if (call_by_components(f)) return;
    infer_with_layout(f);
  }
  find_device(f);
  if (TENON_UNLIKELY(op.flags & kOpCrossDevice) && layout == 0 && copy_across(f)) return;
  KernelEntry* e = first_kernel(f);
  try {
    const bool ready =
        layout == 0 || e != nullptr;  // else a step of the fallback chain makes the outputs
    if (TENON_LIKELY(ready))
      make_outputs(f, e);
    else
      forget_outputs(f);
    if ((op.flags & kOpNoKernel) && layout == 0) return;
    if ((op.flags & kOpRandom) && ready) reserve_random(f);
    if (TENON_UNLIKELY(e == nullptr) || TENON_UNLIKELY(!try_kernel(f, *e)))
      without_kernel(f, e);
    else if (TENON_UNLIKELY(calls_are_watched()) && layout == 0)
      shadow_check(f);
    finish_outputs(f);
  } catch (...) {
    drop_outputs(f);
    throw;
  }
}

}  // namespace

void call(const Op& op, const tn_value* in, TensorImpl** outs, Form form) {
  InFlight inside;
  try {
    if ((op.flags & kOpFastPath) && TENON_LIKELY(!calls_are_watched()) &&
        call_fast_path(op, in, outs, form))
      return;
    call_general(op, in, outs, form);
  } catch (Error& e) {
    e.set_op(op.name);
    throw;
  }
}

}  // namespace tenon::core
