// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/embedding.h"

#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace functional {

Tensor one_hot(const Tensor& tensor, int64_t num_classes) {
  return tenon::one_hot(tensor, num_classes);
}

namespace {

// Shortens the rows of weight that are used and longer than max_norm; each such row once.
void renormalize(const Tensor& weight, const Tensor& indices, double max_norm, double norm_type) {
  NoGradGuard no_grad;
  Tensor table = weight.detach();
  const Tensor used = std::get<0>(tenon::_unique2(indices.reshape({-1}))),
               rows = table.index_select(0, used);
  const Tensor norms = rows.norm(norm_type, {1}, true);
  const Tensor scale =
      tenon::where(norms > max_norm, max_norm / (norms + 1e-7), tenon::ones_like(norms));
  table.index_copy_(0, used, rows * scale);
}

// The bags as embedding_bag takes them: flat, with offsets.
struct Bags {
  Tensor input, offsets, factors;
};

Bags flatten_bags(const Tensor& input, const EmbeddingBagFuncOptions& options) {
  Bags bags{input, options.offsets(), options.per_sample_weights()};
  TENON_CHECK(!bags.factors.defined() || input.sizes() == bags.factors.sizes(), ValueError,
              "embedding_bag: If per_sample_weights (", bags.factors.sizes(),
              ") is not null, then it must have the same shape as the input (", input.sizes(), ")");
  TENON_CHECK(input.dim() == 1 || input.dim() == 2, ValueError,
              "embedding_bag: input has to be 1D or 2D Tensor, but got Tensor of dimension ",
              input.dim());
  if (input.dim() == 1) {
    TENON_CHECK(bags.offsets.defined(), ValueError,
                "embedding_bag: offsets has to be a 1D Tensor but got null");
    TENON_CHECK(bags.offsets.dim() == 1, ValueError,
                "embedding_bag: offsets has to be a 1D Tensor, got ", bags.offsets.sizes());
    return bags;
  }
  TENON_CHECK(!bags.offsets.defined(), ValueError,
              "embedding_bag: If input is 2D, then offsets has to be null, as input is treated as "
              "a mini-batch of fixed "
              "length sequences. However, found offsets of shape ",
              bags.offsets.sizes());
  const int64_t last = options.include_last_offset() ? 1 : 0;
  bags.offsets = tenon::arange(input.size(0) + last, TensorOptions(kLong).device(input.device())) *
                 input.size(1);
  bags.input = input.reshape({-1});
  if (bags.factors.defined()) bags.factors = bags.factors.reshape({-1});
  return bags;
}

int64_t mode_code(const EmbeddingBagFuncOptions& o) {
  const bool sum = o.mode().is<enumtype::kSum>(), max = o.mode().is<enumtype::kMax>();
  TENON_CHECK(!max || !o.scale_grad_by_freq(), ValueError,
              "embedding_bag: max mode does not support scaling the gradient by the frequency");
  TENON_CHECK(!max || !o.sparse(), ValueError,
              "embedding_bag: max mode does not support sparse weights");
  TENON_CHECK(sum || !o.per_sample_weights().defined(), ValueError,
              "embedding_bag: per_sample_weights was not null. per_sample_weights is only "
              "supported for mode='kSum' "
              "(got mode='",
              max ? "kMax" : "kMean", "')");
  return sum ? 0 : max ? 2 : 1;
}

}  // namespace

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options) {
  int64_t padding = -1;
  if (options.padding_idx()) {
    const int64_t rows = weight.size(0);
    padding = *options.padding_idx();
    TENON_CHECK(padding >= -rows && padding < rows, ValueError,
                "embedding: padding_idx must be within [", -rows, ", ", rows - 1, "], got ",
                padding);
    if (padding < 0) padding += rows;
  }
  if (options.max_norm()) renormalize(weight, input, *options.max_norm(), options.norm_type());
  return tenon::embedding(weight, input, padding, options.scale_grad_by_freq(), options.sparse());
}

Tensor embedding_bag(const Tensor& input, const Tensor& weight,
                     const EmbeddingBagFuncOptions& options) {
  const Bags bags = flatten_bags(input, options);
  const int64_t mode = mode_code(options);
  if (options.max_norm()) renormalize(weight, bags.input, *options.max_norm(), options.norm_type());
  const std::optional<Tensor> factors =
      bags.factors.defined() ? std::optional<Tensor>(bags.factors) : std::nullopt;
  return std::get<0>(tenon::embedding_bag(
      weight, bags.input, bags.offsets, options.scale_grad_by_freq(), mode, options.sparse(),
      factors, options.include_last_offset(), options.padding_idx()));
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
