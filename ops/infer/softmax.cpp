// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of softmax.
#include "infer_args.gen.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

TENON_INFER(softmax) {
  using A = args::softmax;
  const TensorImpl& self = c.tensor(A::self);
  c.dim(c.integer(A::dim), self.ndim());
  c.set(0, self.sizes(), c.flag(A::half_to_float) ? kFloat : self.dtype);
  c.checked = self.dtype;
}

TENON_INFER(softmax_backward) {
  using A = args::softmax_backward;
  const TensorImpl &grad = c.tensor(A::grad_output), &output = c.tensor(A::output);
  c.dim(c.integer(A::dim), grad.ndim());
  if (grad.sizes() != output.sizes() || grad.dtype != output.dtype) {
    fail<ValueError>(c, "grad_output ", grad.sizes(), " of ", dtype_name(grad.dtype),
                     " must have the shape and dtype of output ", output.sizes(), " of ",
                     dtype_name(output.dtype));
  }
  c.set(0, grad.sizes(), c.dtype(A::input_dtype, grad.dtype));
  c.checked = grad.dtype;
}

namespace {

void check_heads(Infer& c, int arg, IntArrayRef sizes) {
  using A = args::fused_attention;
  const TensorImpl& t = c.tensor(arg);
  if (t.sizes() != sizes) {
    fail<ValueError>(c, c.arg(arg), " must have the shape ", sizes, ", got ", t.sizes());
  }
  if (t.dtype != c.tensor(A::query).dtype) {
    fail<TypeError>(c, "query has dtype ", dtype_name(c.tensor(A::query).dtype), " but ",
                    c.arg(arg), " has ", dtype_name(t.dtype));
  }
}

}  // namespace

TENON_INFER(fused_attention) {
  using A = args::fused_attention;
  const TensorImpl &query = c.tensor(A::query), &key = c.tensor(A::key),
                   &value = c.tensor(A::value);
  for (int arg = 0; arg < 3; ++arg) {
    if (c.tensor(arg).ndim() == 4) continue;
    fail<ValueError>(c, c.arg(arg), " must be [batch, head, row, column], got ",
                     c.tensor(arg).sizes());
  }
  const int64_t batches = query.size(0), heads = query.size(1);
  const int64_t keys[] = {batches, heads, key.size(2), query.size(3)};
  const int64_t values[] = {batches, heads, key.size(2), value.size(3)};
  check_heads(c, A::key, keys);
  check_heads(c, A::value, values);
  if (const TensorImpl* bias = c.tensor_or_null(A::bias)) {
    const int64_t scores[] = {batches, heads, query.size(2), key.size(2)};
    if (bias->sizes() != IntArrayRef(scores)) {
      fail<ValueError>(c, "bias must have the shape ", IntArrayRef(scores), ", got ",
                       bias->sizes());
    }
    if (bias->dtype != query.dtype && bias->dtype != kFloat) {
      fail<TypeError>(c, "bias must be of ", dtype_name(query.dtype), " or float32, got ",
                      dtype_name(bias->dtype));
    }
  }
  const int64_t out[] = {batches, heads, query.size(2), value.size(3)};
  c.set(0, out, query.dtype);
  c.checked = query.dtype;
}

}  // namespace tenon::core
