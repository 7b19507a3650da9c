// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/dispatch/registered_infer.h"

#include "core/dispatch/frame.h"
#include "core/dispatch/prepare.h"
#include "core/registry/registered_op.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

// What of it the callback may set has the form of the first tensor.
void infer_registered(Infer& c) {
  TENON_CHECK(c.op.layout == nullptr, TypeError, c.op.name,
              ": expected a tensor of a layout of its own, got strided ones");
  TensorImpl* made[kMaxOutputs] = {};
  CallFrame frame(
      c.op, c.in, made,
      Form::Functional);  // what the callback's services work on: there is no kernel yet
  const InferOutputs infer = infer_callback(c.op);
  const TensorImpl* first = nullptr;
  for (int i = 0; i < c.op.n_args && !first; ++i) {
    if (c.in[i].tag == TN_TAG_TENSOR) first = &c.tensor(i);
  }
  const int n = c.op.n_results;
  if (!infer) {
    for (int k = 0; k < n; ++k) c.set(k, {}, first ? first->dtype : kFloat);
    return;
  }
  tn_tensor outputs[kMaxOutputs] = {};
  int64_t sizes[kMaxOutputs][kMaxDims];
  for (int k = 0; k < n; ++k) {
    outputs[k].sizes = sizes[k];
    outputs[k].dtype = abi_dtype(first ? first->dtype : kFloat);
    outputs[k].ndim = first ? first->ndim() : 0;
    for (int d = 0; first && d < first->ndim(); ++d) sizes[k][d] = first->size(d);
  }
  tn_call call{};
  call.struct_size = sizeof call;
  call.n_in = c.op.n_args;
  call.n_out = static_cast<uint32_t>(n);
  call.in = c.in;
  call.context = &frame;
  call.op = c.op.index;
  const tn_status status = infer(&call, outputs, sizes);
  drop_outputs(frame);  // what a callback should not have allocated
  if (status != TN_OK)
    throw_error(status,
                join(c.op.name, ": ", frame.error.empty() ? join("status ", status) : frame.error));
  for (int k = 0; k < n; ++k) {
    TENON_CHECK(outputs[k].ndim >= 0 && outputs[k].ndim <= kMaxDims, BackendError, c.op.name,
                ": infer gave result ", k, " ", outputs[k].ndim, " dimensions");
    checked_numel(c.op.name, outputs[k].ndim, sizes[k]);
    c.set(k, {sizes[k], static_cast<std::size_t>(outputs[k].ndim)},
          dtype_from_abi(outputs[k].dtype));
  }
}

}  // namespace tenon::core
