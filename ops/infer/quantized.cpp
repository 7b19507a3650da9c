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

}  // namespace tenon::core
