// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A call: inference, device, outputs, kernel, fallback chain. One path for every plugin, device and
// layout.
#include "core/dispatch/components.h"
#include "core/dispatch/converted_dtype.h"
#include "core/dispatch/fallback.h"
#include "core/dispatch/fast_path.h"
#include "core/dispatch/layout_infer.h"
#include "core/dispatch/layout_rules.h"
#include "core/dispatch/prepare.h"
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
TENON_COLD KernelEntry* kernel_of_layout(CallFrame& frame) {
  TENON_CHECK(op_takes(frame.op(), frame.infer.checked), NotImplementedError, frame.op().name,
              ": not implemented for dtype ", dtype_name(frame.infer.checked), "; it takes ",
              frame.op().dtypes);
  first_use(frame.device.slot);
  return KernelList(frame, frame.device.slot).next();
}

inline KernelEntry* first_kernel(CallFrame& frame) {
  if (TENON_UNLIKELY(frame.layout != 0)) return kernel_of_layout(frame);
  if (TENON_UNLIKELY(frame.op().flags & (kOpNoKernel | kOpOnDemand))) {
    if (frame.op().flags & kOpNoKernel) return nullptr;
    first_call(frame.op(), frame.device.slot);
  }
  KernelEntry* entry = find_kernel(frame.op(), frame.device.slot, 0, frame.dtype);
  if (TENON_UNLIKELY(g_converted_in_use.load(std::memory_order_relaxed)) && entry &&
      !knows_dtypes(frame, *entry))
    return nullptr;
  return entry;
}

// On the device "meta" the outputs, as they were made, are all there is.
void call_without_data(const CallFrame& frame) {
  TENON_CHECK(!(frame.op().flags & kOpDynamic), NotImplementedError, frame.op().name,
              ": the sizes of its result depend on elements, which a tensor on the device 'meta' "
              "does not have");
  TENON_CHECK(frame.layout == 0, NotImplementedError, frame.op().name, ": a tensor of layout ",
              layout_name(frame.layout), " cannot be on the device 'meta'");
}

// No kernel for this dtype, or it declined.
TENON_COLD void without_kernel(CallFrame& frame, const KernelEntry* declined) {
  if (!op_takes(frame.op(), frame.infer.checked)) {
    throw NotImplementedError(join(frame.op().name, ": not implemented for dtype ",
                                   dtype_name(frame.infer.checked), "; it takes ",
                                   frame.op().dtypes));
  }
  if (!has_data(frame.device)) return call_without_data(frame);
  fall_back(frame, declined);
}

// Only the operator copy takes tensors of two devices, and no kernel sees both: core moves the
// bytes. False for one device.
TENON_COLD bool copy_across(CallFrame& frame) {
  TensorImpl &to = frame.infer.tensor(0), &from = frame.infer.tensor(1);
  const bool same = to.device_id == from.device_id;
  // A kernel that converts may know real numbers only.
  const bool mixed = isComplexType(to.dtype) != isComplexType(from.dtype);
  if (TENON_LIKELY(same && !converted_dtype(to.dtype) && !converted_dtype(from.dtype) &&
                   (!mixed || to.device_id.is_host())))
    return false;
  try {
    make_outputs(frame);
    copy(*frame.targets[0], from, frame.in[2].u.i64 != 0);
    finish_outputs(frame);
  } catch (...) {
    drop_outputs(frame);
    throw;
  }
  return true;
}

// A view needs no kernel: its geometry is all there is.
void call_view(const Op& op, const tn_value* in, TensorImpl** outs, Form form) {
  Infer infer(op, in, form);
  op.infer(infer);
  const OutMeta& meta = infer.out[0];
  outs[0] = new_view(infer.tensor(meta.alias_of), meta.dtype, meta.byte_offset, meta.ndim,
                     meta.sizes, meta.strides)
                .leak();
}

// Allocation is all there is. The device is the one asked for, else that of the first tensor.
void call_new(const Op& op, const tn_value* in, TensorImpl** outs) {
  Infer infer(op, in, Form::Functional);
  op.infer(infer);
  DeviceId device = infer.device;
  for (int i = 0; device.is_none() && i < op.n_args; ++i) {
    if (in[i].tag == TN_TAG_TENSOR) device = infer.tensor(i).device_id;
  }
  if (device.is_none()) device = kHost;
  const OutMeta& meta = infer.out[0];
  outs[0] = new_result(infer, meta, device).leak();
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
  CallFrame frame(op, in, outs, form);
  frame.layout = layout;
  if (TENON_LIKELY(layout == 0)) {
    op.infer(frame.infer);
  } else {
    (void)usable_layout(layout_name(layout));  // opens its plugin
    if (call_by_components(frame)) return;
    infer_with_layout(frame);
  }
  find_device(frame);
  if (TENON_UNLIKELY(op.flags & kOpCrossDevice) && layout == 0 && copy_across(frame)) return;
  KernelEntry* entry = first_kernel(frame);
  try {
    const bool ready =
        layout == 0 || entry != nullptr;  // else a step of the fallback chain makes the outputs
    if (TENON_LIKELY(ready))
      make_outputs(frame, entry);
    else
      forget_outputs(frame);
    if ((op.flags & kOpNoKernel) && layout == 0) return;
    if ((op.flags & kOpRandom) && ready) reserve_random(frame);
    if (TENON_UNLIKELY(entry == nullptr) || TENON_UNLIKELY(!try_kernel(frame, *entry)))
      without_kernel(frame, entry);
    else if (TENON_UNLIKELY(calls_are_watched()) && layout == 0)
      shadow_check(frame);
    finish_outputs(frame);
  } catch (...) {
    drop_outputs(frame);
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
  } catch (Error& error) {
    error.set_op(op.name);
    throw;
  }
}

}  // namespace tenon::core
