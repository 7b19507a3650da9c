// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators over cat.
#include <vector>

#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {

Tensor concat(TensorList tensors, int64_t dim) { return cat(tensors, dim); }

Tensor stack(TensorList tensors, int64_t dim) {
  TENON_CHECK(!tensors.empty(), ValueError, "stack: expected a non-empty list of tensors");
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    TENON_CHECK(tensors[i].sizes() == tensors[0].sizes(), ValueError,
                "stack: the tensor at position ", i, " of shape ", tensors[i].sizes(),
                " does not match ", tensors[0].sizes());
    parts.push_back(tensors[i].unsqueeze(dim));
  }
  return cat(parts, dim);
}

Tensor hstack(TensorList tensors) {
  TENON_CHECK(!tensors.empty(), ValueError, "hstack: expected a non-empty list of tensors");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(tenon::atleast_1d(t));
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}
Tensor vstack(TensorList tensors) {
  TENON_CHECK(!tensors.empty(), ValueError, "vstack: expected a non-empty list of tensors");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(tenon::atleast_2d(t));
  return cat(parts, 0);
}
Tensor dstack(TensorList tensors) {
  TENON_CHECK(!tensors.empty(), ValueError, "dstack: expected a non-empty list of tensors");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(tenon::atleast_3d(t));
  return cat(parts, 2);
}
Tensor column_stack(TensorList tensors) {
  TENON_CHECK(!tensors.empty(), ValueError, "column_stack: expected a non-empty list of tensors");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(t.dim() <= 1 ? t.reshape({t.numel(), 1}) : t);
  return tenon::hstack(parts);
}

}  // namespace tenon::composite
