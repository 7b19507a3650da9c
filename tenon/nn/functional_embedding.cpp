// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/embedding.h"

#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace functional {

Tensor one_hot(const Tensor& tensor, int64_t num_classes) { return tenon::one_hot(tensor, num_classes); }

namespace {

// Shortens the rows of weight that are used and longer than max_norm; each such row once.
void renormalise(const Tensor& weight, const Tensor& indices, double max_norm, double norm_type) {
  NoGradGuard no_grad;
  Tensor table = weight.detach();
  const Tensor norms = table.norm(norm_type, {1}, true);
  const Tensor scale = tenon::where(norms > max_norm, max_norm / (norms + 1e-7), tenon::ones_like(norms));
  Tensor used = tenon::zeros({weight.size(0), 1}, table.options());
  used.index_fill_(0, indices.reshape({-1}), 1.0);
  table.mul_(tenon::where(used > 0, scale, tenon::ones_like(scale)));
}

}  // namespace

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options) {
  int64_t padding = -1;
  if (options.padding_idx()) {
    const int64_t rows = weight.size(0);
    padding = *options.padding_idx();
    TENON_CHECK(padding >= -rows && padding < rows, ValueError, "embedding: padding_idx must be within [", -rows, ", ",
                rows - 1, "], got ", padding);
    if (padding < 0) padding += rows;
  }
  if (options.max_norm()) renormalise(weight, input, *options.max_norm(), options.norm_type());
  return tenon::embedding(weight, input, padding, options.scale_grad_by_freq(), options.sparse());
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
