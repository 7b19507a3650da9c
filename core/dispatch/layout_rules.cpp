// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/dispatch/layout_rules.h"

#include <cstring>

#include "core/dispatch/arguments.h"
#include "core/dispatch/component_tensor.h"
#include "core/dispatch/deliver_result.h"
#include "core/dispatch/fallback_counts.h"
#include "core/dispatch/known_ops.h"
#include "runtime/base/settings.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::core {
namespace {

std::atomic<int> g_densify{-1};

int layout_argument(const Op& op, const tn_value* in) {
  for (int i = 0; i < op.n_args; ++i) {
    if (in[i].tag != TN_TAG_LAYOUT || in[i].u.i64 == TN_STRIDED) continue;
    const int slot = layout_slot_from_abi(in[i].u.i64);
    TENON_CHECK(slot > 0 && slot < layout_slots(), ValueError, op.name, ": argument '",
                op.args[i].name, "': there is no layout of number ", in[i].u.i64);
    return slot;
  }
  return 0;
}

[[noreturn]] void infer_failed(const CallFrame& frame, tn_status status) {
  throw_error(status, join(frame.op().name, ": ",
                           frame.error.empty() ? join("status ", status) : frame.error, " (layout ",
                           layout_name(frame.layout), ")"));
}

// What the layout says of the results.
void ask_layout(CallFrame& frame) {
  const tn_ext_layout& ext = *layout_ext(frame.layout);
  const bool own = frame.op().layout != nullptr;  // the operator leaves it to the layout
  const int asked =
      own && *frame.op().layout ? frame.layout : layout_argument(frame.op(), frame.in);
  for (int k = 0; k < frame.op().n_results; ++k) {
    frame.result_layout[k] = asked;
    frame.result_flags[k] = 0;
  }
  if (!ext.infer) {
    TENON_CHECK(!own, NotImplementedError, frame.op().name, ": not implemented for layout ",
                layout_name(frame.layout));
    return;
  }
  tn_tensor outputs[kMaxOutputs] = {};
  int64_t sizes[kMaxOutputs][kMaxDims];
  const int n = frame.op().n_results;
  for (int k = 0; k < n; ++k) {
    const OutMeta& meta = frame.infer.out[k];
    const bool known = !own && meta.defined;  // what an output_mask refuses has no shape
    outputs[k].ndim = own ? -1 : known ? meta.ndim : 0;
    outputs[k].sizes = sizes[k];
    outputs[k].layout = abi_layout(asked);
    if (known) outputs[k].dtype = abi_dtype(meta.dtype);
    for (int d = 0; known && d < meta.ndim; ++d) sizes[k][d] = meta.sizes[d];
  }
  tn_call call{};
  call.struct_size = sizeof call;
  call.n_in = frame.op().n_args;
  call.n_out = static_cast<uint32_t>(n);
  call.in = frame.in;
  call.context = &frame;
  call.op = frame.op().index;
  const tn_status status =
      ext.infer(&call, tn_str{frame.op().name, std::strlen(frame.op().name)}, outputs, sizes);
  if (status == TN_DECLINED && !own) return;
  TENON_CHECK(status != TN_DECLINED, NotImplementedError, frame.op().name,
              ": not implemented for layout ", layout_name(frame.layout));
  if (status != TN_OK) infer_failed(frame, status);
  for (int k = 0; k < n; ++k) {
    if (!own && !frame.infer.out[k].defined) {
      frame.result_layout[k] = 0;
      continue;
    }
    TENON_CHECK(outputs[k].ndim >= 0 && outputs[k].ndim <= kMaxDims, BackendError, frame.op().name,
                ": layout ", layout_name(frame.layout), " gave result ", k, " ", outputs[k].ndim,
                " dimensions");
    const bool defined = own || frame.infer.out[k].defined;
    frame.infer.set(k, {sizes[k], static_cast<std::size_t>(outputs[k].ndim)},
                    dtype_from_abi(outputs[k].dtype));
    frame.infer.out[k].defined = defined;
    frame.result_layout[k] = layout_slot_from_abi(outputs[k].layout);
    if (frame.result_layout[k] != 0)
      (void)layout_components(frame.result_layout[k]);  // ValueError: no such layout
    checked_numel(frame.op().name, outputs[k].ndim, sizes[k]);
    frame.result_flags[k] = outputs[k].flags & ~0u << TN_LAYOUT_FLAG;
  }
}

}  // namespace

