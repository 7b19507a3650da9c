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

}  // namespace tenon::core
