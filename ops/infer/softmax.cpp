// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of softmax.
#include "tenon/core/error.h"
#include "tenon/core/infer.h"

namespace tenon::core {

TENON_INFER(softmax) {
  const TensorImpl& self = c.tensor(0);
  c.dim(c.integer(1), self.ndim());
  c.set(0, self.sizes(), c.flag(2) ? kFloat : self.dtype);
  c.checked = self.dtype;
}

TENON_INFER(softmax_backward) {
  const TensorImpl &grad = c.tensor(0), &output = c.tensor(1);
  c.dim(c.integer(2), grad.ndim());
  if (grad.sizes() != output.sizes() || grad.dtype != output.dtype) {
    fail<ValueError>(c, "grad_output ", text(grad.sizes()), " of ", dtype_name(grad.dtype),
                     " must have the shape and dtype of output ", text(output.sizes()), " of ",
                     dtype_name(output.dtype));
  }
  c.set(0, grad.sizes(), c.dtype(3, grad.dtype));
  c.checked = grad.dtype;
}

namespace {

void check_heads(Infer& c, int arg, IntArrayRef sizes) {
  const TensorImpl& t = c.tensor(arg);
  if (t.sizes() != sizes) {
    fail<ValueError>(c, c.arg(arg), " must have the shape ", text(sizes), ", got ", text(t.sizes()));
  }
  if (t.dtype != c.tensor(0).dtype) {
    fail<TypeError>(c, "query has dtype ", dtype_name(c.tensor(0).dtype), " but ", c.arg(arg), " has ",
                    dtype_name(t.dtype));
  }
}

}  // namespace

TENON_INFER(fused_attention) {
  const TensorImpl &query = c.tensor(0), &key = c.tensor(1), &value = c.tensor(2);
  for (int arg = 0; arg < 3; ++arg) {
    if (c.tensor(arg).ndim() == 4) continue;
    fail<ValueError>(c, c.arg(arg), " must be [batch, head, row, column], got ", text(c.tensor(arg).sizes()));
  }
  const int64_t batches = query.size(0), heads = query.size(1);
  const int64_t keys[] = {batches, heads, key.size(2), query.size(3)};
  const int64_t values[] = {batches, heads, key.size(2), value.size(3)};
  check_heads(c, 1, keys);
  check_heads(c, 2, values);
  if (const TensorImpl* bias = c.tensor_or_null(3)) {
    const int64_t scores[] = {batches, heads, query.size(2), key.size(2)};
    if (bias->sizes() != IntArrayRef(scores)) {
      fail<ValueError>(c, "bias must have the shape ", text(IntArrayRef(scores)), ", got ", text(bias->sizes()));
    }
    if (bias->dtype != query.dtype && bias->dtype != kFloat) {
      fail<TypeError>(c, "bias must be of ", dtype_name(query.dtype), " or float32, got ", dtype_name(bias->dtype));
    }
  }
  const int64_t out[] = {batches, heads, query.size(2), value.size(3)};
  c.set(0, out, query.dtype);
  c.checked = query.dtype;
}

}  // namespace tenon::core
