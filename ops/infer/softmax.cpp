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

// Where an operator on attention has its arguments.
struct HeadArgs {
  int query, key, value, bias;
};

void check_heads(Infer& c, int query, int arg, IntArrayRef sizes) {
  const TensorImpl& t = c.tensor(arg);
  if (t.sizes() != sizes) {
    fail<ValueError>(c, c.arg(arg), " must have the shape ", sizes, ", got ", t.sizes());
  }
  if (t.dtype != c.tensor(query).dtype) {
    fail<TypeError>(c, "query has dtype ", dtype_name(c.tensor(query).dtype), " but ", c.arg(arg),
                    " has ", dtype_name(t.dtype));
  }
}

ScalarType dtype_of_sums(ScalarType dtype) {
  return dtype == kHalf || dtype == kBFloat16 ? kFloat : dtype;
}

void check_attention(Infer& c, const HeadArgs& args) {
  const TensorImpl &query = c.tensor(args.query), &key = c.tensor(args.key),
                   &value = c.tensor(args.value);
  for (int arg : {args.query, args.key, args.value}) {
    if (c.tensor(arg).ndim() == 4) continue;
    fail<ValueError>(c, c.arg(arg), " must be [batch, head, row, column], got ",
                     c.tensor(arg).sizes());
  }
  const int64_t batches = query.size(0), heads = query.size(1);
  const int64_t keys[] = {batches, heads, key.size(2), query.size(3)};
  const int64_t values[] = {batches, heads, key.size(2), value.size(3)};
  check_heads(c, args.query, args.key, keys);
  check_heads(c, args.query, args.value, values);
  if (const TensorImpl* bias = c.tensor_or_null(args.bias)) {
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
  c.checked = query.dtype;
}

}  // namespace

TENON_INFER(fused_attention) {
  using A = args::fused_attention;
  check_attention(c, {A::query, A::key, A::value, A::bias});
  const TensorImpl &query = c.tensor(A::query), &value = c.tensor(A::value);
  const int64_t out[] = {query.size(0), query.size(1), query.size(2), value.size(3)};
  c.set(0, out, query.dtype);
  c.set(1, IntArrayRef(out, 3), dtype_of_sums(query.dtype));
}

TENON_INFER(fused_attention_backward) {
  using A = args::fused_attention_backward;
  check_attention(c, {A::query, A::key, A::value, A::bias});
  const TensorImpl &query = c.tensor(A::query), &key = c.tensor(A::key),
                   &value = c.tensor(A::value), &sums = c.tensor(A::logsumexp);
  const int64_t out[] = {query.size(0), query.size(1), query.size(2), value.size(3)};
  check_heads(c, A::query, A::grad_output, out);
  check_heads(c, A::query, A::output, out);
  const ScalarType wide = dtype_of_sums(query.dtype);
  if (sums.sizes() != IntArrayRef(out, 3) || (sums.dtype != wide && sums.dtype != query.dtype)) {
    fail<ValueError>(c, "logsumexp must have the shape ", IntArrayRef(out, 3), " and dtype ",
                     dtype_name(wide), ", got ", sums.sizes(), " of ", dtype_name(sums.dtype));
  }
  c.set(0, query.sizes(), query.dtype);
  c.set(1, key.sizes(), query.dtype);
  c.set(2, value.sizes(), query.dtype);
}

}  // namespace tenon::core