void infer_with_layout(CallFrame& frame) {
  if (frame.op().layout == nullptr) {
    Replaced shapes(frame.op(), frame.in, [](int, const TensorImpl& tensor) {
      return tensor.composite() ? stand_in(tensor) : Impl();
    });
    frame.infer.in = shapes.in;
    frame.op().infer(frame.infer);
    frame.infer.in = frame.in;
    for (int k = 0; k < frame.op().n_results; ++k) frame.infer.out[k].has_strides = false;
  }
  ask_layout(frame);
}

bool takes_layouts(const CallFrame& frame, const KernelEntry& entry) {
  bool all = true;
  each_argument(frame.op(), frame.in, [&](int i, const TensorImpl& tensor) {
    all &= entry.takes(i, tensor.layout_slot);
  });
  return all;
}

void prepare_components(CallFrame& frame, int i, TensorImpl& tensor, bool cast, bool contiguous) {
  if (cast && tensor.dtype != frame.infer.compute) {
    frame.replace(i, *frame.keep(copy_composite(tensor, frame.infer.compute, tensor.device_id)));
    return;
  }
  bool ready = true;
  for (int k = 0; k < tensor.components->n; ++k) ready &= tensor.components->impl[k]->contiguous();
  if (!ready && contiguous)
    frame.replace(i, *frame.keep(copy_composite(tensor, tensor.dtype, tensor.device_id)));
}

void make_component_output(CallFrame& frame, int k) {
  const OutMeta& meta = frame.infer.out[k];
  Impl made =
      new_composite(frame.result_layout[k], meta.dtype, frame.device, meta.ndim, meta.sizes);
  made->view.flags = frame.result_flags[k];
  if (frame.form == Form::Functional) {
    frame.targets[k] = frame.outs[k] = made.leak();
    frame.fresh |= 1u << k;
    return;
  }
  const TensorImpl& given = *frame.outs[k];
  TENON_CHECK(given.layout_slot == frame.result_layout[k], TypeError, frame.op().name,
              ": the result has layout ", layout_name(frame.result_layout[k]),
              ", which a tensor of layout ", layout_name(given.layout_slot), " cannot hold");
  TENON_CHECK(given.dtype == meta.dtype, TypeError, frame.op().name, ": result type ",
              dtype_name(meta.dtype), " cannot be written to a tensor of layout ",
              layout_name(given.layout_slot), " and dtype ", dtype_name(given.dtype));
  TENON_CHECK(frame.form == Form::Out || frame.op().layout || given.sizes() == made->sizes(),
              ValueError, frame.op().name, "_: the result of shape ", made->sizes(),
              " does not fit self of shape ", given.sizes());
  frame.targets[k] = frame.keep(std::move(made));
}

void finish_component_outputs(CallFrame& frame) {
  for (int k = 0; k < frame.op().n_results; ++k) {
    if (frame.result_layout[k] == 0 || frame.targets[k] == nullptr ||
        !frame.targets[k]->composite())
      continue;
    TensorImpl& made = *frame.targets[k];
    for (int i = 0; i < made.components->n; ++i) {
      TENON_CHECK(made.components->impl[i] != nullptr, BackendError, frame.op().name,
                  ": the kernel returned TN_OK without component '",
                  layout_components(frame.result_layout[k])[i], "' of result ", k);
    }
    if (frame.form != Form::Functional) frame.outs[k]->take_components(made);
  }
}

namespace {

// To the layout, 0: strided, by the kernel that the layout's plugin has for it.
Impl convert_layout(TensorImpl& tensor, int layout) {
  tn_value in[3] = {};
  in[0].tag = TN_TAG_TENSOR;
  in[0].u.tensor = &tensor.view;
  if (layout != 0) {
    in[1].tag = TN_TAG_LAYOUT;
    in[1].u.i64 = abi_layout(layout);
  }
  TensorImpl* out[kMaxOutputs];
  call(layout == 0 ? known::to_dense() : known::to_layout(), in, out);
  return Impl::adopt(out[0]);
}

}  // namespace

bool call_densified(CallFrame& frame, const std::string& reason) {
  if (frame.layout == 0 || densify() == Densify::Forbid || frame.op().layout != nullptr ||
      layout_argument(frame.op(), frame.in) != 0)
    return false;
  uint64_t bytes = 0;
  Replaced args(frame.op(), frame.in, [&](int, TensorImpl& tensor) {
    if (!tensor.composite()) return Impl();
    bytes += static_cast<uint64_t>(tensor.numel) * tensor.itemsize();
    return convert_layout(tensor, 0);
  });
  count_fallback(frame, ServedBy::Densified, reason, bytes);
  if (densify() == Densify::Warn) {
    warn_once(join("densify:", frame.op().name), "fallback",
              join(frame.op().name, " makes its tensors of layout ", layout_name(frame.layout),
                   " strided: ", reason));
  }
  TensorImpl* outs[kMaxOutputs] = {};
  call(frame.op(), args.in, outs);
  for (int k = 0; k < frame.op().n_results; ++k) {
    Impl made = Impl::adopt(outs[k]);
    if (!made) continue;
    const bool back =
        frame.form == Form::Functional ? frame.result_layout[k] != 0 : frame.outs[k]->composite();
    if (back) made = convert_layout(*made, frame.layout);
    deliver_result(frame, k, std::move(made));
  }
  return true;
}

