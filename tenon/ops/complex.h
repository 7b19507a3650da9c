// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Complex tensors from their parts. Private to libtenon.
#pragma once

#include "tenon/ops.h"

namespace tenon::composite {

// Of transposed parts stack keeps the order of memory, and a complex number must lie in a piece.
inline Tensor joined(const Tensor& re, const Tensor& im) {
  return tenon::view_as_complex(tenon::stack({re, im}, -1).contiguous());
}
inline Tensor to_complex(const Tensor& t) {
  return t.is_complex() ? t : t.to(toComplexType(t.scalar_type()));
}

}  // namespace tenon::composite
