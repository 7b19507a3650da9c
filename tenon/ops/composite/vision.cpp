// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shuffles of pixels and channels, grids of positions, and the choice of the operator that samples
// them.
#include "tenon/core/sizes.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using core::Size;

// Positions of the pixels of a line, from -1 to 1; with the corners aligned these are the centers
// of the outer ones.
Tensor pixel_positions(const Tensor& like, int64_t n, bool align_corners) {
  const TensorOptions options = like.options().requires_grad(std::nullopt);
  if (n <= 1) return tenon::zeros({n}, options);
  const Tensor line = tenon::linspace(-1, 1, n, options);
  return align_corners ? line : line * (static_cast<double>(n - 1) / static_cast<double>(n));
}

// Channels last in memory, where `like` is so.
Tensor in_format_of(const Tensor& t, const Tensor& like) {
  return like.dim() == 4 ? t.contiguous(like.suggest_memory_format()) : t;
}

// The elements of all dimensions but the last three.
int64_t count_planes(const char* op, const Tensor& t) {
  return core::product(t.sizes().data(), t.dim() - 3).get(op, "the number of planes");
}

}  // namespace

Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor) {
  const int64_t r = upscale_factor;
  TENON_CHECK(self.dim() >= 3, ValueError,
              "pixel_shuffle expects input to have at least 3 dimensions, but got input with ",
              self.dim(), " dimension(s)");
  TENON_CHECK(r > 0, ValueError, "pixel_shuffle expects a positive upscale_factor, but got ", r);
  TENON_CHECK(self.size(-3) % r == 0 && self.size(-3) / r % r == 0, ValueError,
              "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
              "of upscale_factor, ",
              "but input.size(-3)=", self.size(-3), " is not divisible by the square of ", r);
  const int64_t channels = self.size(-3) / r / r, height = self.size(-2), width = self.size(-1);
  std::vector<int64_t> result = self.sizes().vec();
  const std::size_t d = result.size();
  result[d - 3] = channels;
  result[d - 2] = (Size(height) * r).get("pixel_shuffle", "the height");
  result[d - 1] = (Size(width) * r).get("pixel_shuffle", "the width");
  const int64_t planes = count_planes("pixel_shuffle", self);
  return in_format_of(self.reshape({planes, channels, r, r, height, width})
                          .permute({0, 1, 4, 2, 5, 3})
                          .reshape(result),
                      self);
}

Tensor pixel_unshuffle(const Tensor& self, int64_t downscale_factor) {
  const int64_t r = downscale_factor;
  TENON_CHECK(self.dim() >= 3, ValueError,
              "pixel_unshuffle expects input to have at least 3 dimensions, but got input with ",
              self.dim(), " dimension(s)");
  TENON_CHECK(r > 0, ValueError, "pixel_unshuffle expects a positive downscale_factor, but got ",
              r);
  TENON_CHECK(
      self.size(-2) % r == 0, ValueError,
      "pixel_unshuffle expects height to be divisible by downscale_factor, but input.size(-2)=",
      self.size(-2), " is not divisible by ", r);
  TENON_CHECK(
      self.size(-1) % r == 0, ValueError,
      "pixel_unshuffle expects width to be divisible by downscale_factor, but input.size(-1)=",
      self.size(-1), " is not divisible by ", r);
  const int64_t channels = self.size(-3), height = self.size(-2) / r, width = self.size(-1) / r;
  std::vector<int64_t> result = self.sizes().vec();
  const std::size_t d = result.size();
  result[d - 3] = (Size(channels) * r * r).get("pixel_unshuffle", "the number of channels");
  result[d - 2] = height, result[d - 1] = width;
  const int64_t planes = count_planes("pixel_unshuffle", self);
  return in_format_of(self.reshape({planes, channels, height, r, width, r})
                          .permute({0, 1, 3, 5, 2, 4})
                          .reshape(result),
                      self);
}

Tensor channel_shuffle(const Tensor& self, int64_t groups) {
  TENON_CHECK(self.dim() > 2, ValueError,
              "channel_shuffle expects input with > 2 dims, but got input with sizes ",
              self.sizes());
  const int64_t channels = self.size(1);
  TENON_CHECK(groups > 0, ValueError,
              "channel_shuffle: number of groups to divide channels in must be positive, got ",
              groups);
  TENON_CHECK(channels % groups == 0, ValueError,
              "channel_shuffle: number of channels must be divisible by groups, got ", channels,
              " channels and ", groups, " groups");
  std::vector<int64_t> split = self.sizes().vec();
  split[1] = groups;
  split.insert(split.begin() + 2, channels / groups);
  return in_format_of(self.reshape(split).transpose(1, 2).reshape(self.sizes()), self);
}

Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, bool align_corners) {
  const std::size_t nd = size.size() - 2;
  TENON_CHECK(size.size() == 4 || size.size() == 5, ValueError,
              "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs, got size ", size);
  const int64_t n = static_cast<int64_t>(nd);
  TENON_CHECK(
      theta.dim() == 3 && theta.size(1) == n && theta.size(2) == n + 1 && theta.size(0) == size[0],
      ValueError, "affine_grid_generator: expected a batch of ", size[0], " ", n, "x", n + 1,
      " affine matrices, got ", theta.sizes());
  // The coordinates run x, y, z: the last dimension first.
  std::vector<int64_t> shape(size.begin() + 2, size.end());
  std::vector<Tensor> columns;
  for (std::size_t k = nd; k-- > 0;) {
    std::vector<int64_t> own(nd, 1);
    own[k] = shape[k];
    columns.push_back(
        pixel_positions(theta, shape[k], align_corners).reshape(own).expand(shape).reshape({-1}));
  }
  columns.push_back(tenon::ones_like(columns[0]));
  const Tensor base = tenon::stack(columns, 1);
  std::vector<int64_t> result(shape);
  result.insert(result.begin(), size[0]);
  result.push_back(n);
  return tenon::matmul(base, theta.transpose(1, 2)).reshape(result);
}

Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                    int64_t padding_mode, bool align_corners) {
  TENON_CHECK((input.dim() == 4 || input.dim() == 5) && input.dim() == grid.dim(), ValueError,
              "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, "
              "but got input with ",
              "sizes ", input.sizes(), " and grid with sizes ", grid.sizes());
  if (input.dim() == 4)
    return tenon::grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners);
  return tenon::grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners);
}

}  // namespace tenon::composite
