// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas/embedding.h"

#include <algorithm>

#include "tenon/batching/level.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd::formulas {
namespace {

Tensor looked_up_rows(const Tensor& grad, const Tensor& indices, int64_t num_weights,
                      int64_t padding_idx) {
  Tensor at = indices.reshape({-1}).to(kLong), rows = grad.reshape({at.size(0), grad.size(-1)});
  if (padding_idx >= 0) {
    const Tensor kept = at.ne(padding_idx).nonzero().reshape({-1});
    at = at.index_select(0, kept);
    rows = rows.index_select(0, kept);
  }
  // The forward pass has checked the indices.
  return _sparse_coo_tensor(at.unsqueeze(0), rows, {num_weights, grad.size(-1)}, false, false);
}

// By the table: a bag of each of its rows, of the gradients of the bags that the row is in. No
// gradient is copied for each index.
Tensor bags_of_rows(const Tensor& grad, const Tensor& indices, const Tensor& offset2bag,
                    std::optional<Tensor> factors, int64_t num_weights, int64_t padding_idx,
                    bool by_frequency) {
  Tensor at = indices.to(kLong);
  int64_t rows = num_weights;
  if (padding_idx >= 0) at = at.masked_fill(at.eq(padding_idx), rows++);  // a bag of its own
  const Tensor none = zeros({rows}, TensorOptions(kLong).device(grad.device()));
  const Tensor counts = batching::writable_for(none, at).index_add_(0, at, ones_like(at));
  if (by_frequency) {
    const Tensor share = 1 / counts.index_select(0, at).to(grad.scalar_type());
    factors = factors ? *factors * share : share;
  }
  const Tensor order = std::get<1>(at.sort(/*stable=*/true, 0, false));
  if (factors) factors = factors->index_select(0, order);
  const Tensor out =
      std::get<0>(_embedding_bag(grad, offset2bag.index_select(0, order), counts.cumsum(0) - counts,
                                 false, 0, false, factors, false, -1));
  return padding_idx < 0 ? out : out.narrow(0, 0, num_weights);
}

}  // namespace

Tensor embedding_backward(const Tensor& grad, const Tensor& indices, int64_t num_weights,
                          int64_t padding_idx, bool by_frequency, bool sparse) {
  if (!sparse)
    return embedding_dense_backward(grad, indices, num_weights, padding_idx, by_frequency);
  TENON_CHECK(!by_frequency, ValueError,
              "embedding: a sparse gradient cannot be scaled by frequency: give scale_grad_by_freq "
              "or sparse, not both");
  return looked_up_rows(grad, indices, num_weights, padding_idx);
}

Tensor embedding_double_backward(const Tensor& grad, const Tensor& indices, int64_t padding_idx,
                                 bool by_frequency) {
  Tensor flat = indices.reshape({-1});
  Tensor rows = grad.index_select(0, flat);
  if (padding_idx >= 0) rows = rows.masked_fill(flat.eq(padding_idx).unsqueeze(-1), 0);
  if (by_frequency) {
    const Tensor none = zeros({grad.size(0)}, TensorOptions(kLong).device(grad.device()));
    Tensor counts = batching::writable_for(none, flat)
                        .index_add_(0, flat.to(kLong), ones_like(flat, TensorOptions(kLong)));
    rows = rows / counts.index_select(0, flat).to(rows.scalar_type()).unsqueeze(-1);
  }
  std::vector<int64_t> sizes = indices.sizes().vec();
  sizes.push_back(grad.size(1));
  return rows.reshape(sizes);
}

Tensor embedding_bag_backward(const Tensor& grad, const Tensor& indices, const Tensor& offset2bag,
                              const Tensor& bag_size, const Tensor& max_indices,
                              int64_t num_weights, bool by_frequency, int64_t mode, bool sparse,
                              const std::optional<Tensor>& per_sample_weights,
                              int64_t padding_idx) {
  if (mode == 2) {
    const Tensor of_filled = where(bag_size.ne(0).unsqueeze(1), grad, 0);
    return zeros({num_weights, grad.size(1)}, grad.options().requires_grad(std::nullopt))
        .scatter_add(0, max_indices, of_filled);
  }
  const Tensor each =
      mode == 1 ? grad / bag_size.clamp_min(1).to(grad.scalar_type()).unsqueeze(1) : grad;
  if (!sparse)
    return bags_of_rows(each, indices, offset2bag, per_sample_weights, num_weights, padding_idx,
                        by_frequency);
  Tensor rows = each.index_select(0, offset2bag);  // which are the values of the result
  if (per_sample_weights) rows = rows * per_sample_weights->unsqueeze(1);
  return formulas::embedding_backward(rows, indices, num_weights, padding_idx, by_frequency, true);
}

Tensor embedding_bag_factors_backward(const Tensor& grad, const Tensor& weight,
                                      const Tensor& indices, const Tensor& offset2bag,
                                      int64_t padding_idx) {
  // So that no matrix is as long as the indices.
  const int64_t at_once = std::max<int64_t>(1, (1 << 18) / std::max<int64_t>(1, grad.size(1)));
  std::vector<Tensor> products;
  const int64_t n = indices.size(0);
  for (int64_t i = 0; i == 0 || i < n; i += at_once) {
    const auto some = [&](const Tensor& t) { return t.narrow(0, i, std::min(at_once, n - i)); };
    products.push_back(
        (grad.index_select(0, some(offset2bag)) * weight.index_select(0, some(indices))).sum(1));
  }
  const Tensor all = products.size() == 1 ? products[0] : cat(products);
  return padding_idx < 0 ? all : all.masked_fill(indices.eq(padding_idx), 0);
}

Tensor gathered_elements(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index) {
  const int64_t n = static_cast<int64_t>(sizes.size()), along = dim < 0 ? dim + n : dim;
  std::vector<Tensor> rows;
  for (int64_t d = 0; d < n; ++d) {
    if (d == along) {
      rows.push_back(index.to(kLong).reshape({-1}));
      continue;
    }
    std::vector<int64_t> shape(sizes.size(), 1);
    shape[static_cast<std::size_t>(d)] = index.size(d);
    rows.push_back(arange(index.size(d), TensorOptions(kLong).device(index.device()))
                       .reshape(shape)
                       .expand(index.sizes())
                       .reshape({-1}));
  }
  // The forward pass has checked the indices.
  return _sparse_coo_tensor(stack(rows, 0), grad.reshape({-1}), sizes, false, false);
}

}  // namespace tenon::autograd::formulas
