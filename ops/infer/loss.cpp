// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of losses.
#include "infer_args.gen.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

void check_reduction(Infer& c, int at) {
  const int64_t code = c.integer(at);
  if (code < 0 || code > 2)
    fail<ValueError>(c, "reduction must be 0 (none), 1 (mean) or 2 (sum), got ", code);
}

void check_target(Infer& c) {
  using A = args::nll_loss;
  const TensorImpl &self = c.tensor(A::self), &target = c.tensor(A::target);
  if (!isIntegralType(target.dtype)) {
    fail<TypeError>(c, "target must hold classes of an integral dtype, got ",
                    dtype_name(target.dtype));
  }
  const int64_t classes = self.size(self.ndim() == 1 ? 0 : 1);
  if (const TensorImpl* weight = c.tensor_or_null(A::weight)) {
    if (weight->ndim() != 1 || weight->size(0) != classes) {
      fail<ValueError>(c, "weight must have one entry for each of ", classes,
                       " classes, got shape ", weight->sizes());
    }
    if (weight->dtype != self.dtype) {
      fail<TypeError>(c, "weight must have the input's dtype ", dtype_name(self.dtype), ", got ",
                      dtype_name(weight->dtype));
    }
  }
  check_reduction(c, A::reduction);
}

void outputs(Infer& c, IntArrayRef target) {
  using A = args::nll_loss;
  const ScalarType dtype = c.tensor(A::self).dtype;
  c.set(0, c.integer(A::reduction) == 0 ? target : IntArrayRef{}, dtype);
  c.set(1, {}, dtype);
  c.checked = dtype;
}

}  // namespace

TENON_INFER(nll_loss) {
  using A = args::nll_loss;
  const TensorImpl &self = c.tensor(A::self), &target = c.tensor(A::target);
  if (self.ndim() < 1 || self.ndim() > 2) {
    fail<ValueError>(c, "expected 1-D or 2-D input, got ", self.ndim(), "-D input of shape ",
                     self.sizes());
  }
  if (target.ndim() > 1 || (self.ndim() == 1 && target.numel != 1)) {
    fail<ValueError>(c, "expected a target of one class for each row of input ", self.sizes(),
                     ", got shape ", target.sizes());
  }
  if (self.ndim() == 2 && (target.ndim() != 1 || target.size(0) != self.size(0))) {
    fail<ValueError>(c, "batch size of input (", self.size(0), ") and target (",
                     target.ndim() ? target.size(0) : 1, ") differ");
  }
  check_target(c);
  outputs(c, target.sizes());
}

TENON_INFER(nll_loss2d) {
  using A = args::nll_loss2d;
  const TensorImpl &self = c.tensor(A::self), &target = c.tensor(A::target);
  if (self.ndim() != 4 || target.ndim() != 3) {
    fail<ValueError>(c, "expected 4-D input and 3-D target, got ", self.ndim(), "-D input ",
                     self.sizes(), " and target ", target.sizes());
  }
  if (self.size(0) != target.size(0)) {
    fail<ValueError>(c, "batch size of input (", self.size(0), ") and target (", target.size(0),
                     ") differ");
  }
  if (self.size(2) != target.size(1) || self.size(3) != target.size(2)) {
    fail<ValueError>(c, "input ", self.sizes(), " and target ", target.sizes(), " differ in size");
  }
  check_target(c);
  outputs(c, target.sizes());
}

TENON_INFER(nll_loss_backward) {
  using A = args::nll_loss_backward;
  const TensorImpl &grad = c.tensor(A::grad_output), &self = c.tensor(A::self),
                   &target = c.tensor(A::target), &total = c.tensor(A::total_weight);
  if (!isIntegralType(target.dtype)) {
    fail<TypeError>(c, "target must hold classes of an integral dtype, got ",
                    dtype_name(target.dtype));
  }
  check_reduction(c, A::reduction);
  if (self.ndim() == 0) fail<ValueError>(c, "expected an input of classes, got a 0-dim one");
  const int64_t classes = self.size(self.ndim() == 1 ? 0 : 1);
  if (c.take(Size(target.numel) * classes) != self.numel) {
    fail<ValueError>(c, "input ", self.sizes(), " and target ", target.sizes(), " do not fit");
  }
  const TensorImpl* weight = c.tensor_or_null(A::weight);
  if (weight && (weight->ndim() != 1 || weight->size(0) != classes)) {
    fail<ValueError>(c, "weight must have one entry for each of ", classes, " classes, got shape ",
                     weight->sizes());
  }
  if (grad.numel != (c.integer(A::reduction) == 0 ? target.numel : 1) || total.numel != 1) {
    fail<ValueError>(c, "grad_output of shape ", grad.sizes(), " and total_weight of shape ",
                     total.sizes(), " do not fit target ", target.sizes(), " with reduction ",
                     c.integer(A::reduction));
  }
  for (const TensorImpl* t : {&grad, weight, &total}) {
    if (t && t->dtype != self.dtype) {
      fail<TypeError>(c, "expected all operands to have the input's dtype ", dtype_name(self.dtype),
                      ", got ", dtype_name(t->dtype));
    }
  }
  c.set(0, self.sizes(), self.dtype);
  c.checked = self.dtype;
}

}  // namespace tenon::core
