// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/dispatch/components.h"

#include "core/dispatch/component_tensor.h"
#include "core/dispatch/known_ops.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

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

}  // namespace tenon::core
