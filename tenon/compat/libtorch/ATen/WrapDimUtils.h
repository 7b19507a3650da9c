// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <c10/core/WrapDimMinimal.h>

namespace at {

inline int64_t maybe_wrap_dim(int64_t dim, const ::tenon::Tensor& tensor) {
  return c10::maybe_wrap_dim(dim, tensor.dim());
}
// In place, each.
template <class Container>
void maybe_wrap_dims(Container& dims, int64_t n, bool wrap_scalars = true) {
  for (auto& d : dims) d = c10::maybe_wrap_dim(d, n, wrap_scalars);
}

}  // namespace at
