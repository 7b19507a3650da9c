// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/vision.h"

#include <vector>

#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace functional {

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, const CosineSimilarityFuncOptions& options) {
  return tenon::cosine_similarity(x1, x2, options.dim(), options.eps());
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, const PairwiseDistanceFuncOptions& options) {
  return tenon::pairwise_distance(x1, x2, options.p(), options.eps(), options.keepdim());
}

Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options) {
  const int64_t r = options.upscale_factor();
  TENON_CHECK(input.dim() >= 3, ValueError, "pixel_shuffle: expected 3-D or larger input, got ", input.dim(), "-D");
  TENON_CHECK(r > 0 && input.size(-3) % (r * r) == 0, ValueError, "pixel_shuffle: channels ", input.size(-3),
              " are not divisible by the square of upscale_factor ", r);
  const int64_t channels = input.size(-3) / (r * r), height = input.size(-2), width = input.size(-1);
  std::vector<int64_t> result = input.sizes().vec();
  const std::size_t d = result.size();
  result[d - 3] = channels, result[d - 2] = height * r, result[d - 1] = width * r;
  return input.reshape({-1, channels, r, r, height, width}).permute({0, 1, 4, 2, 5, 3}).reshape(result);
}

Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options) {
  const int64_t r = options.downscale_factor();
  TENON_CHECK(input.dim() >= 3, ValueError, "pixel_unshuffle: expected 3-D or larger input, got ", input.dim(), "-D");
  TENON_CHECK(r > 0 && input.size(-2) % r == 0 && input.size(-1) % r == 0, ValueError, "pixel_unshuffle: size ",
              input.sizes(), " is not divisible by downscale_factor ", r);
  const int64_t channels = input.size(-3), height = input.size(-2) / r, width = input.size(-1) / r;
  std::vector<int64_t> result = input.sizes().vec();
  const std::size_t d = result.size();
  result[d - 3] = channels * r * r, result[d - 2] = height, result[d - 1] = width;
  return input.reshape({-1, channels, height, r, width, r}).permute({0, 1, 3, 5, 2, 4}).reshape(result);
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
