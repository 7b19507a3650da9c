// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators on tensors of a layout other than strided.
#include "infer_args.gen.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

// The layout itself has ruled before this is asked: here is nothing but strided tensors.
TENON_INFER(layout) {
  fail<TypeError>(c, "expected a tensor with a layout of its own, got a strided one");
}

TENON_INFER(to_dense) {
  using A = args::to_dense;
  c.set(0, c.tensor(A::self).sizes(), c.dtype(A::dtype, c.tensor(A::self).dtype));
}

}  // namespace tenon::core
