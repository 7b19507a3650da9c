// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/dispatch/layout_rules.h"

#include "core/dispatch/arguments.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

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

bool takes_layouts(const CallFrame& frame, const KernelEntry& entry) {
  bool all = true;
  each_argument(frame.op(), frame.in, [&](int i, const TensorImpl& tensor) {
    all &= entry.takes(i, tensor.layout_slot);
  });
  return all;
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

bool layout_serves(int layout_slot, const Op& op) noexcept {
  for (int device = kAnyDevice; device >= 0; --device) {
    if (cell(op, device, layout_slot).load(std::memory_order_acquire) != nullptr) return true;
  }
  return false;
}

}  // namespace tenon::core
