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

[[noreturn]] void infer_failed(const CallFrame& f, tn_status status) {
  throw_error(status, join(f.op().name, ": ", f.error.empty() ? join("status ", status) : f.error,
                           " (layout ", layout_name(f.layout), ")"));
}

// What the layout says of the results.
void ask_layout(CallFrame& f) {
  const tn_ext_layout& ext = *layout_ext(f.layout);
  const bool own = f.op().layout != nullptr;  // the operator leaves it to the layout
  const int asked = own && *f.op().layout ? f.layout : layout_argument(f.op(), f.in);
  for (int k = 0; k < f.op().n_results; ++k) {
    f.result_layout[k] = asked;
    f.result_flags[k] = 0;
  }
  if (!ext.infer) {
    TENON_CHECK(!own, NotImplementedError, f.op().name, ": not implemented for layout ",
                layout_name(f.layout));
    return;
  }
  tn_tensor outputs[kMaxOutputs] = {};
  int64_t sizes[kMaxOutputs][kMaxDims];
  const int n = f.op().n_results;
  for (int k = 0; k < n; ++k) {
    const OutMeta& o = f.c.out[k];
    const bool known = !own && o.defined;  // what an output_mask refuses has no shape
    outputs[k].ndim = own ? -1 : known ? o.ndim : 0;
    outputs[k].sizes = sizes[k];
    outputs[k].layout = abi_layout(asked);
    if (known) outputs[k].dtype = abi_dtype(o.dtype);
    for (int d = 0; known && d < o.ndim; ++d) sizes[k][d] = o.sizes[d];
  }
  tn_call call{};
  call.struct_size = sizeof call;
  call.n_in = f.op().n_args;
  call.n_out = static_cast<uint32_t>(n);
  call.in = f.in;
  call.context = &f;
  call.op = f.op().index;
  const tn_status s =
      ext.infer(&call, tn_str{f.op().name, std::strlen(f.op().name)}, outputs, sizes);
  if (s == TN_DECLINED && !own) return;
  TENON_CHECK(s != TN_DECLINED, NotImplementedError, f.op().name, ": not implemented for layout ",
              layout_name(f.layout));
  if (s != TN_OK) infer_failed(f, s);
  for (int k = 0; k < n; ++k) {
    if (!own && !f.c.out[k].defined) {
      f.result_layout[k] = 0;
      continue;
    }
    TENON_CHECK(outputs[k].ndim >= 0 && outputs[k].ndim <= kMaxDims, BackendError, f.op().name,
                ": layout ", layout_name(f.layout), " gave result ", k, " ", outputs[k].ndim,
                " dimensions");
    const bool defined = own || f.c.out[k].defined;
    f.c.set(k, {sizes[k], static_cast<std::size_t>(outputs[k].ndim)},
            dtype_from_abi(outputs[k].dtype));
    f.c.out[k].defined = defined;
    f.result_layout[k] = layout_slot_from_abi(outputs[k].layout);
    if (f.result_layout[k] != 0)
      (void)layout_components(f.result_layout[k]);  // ValueError: no such layout
    checked_numel(f.op().name, outputs[k].ndim, sizes[k]);
    f.result_flags[k] = outputs[k].flags & ~0u << TN_LAYOUT_FLAG;
  }
}

}  // namespace

void infer_with_layout(CallFrame& f) {
  if (f.op().layout == nullptr) {
    Replaced shapes(f.op(), f.in,
                    [](int, const TensorImpl& t) { return t.composite() ? stand_in(t) : Impl(); });
    f.c.in = shapes.in;
    f.op().infer(f.c);
    f.c.in = f.in;
    for (int k = 0; k < f.op().n_results; ++k) f.c.out[k].has_strides = false;
  }
  ask_layout(f);
}

bool takes_layouts(const CallFrame& f, const KernelEntry& e) {
  bool all = true;
  each_argument(f.op(), f.in,
                [&](int i, const TensorImpl& t) { all &= e.takes(i, t.layout_slot); });
  return all;
}

void prepare_components(CallFrame& f, int i, TensorImpl& t, bool cast, bool contiguous) {
  if (cast && t.dtype != f.c.compute) {
    f.replace(i, *f.keep(copy_composite(t, f.c.compute, t.device_id)));
    return;
  }
  bool ready = true;
  for (int k = 0; k < t.components->n; ++k) ready &= t.components->impl[k]->contiguous();
  if (!ready && contiguous) f.replace(i, *f.keep(copy_composite(t, t.dtype, t.device_id)));
}

void make_component_output(CallFrame& f, int k) {
  const OutMeta& o = f.c.out[k];
  Impl made = new_composite(f.result_layout[k], o.dtype, f.device, o.ndim, o.sizes);
  made->view.flags = f.result_flags[k];
  if (f.form == Form::Functional) {
    f.targets[k] = f.outs[k] = made.leak();
    f.fresh |= 1u << k;
    return;
  }
  const TensorImpl& given = *f.outs[k];
  TENON_CHECK(given.layout_slot == f.result_layout[k], TypeError, f.op().name,
              ": the result has layout ", layout_name(f.result_layout[k]),
              ", which a tensor of layout ", layout_name(given.layout_slot), " cannot hold");
  TENON_CHECK(given.dtype == o.dtype, TypeError, f.op().name, ": result type ", dtype_name(o.dtype),
              " cannot be written to a tensor of layout ", layout_name(given.layout_slot),
              " and dtype ", dtype_name(given.dtype));
  TENON_CHECK(f.form == Form::Out || f.op().layout || given.sizes() == made->sizes(), ValueError,
              f.op().name, "_: the result of shape ", made->sizes(), " does not fit self of shape ",
              given.sizes());
  f.targets[k] = f.keep(std::move(made));
}

