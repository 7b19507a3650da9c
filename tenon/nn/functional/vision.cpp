// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/vision.h"

#include <array>
#include <cctype>
#include <string>

#include "tenon/core/sizes.h"
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
  std::string dtype(toString(theta.scalar_type()));
  for (char& c : dtype) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  TENON_CHECK(theta.is_floating_point(), TypeError,
              "affine_grid: Expected theta to have floating point type, but got ", dtype);
  for (int64_t n : size) {
    TENON_CHECK(n > 0, ValueError, "affine_grid: Expected non-zero, positive output size. Got ",
                size);
  }
  TENON_CHECK(size.size() == 4 || size.size() == 5, ValueError,
              "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
              "respectively. Got size ",
              size);
  const auto n = static_cast<int64_t>(size.size()) - 2;
  TENON_CHECK(theta.dim() == 3 && theta.size(1) == n && theta.size(2) == n + 1, ValueError,
              "affine_grid: Expected a batch of ", n, "D affine matrices of shape Nx", n, "x",
              n + 1, " for size ", size, ". Got ", theta.sizes(), ".");
  return tenon::affine_grid_generator(theta, size, align_corners);
}

Tensor pdist(const Tensor& input, double p) { return tenon::pdist(input, p); }

Tensor fold(const Tensor& input, const FoldFuncOptions& options) {
  TENON_CHECK(input.dim() == 2 || input.dim() == 3, ValueError,
              "fold: Input Error: Only 3D input Tensors are supported (got ", input.dim(), "D)");
  return tenon::col2im(input, options.output_size(), options.kernel_size(), options.dilation(),
                       options.padding(), options.stride());
}

namespace {

// The numbers of windows along height and width must be positive.
void check_windows(const Tensor& input, const UnfoldFuncOptions& o) {
  std::array<int64_t, 2> windows;
  for (std::size_t d = 0; d < 2; ++d) {
    const int64_t stride = (*o.stride())[d];
    TENON_CHECK(stride > 0, ValueError, "unfold: stride should be greater than zero, but got ",
                IntArrayRef(o.stride()));
    const core::Size padded =
        input.size(static_cast<int64_t>(d) + 2) + core::Size(2) * (*o.padding())[d];
    const core::Size window = (*o.dilation())[d] * (core::Size((*o.kernel_size())[d]) - 1) + 1;
    const int64_t room = (padded - window).get("unfold", "a window or the padding");
    windows[d] = room < 0 ? 0 : (core::Size(room / stride) + 1).get("unfold", "the padding");
  }
  const auto pair = [](int64_t a, int64_t b) { return core::join("(", a, ", ", b, ")"); };
  const auto both = [&pair](const ExpandingArray<2>& a) { return pair((*a)[0], (*a)[1]); };
  TENON_CHECK(windows[0] > 0 && windows[1] > 0, ValueError,
              "unfold: Given input with spatial size ", pair(input.size(2), input.size(3)),
              ", kernel_size=", both(o.kernel_size()), ", dilation=", both(o.dilation()),
              ", padding=", both(o.padding()),
              ", calculated shape of the array of sliding blocks as ", pair(windows[0], windows[1]),
              ", which is too small (non-positive).");
}

}  // namespace

Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options) {
  TENON_CHECK(input.dim() == 4, ValueError,
              "unfold: Input Error: Only 4D input Tensors are supported (got ", input.dim(), "D)");
  check_windows(input, options);
  return tenon::im2col(input, options.kernel_size(), options.dilation(), options.padding(),
                       options.stride());
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
