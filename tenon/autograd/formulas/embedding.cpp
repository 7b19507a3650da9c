// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas/embedding.h"

#include "tenon/core/error.h"

namespace tenon::autograd::formulas {
namespace {

Tensor looked_up_rows(const Tensor& grad, const Tensor& indices, int64_t num_weights, int64_t padding_idx) {
  Tensor at = indices.reshape({-1}).to(kLong), rows = grad.reshape({at.size(0), grad.size(-1)});
  if (padding_idx >= 0) {
    const Tensor kept = at.ne(padding_idx).nonzero().reshape({-1});
    at = at.index_select(0, kept);
    rows = rows.index_select(0, kept);
  }
  // The forward pass has looked at the indices.
  return _sparse_coo_tensor(at.unsqueeze(0), rows, {num_weights, grad.size(-1)}, false, false);
}

}  // namespace

Tensor embedding_backward(const Tensor& grad, const Tensor& indices, int64_t num_weights, int64_t padding_idx,
                          bool by_frequency, bool sparse) {
  if (!sparse) return embedding_dense_backward(grad, indices, num_weights, padding_idx, by_frequency);
  TENON_CHECK(
      !by_frequency, ValueError,
      "embedding: a sparse gradient cannot be scaled by frequency: give scale_grad_by_freq or sparse, not both");
  return looked_up_rows(grad, indices, num_weights, padding_idx);
}

Tensor embedding_double_backward(const Tensor& grad, const Tensor& indices, int64_t padding_idx, bool by_frequency) {
  Tensor flat = indices.reshape({-1});
  Tensor rows = grad.index_select(0, flat);
  if (padding_idx >= 0) rows = rows.masked_fill(flat.eq(padding_idx).unsqueeze(-1), 0);
  if (by_frequency) {
    Tensor counts = zeros({grad.size(0)}, TensorOptions(kLong).device(grad.device()))
                        .index_add_(0, flat.to(kLong), ones_like(flat, TensorOptions(kLong)));
    rows = rows / counts.index_select(0, flat).to(rows.scalar_type()).unsqueeze(-1);
  }
  std::vector<int64_t> sizes = indices.sizes().vec();
  sizes.push_back(grad.size(1));
  return rows.reshape(sizes);
}

}  // namespace tenon::autograd::formulas