void no_kernel_for_layouts(const CallFrame& frame, bool declined) {
  std::string layouts;
  uint64_t bytes = 0;
  bool composites = false;
  each_argument(frame.op(), frame.in, [&](int i, const TensorImpl& tensor) {
    layouts += join(", ", frame.op().args[i].name, " ", layout_name(tensor.layout_slot));
    composites |= tensor.composite();
    if (tensor.composite()) bytes += static_cast<uint64_t>(tensor.numel) * tensor.itemsize();
  });
  if (!composites) layouts += join(", layout ", layout_name(frame.layout));
  throw NotImplementedError(join(
      frame.op().name, ": no kernel for ", device_entry(frame.device).name, ", ",
      dtype_name(frame.dtype), layouts, declined ? " (one declined these arguments)" : "",
      frame.op().layout || !composites ? ""
                                       : join("; strided copies would take ", bytes,
                                              " bytes and are not allowed: to_dense() makes one, "
                                              "TENON_DENSIFY=allow does at need")));
}

bool call_by_components(CallFrame& frame) {
  const Op* op = &frame.op();
  if (op == &known::clone()) {
    TensorImpl& tensor = frame.infer.tensor(0);
    frame.outs[0] = copy_composite(tensor, tensor.dtype, tensor.device_id).leak();
    return true;
  }
  if (op == &known::detach() || op == &known::alias()) {
    frame.outs[0] = frame.infer.tensor(0).alias(false).leak();
    return true;
  }
  if (op == &known::copy_components()) {
    const DeviceId to = device_id(device_from_abi(frame.in[2].u.device));
    frame.outs[0] = copy_composite(frame.infer.tensor(0), dtype_from_abi(frame.in[1].u.dtype), to,
                                   frame.in[3].u.i64 != 0)
                        .leak();
    return true;
  }
  if (op != &known::copy() || frame.form != Form::Inplace) return false;
  TensorImpl &to = frame.infer.tensor(0), &from = frame.infer.tensor(1);
  if (to.layout_slot != from.layout_slot) return false;
  TENON_CHECK(to.sizes() == from.sizes(), ValueError, "copy_: self of shape ", to.sizes(),
              " and src of shape ", from.sizes(),
              " differ, and tensors of a layout are not expanded");
  Impl made = copy_composite(from, to.dtype, to.device_id, frame.in[2].u.i64 != 0);
  to.take_components(*made);
  to.bump_version();
  return true;
}

int layout_of_call(const Op& op, const tn_value* in) {
  int layout = 0, other = 0;
  each_argument(op, in, [&](int, const TensorImpl& tensor) {
    if (tensor.layout_slot != 0 && tensor.layout_slot != layout)
      (layout == 0 ? layout : other) = tensor.layout_slot;
  });
  TENON_CHECK(other == 0, NotImplementedError, op.name,
              ": takes tensors of one layout beside strided ones, got ", layout_name(layout),
              " and ", layout_name(other), "; to_dense() one of them");
  if (layout == 0) layout = layout_argument(op, in);
  if (layout != 0) return layout;
  return op.layout && *op.layout ? usable_layout(op.layout) : 0;
}

bool layout_serves(int layout_slot, const Op& op) noexcept {
  for (int device = kAnyDevice; device >= 0; --device) {
    if (cell(op, device, layout_slot).load(std::memory_order_acquire) != nullptr) return true;
  }
  return false;
}

void set_densify(Densify d) { g_densify.store(static_cast<int>(d), std::memory_order_relaxed); }

Densify densify() {
  int d = g_densify.load(std::memory_order_relaxed);
  if (d < 0) {
    constexpr const char* kChoices[] = {"allow", "warn", "forbid"};
    constexpr Densify kMeant[] = {Densify::Allow, Densify::Warn, Densify::Forbid};
    d = static_cast<int>(kMeant[choice_setting("DENSIFY", kChoices, 3, 2)]);
    g_densify.store(d, std::memory_order_relaxed);
  }
  return static_cast<Densify>(d);
}

}  // namespace tenon::core