void finish_component_outputs(CallFrame& f) {
  for (int k = 0; k < f.op().n_results; ++k) {
    if (f.result_layout[k] == 0 || f.targets[k] == nullptr || !f.targets[k]->composite()) continue;
    TensorImpl& made = *f.targets[k];
    for (int i = 0; i < made.components->n; ++i) {
      TENON_CHECK(made.components->impl[i] != nullptr, BackendError, f.op().name,
                  ": the kernel returned TN_OK without component '",
                  layout_components(f.result_layout[k])[i], "' of result ", k);
    }
    if (f.form != Form::Functional) f.outs[k]->take_components(made);
  }
}

namespace {

// To the layout, 0: strided, by the kernel that the layout's plugin has for it.
Impl convert_layout(TensorImpl& t, int layout) {
  tn_value in[3] = {};
  in[0].tag = TN_TAG_TENSOR;
  in[0].u.tensor = &t.view;
  if (layout != 0) {
    in[1].tag = TN_TAG_LAYOUT;
    in[1].u.i64 = abi_layout(layout);
  }
  TensorImpl* out[kMaxOutputs];
  call(layout == 0 ? known::to_dense() : known::to_layout(), in, out);
  return Impl::adopt(out[0]);
}

}  // namespace

bool call_densified(CallFrame& f, const std::string& reason) {
  if (f.layout == 0 || densify() == Densify::Forbid || f.op().layout != nullptr ||
      layout_argument(f.op(), f.in) != 0)
    return false;
  uint64_t bytes = 0;
  Replaced args(f.op(), f.in, [&](int, TensorImpl& t) {
    if (!t.composite()) return Impl();
    bytes += static_cast<uint64_t>(t.numel) * t.itemsize();
    return convert_layout(t, 0);
  });
  count_fallback(f, ServedBy::Densified, reason, bytes);
  if (densify() == Densify::Warn) {
    warn_once(join("densify:", f.op().name), "fallback",
              join(f.op().name, " makes its tensors of layout ", layout_name(f.layout),
                   " strided: ", reason));
  }
  TensorImpl* outs[kMaxOutputs] = {};
  call(f.op(), args.in, outs);
  for (int k = 0; k < f.op().n_results; ++k) {
    Impl made = Impl::adopt(outs[k]);
    if (!made) continue;
    const bool back = f.form == Form::Functional ? f.result_layout[k] != 0 : f.outs[k]->composite();
    if (back) made = convert_layout(*made, f.layout);
    deliver_result(f, k, std::move(made));
  }
  return true;
}

void no_kernel_for_layouts(const CallFrame& f, bool declined) {
  std::string layouts;
  uint64_t bytes = 0;
  bool composites = false;
  each_argument(f.op(), f.in, [&](int i, const TensorImpl& t) {
    layouts += join(", ", f.op().args[i].name, " ", layout_name(t.layout_slot));
    composites |= t.composite();
    if (t.composite()) bytes += static_cast<uint64_t>(t.numel) * t.itemsize();
  });
  if (!composites) layouts += join(", layout ", layout_name(f.layout));
  throw NotImplementedError(
      join(f.op().name, ": no kernel for ", device_entry(f.device).name, ", ", dtype_name(f.dtype),
           layouts, declined ? " (one declined these arguments)" : "",
           f.op().layout || !composites ? ""
                                        : join("; strided copies would take ", bytes,
                                               " bytes and are not allowed: to_dense() makes one, "
                                               "TENON_DENSIFY=allow does at need")));
}

bool call_by_components(CallFrame& f) {
  const Op* op = &f.op();
  if (op == &known::clone()) {
    TensorImpl& t = f.c.tensor(0);
    f.outs[0] = copy_composite(t, t.dtype, t.device_id).leak();
    return true;
  }
  if (op == &known::detach() || op == &known::alias()) {
    f.outs[0] = f.c.tensor(0).alias(false).leak();
    return true;
  }
  if (op == &known::copy_components()) {
    const DeviceId to = device_id(device_from_abi(f.in[2].u.device));
    f.outs[0] =
        copy_composite(f.c.tensor(0), dtype_from_abi(f.in[1].u.dtype), to, f.in[3].u.i64 != 0)
            .leak();
    return true;
  }
  if (op != &known::copy() || f.form != Form::Inplace) return false;
  TensorImpl &to = f.c.tensor(0), &from = f.c.tensor(1);
  if (to.layout_slot != from.layout_slot) return false;
  TENON_CHECK(to.sizes() == from.sizes(), ValueError, "copy_: self of shape ", to.sizes(),
              " and src of shape ", from.sizes(),
              " differ, and tensors of a layout are not expanded");
  Impl made = copy_composite(from, to.dtype, to.device_id, f.in[2].u.i64 != 0);
  to.take_components(*made);
  to.bump_version();
  return true;
}

int layout_of_call(const Op& op, const tn_value* in) {
  int layout = 0, other = 0;
  each_argument(op, in, [&](int, const TensorImpl& t) {
    if (t.layout_slot != 0 && t.layout_slot != layout)
      (layout == 0 ? layout : other) = t.layout_slot;
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
