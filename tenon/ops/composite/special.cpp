// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Special functions that are compositions of others.
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/wide.h"

namespace tenon::composite {

Tensor special_ndtr(const Tensor& self) {
  return rounded(tenon::erfc(wide(self) * -0.70710678118654752440) * 0.5, self);
}

}  // namespace tenon::composite
