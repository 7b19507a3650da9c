// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes and dtypes of the primitives.
#include <algorithm>

#include "infer_args.gen.h"
#include "tenon/abi/primitives.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

TENON_INFER(scatter_src);

namespace {

int64_t code_of(const Infer& c, int i, int64_t last) {
  const int64_t code = c.integer(i);
  if (code < 0 || code > last)
    fail<ValueError>(c, c.arg(i), " must be in [0, ", last, "], got ", code);
  return code;
}

}  // namespace

TENON_INFER(prim_unary) {
  using A = args::prim_unary;
  const TensorImpl& t = c.tensor(A::self);
  const bool is_bool = code_of(c, A::code, UINT8_MAX) >= TN_UNARY_LOGICAL_NOT;
  c.compute = t.dtype;
  c.broadcast_shape(0, {A::self}, is_bool ? kBool : t.dtype);
}

TENON_INFER(prim_binary) {
  using A = args::prim_binary;
  const bool is_bool = code_of(c, A::code, UINT8_MAX) >= TN_BINARY_EQ;
  c.compute = c.promoted({A::self, A::other});
  for (int i = 0; i < 2; ++i) {
    c.cast(i);
    c.expand(i);
  }
  c.broadcast_shape(0, {A::self, A::other}, is_bool ? kBool : c.compute);
}

TENON_INFER(prim_reduce) {
  using A = args::prim_reduce;
  const TensorImpl& t = c.tensor(A::self);
  const int dim = c.dim(c.integer(A::dim), t.ndim());
  const int64_t code = code_of(c, A::code, TN_REDUCE_ALL);
  if (code >= TN_REDUCE_MAX && code <= TN_REDUCE_ARGMIN && t.ndim() > 0 && t.size(dim) == 0) {
    fail<IndexError>(c, "dimension ", dim, " of size 0 has no largest or smallest element");
  }
  int64_t sizes[kMaxDims];
  std::copy(t.sizes().begin(), t.sizes().end(), sizes);
  if (t.ndim() > 0) sizes[dim] = 1;
  const bool where = code == TN_REDUCE_ARGMAX || code == TN_REDUCE_ARGMIN;
  c.set(0, {sizes, static_cast<std::size_t>(t.ndim())},
        where                   ? kLong
        : code >= TN_REDUCE_ANY ? kBool
                                : t.dtype);
}

TENON_INFER(prim_scan) {
  using A = args::prim_scan;
  const TensorImpl& t = c.tensor(A::self);
  c.dim(c.integer(A::dim), t.ndim());
  code_of(c, A::code, TN_REDUCE_MIN);
  c.set(0, t.sizes(), t.dtype);
}

TENON_INFER(prim_scatter) {
  using A = args::prim_scatter;
  code_of(c, A::code, UINT8_MAX);
  infer_scatter_src(c);
}

TENON_INFER(prim_argsort) {
  using A = args::prim_argsort;
  c.set(0, c.tensor(A::self).sizes(), kLong);
}

TENON_INFER(prim_philox) {
  using A = args::prim_philox;
  if (c.dtype(A::dtype, kInt) != kInt)
    fail<TypeError>(c, "words are int32, got ", c.arg(A::dtype), " ",
                    dtype_name(c.dtype(A::dtype, kInt)));
  c.set_device(A::device);
  c.checked = kInt;
  c.set(0, c.ints(A::size), kInt);
}

}  // namespace tenon::core
