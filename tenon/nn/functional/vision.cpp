// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/vision.h"

#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace functional {

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2,
                         const CosineSimilarityFuncOptions& options) {
  return tenon::cosine_similarity(x1, x2, options.dim(), options.eps());
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2,
                         const PairwiseDistanceFuncOptions& options) {
  return tenon::pairwise_distance(x1, x2, options.p(), options.eps(), options.keepdim());
}

Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options) {
  return tenon::pixel_shuffle(input, options.upscale_factor());
}

Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options) {
  return tenon::pixel_unshuffle(input, options.downscale_factor());
}

Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& options) {
  using enumtype::Name;
  const Name mode = options.mode().name(), border = options.padding_mode().name();
  return tenon::grid_sampler(input, grid,
                             mode == Name::Bilinear  ? 0
                             : mode == Name::Nearest ? 1
                                                     : 2,
                             border == Name::Zeros    ? 0
                             : border == Name::Border ? 1
                                                      : 2,
                             options.align_corners().value_or(false));
}

Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners) {
  TENON_CHECK(theta.is_floating_point(), TypeError,
              "affine_grid: expected theta to have floating point type, but got ",
              toString(theta.scalar_type()));
  for (int64_t n : size) {
    TENON_CHECK(n > 0, ValueError, "affine_grid: expected non-zero, positive output size. Got ",
                size);
  }
  return tenon::affine_grid_generator(theta, size, align_corners);
}

Tensor pdist(const Tensor& input, double p) { return tenon::pdist(input, p); }

Tensor fold(const Tensor& input, const FoldFuncOptions& options) {
  TENON_CHECK(input.dim() == 2 || input.dim() == 3, ValueError,
              "Input Error: Only 3D input Tensors are supported (got ", input.dim(), "D)");
  return tenon::col2im(input, options.output_size(), options.kernel_size(), options.dilation(),
                       options.padding(), options.stride());
}

Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options) {
  TENON_CHECK(input.dim() == 3 || input.dim() == 4, ValueError,
              "Input Error: Only 4D input Tensors are supported (got ", input.dim(), "D)");
  return tenon::im2col(input, options.kernel_size(), options.dilation(), options.padding(),
                       options.stride());
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
