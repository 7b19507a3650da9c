// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/dispatch/layout_infer.h"

#include <algorithm>
#include <cstring>

#include "core/dispatch/arguments.h"
#include "core/dispatch/layout_rules.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

// Whether the layout's rule is the only one.
bool leaves_to_layout(const Op& op) { return op.layout != nullptr; }

[[noreturn]] void infer_failed(const CallFrame& frame, tn_status status) {
  throw_error(status, join(frame.op().name, ": ",
                           frame.error.empty() ? join("status ", status) : frame.error, " (layout ",
                           layout_name(frame.layout), ")"));
}

// The operator's own rule, which does not know layouts.
void infer_from_stand_ins(CallFrame& frame) {
  Replaced shapes(frame.op(), frame.in, [](int, const TensorImpl& tensor) {
    return tensor.composite() ? stand_in(tensor) : Impl();
  });
  frame.infer.in = shapes.in;
  frame.op().infer(frame.infer);
  frame.infer.in = frame.in;
  for (int k = 0; k < frame.op().n_results; ++k) frame.infer.out[k].has_strides = false;
}

// Result k as the layout's rule gets it: with what the operator's own rule found, if it has one.
tn_tensor described_result(const CallFrame& frame, int k, int64_t* sizes) {
  const OutMeta& meta = frame.infer.out[k];
  const bool own = leaves_to_layout(frame.op());
  tn_tensor result{};
  result.sizes = sizes;
  result.layout = abi_layout(frame.result_layout[k]);
  result.ndim = own ? -1 : 0;
  if (own || !meta.defined) return result;  // what an output_mask refuses has no shape
  result.ndim = meta.ndim;
  result.dtype = abi_dtype(meta.dtype);
  std::copy_n(meta.sizes, meta.ndim, sizes);
  return result;
}

// What the layout's rule says of result k.
void take_result(CallFrame& frame, int k, const tn_tensor& result, const int64_t* sizes) {
  if (!leaves_to_layout(frame.op()) && !frame.infer.out[k].defined) {
    frame.result_layout[k] = 0;
    return;
  }
  TENON_CHECK(result.ndim >= 0 && result.ndim <= kMaxDims, BackendError, frame.op().name,
              ": layout ", layout_name(frame.layout), " gave result ", k, " ", result.ndim,
              " dimensions");
  frame.infer.set(k, {sizes, static_cast<std::size_t>(result.ndim)}, dtype_from_abi(result.dtype));
  const int layout = layout_slot_from_abi(result.layout);
  frame.result_layout[k] = layout;
  if (layout != 0) (void)layout_components(layout);  // ValueError: no such layout
  checked_numel(frame.op().name, result.ndim, sizes);
  frame.result_flags[k] = result.flags & ~0u << TN_LAYOUT_FLAG;
}

// False if the layout leaves the results as the operator's rule has them.
bool ask_layout(CallFrame& frame, tn_tensor* results, int64_t (*sizes)[kMaxDims]) {
  const Op& op = frame.op();
  const tn_ext_layout& ext = *layout_ext(frame.layout);
  tn_status status = TN_DECLINED;
  if (ext.infer) {
    for (int k = 0; k < op.n_results; ++k) results[k] = described_result(frame, k, sizes[k]);
    tn_call call{};
    call.struct_size = sizeof call;
    call.n_in = op.n_args;
    call.n_out = op.n_results;
    call.in = frame.in;
    call.context = &frame;
    call.op = op.index;
    status = ext.infer(&call, tn_str{op.name, std::strlen(op.name)}, results, sizes);
  }
  TENON_CHECK(status != TN_DECLINED || !leaves_to_layout(op), NotImplementedError, op.name,
              ": not implemented for layout ", layout_name(frame.layout));
  if (status != TN_OK && status != TN_DECLINED) infer_failed(frame, status);
  return status == TN_OK;
}

}  // namespace

void infer_with_layout(CallFrame& frame) {
  const Op& op = frame.op();
  if (!leaves_to_layout(op)) infer_from_stand_ins(frame);
  const int asked =
      leaves_to_layout(op) && *op.layout ? frame.layout : layout_argument(op, frame.in);
  for (int k = 0; k < op.n_results; ++k) {
    frame.result_layout[k] = asked;
    frame.result_flags[k] = 0;
  }
  tn_tensor results[kMaxOutputs];
  int64_t sizes[kMaxOutputs][kMaxDims];
  if (!ask_layout(frame, results, sizes)) return;
  for (int k = 0; k < op.n_results; ++k) take_result(frame, k, results[k], sizes[k]);
}

}  // namespace tenon::core
