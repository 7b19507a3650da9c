// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Private to libtenon: what a factory fills is made without history, and asks for one at the end.
#pragma once

#include "tenon/tensor.h"

namespace tenon::composite {

inline TensorOptions plain(const TensorOptions& o) { return o.requires_grad(std::nullopt); }

inline Tensor finish(Tensor t, const TensorOptions& o) {
  if (o.requires_grad()) t.set_requires_grad(true);
  return t;
}

}  // namespace tenon::composite
