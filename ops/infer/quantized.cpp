// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/infer/quantized.h"

#include "infer_args.gen.h"

namespace tenon::core {

TENON_INFER(quantize) {
  using A = args::quantize;
  const TensorImpl& self = c.tensor(A::self);
  const ScalarType dtype = c.dtype(A::dtype, ScalarType::Byte);
  check_quantized(c, dtype, c.integer(A::zero_point));
  c.set_like(0, self, dtype);
}

TENON_INFER(dequantize) {
  using A = args::dequantize;
  const TensorImpl& self = c.tensor(A::self);
  check_quantized(c, self.dtype, c.integer(A::zero_point));
  c.set_like(0, self, ScalarType::Float);
}

TENON_INFER(quantized_pair) {
  using A = args::quantized_pair;
  check_quantized(c, c.tensor(A::self).dtype, c.integer(A::self_zero));
  check_quantized(c, c.tensor(A::other).dtype, c.integer(A::other_zero));
  const ScalarType dtype = c.dtype(A::dtype, ScalarType::Byte);
  check_quantized(c, dtype, c.integer(A::zero_point));
  c.expand(A::self);
  c.expand(A::other);
  c.broadcast_shape(0, {A::self, A::other}, dtype);
}

TENON_INFER(byte_table) {
  using A = args::byte_table;
  const TensorImpl &self = c.tensor(A::self), &table = c.tensor(A::table);
  check_quantized(c, self.dtype, 0);
  check_quantized(c, table.dtype, 0);
  if (table.ndim() != 1 || table.size(0) != 256)
    fail<ValueError>(c, "expected a table of shape [256], got ", table.sizes());
  c.set_like(0, self, table.dtype);
}

}  // namespace tenon::core
