// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/upsampling.h"

#include <cmath>
#include <string>
#include <vector>

#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace functional {

namespace {

using enumtype::Name;

// The size, or the factors, for the operators: one of them is absent.
struct Target {
  std::vector<int64_t> sizes;
  std::vector<double> factors;
  OptionalIntArrayRef size() const {
    return sizes.empty() ? OptionalIntArrayRef() : OptionalIntArrayRef(IntArrayRef(sizes));
  }
  std::optional<ArrayRef<double>> scale() const {
    return factors.empty() ? std::nullopt : std::optional<ArrayRef<double>>(factors);
  }
};

std::string shape_text(const std::vector<double>& factors) {
  std::string out;
  for (const double f : factors) out += core::join(out.empty() ? "[" : ", ", f);
  return out.empty() ? "[]" : out + "]";
}

Target find_target(const Tensor& input, const InterpolateFuncOptions& options, bool needs_size) {
  const std::size_t nd = static_cast<std::size_t>(input.dim() - 2);
  TENON_CHECK(
      options.size() || options.scale_factor(), ValueError,
      "interpolate: either size or scale_factor should be defined; define exactly one of size "
      "and scale_factor");
  TENON_CHECK(
      !options.size() || !options.scale_factor(), ValueError,
      "interpolate: only one of size or scale_factor should be defined; define exactly one of "
      "size and scale_factor");
  const bool recompute = options.recompute_scale_factor().value_or(false);
  TENON_CHECK(!recompute || !options.size(), ValueError,
              "interpolate: recompute_scale_factor is not meaningful with an explicit size");
  if (options.size()) {
    TENON_CHECK(options.size()->size() == nd, ValueError, "interpolate: size ",
                IntArrayRef(*options.size()), " needs ", nd, " entries for a ", input.dim(),
                "-D input");
    return {*options.size(), {}};
  }
  const std::vector<double>& factors = *options.scale_factor();
  TENON_CHECK(factors.size() == nd, ValueError,
              "interpolate: scale_factor shape must match input shape. Input is ", nd,
              "D, scale_factor size is ", shape_text(factors));
  if (!recompute && !needs_size) return {{}, factors};
  std::vector<int64_t> sizes;
  for (std::size_t d = 0; d < nd; ++d) {
    const double n = static_cast<double>(input.size(static_cast<int64_t>(d) + 2));
    sizes.push_back(static_cast<int64_t>(std::floor(n * factors[d])));
  }
  return {sizes, {}};
}

void check_rank(const Tensor& input, const char* mode, int64_t rank) {
  TENON_CHECK(input.dim() == rank, ValueError, "interpolate: mode ", mode, " needs ", rank,
              "-D input, got ", input.dim(), "-D");
}

Tensor area(const Tensor& input, IntArrayRef size) {
  if (input.dim() == 3) return tenon::adaptive_avg_pool1d(input, size);
  if (input.dim() == 4) return tenon::adaptive_avg_pool2d(input, size);
  return tenon::adaptive_avg_pool3d(input, size);
}

Tensor nearest(const Tensor& input, const Target& t) {
  if (input.dim() == 3) return tenon::upsample_nearest1d(input, t.size(), t.scale());
  if (input.dim() == 4) return tenon::upsample_nearest2d(input, t.size(), t.scale());
  return tenon::upsample_nearest3d(input, t.size(), t.scale());
}

Tensor nearest_exact(const Tensor& input, const Target& t) {
  if (input.dim() == 3) return tenon::_upsample_nearest_exact1d(input, t.size(), t.scale());
  if (input.dim() == 4) return tenon::_upsample_nearest_exact2d(input, t.size(), t.scale());
  return tenon::_upsample_nearest_exact3d(input, t.size(), t.scale());
}

}  // namespace

Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options) {
  const Name mode = options.mode().name();
  const bool picks = mode == Name::Nearest || mode == Name::NearestExact || mode == Name::Area;
  TENON_CHECK(!picks || !options.align_corners(), ValueError,
              "interpolate: align_corners option can only be set with the interpolating modes: "
              "linear | bilinear | "
              "bicubic | trilinear");
  TENON_CHECK(!options.antialias() || mode == Name::Bilinear || mode == Name::Bicubic, ValueError,
              "interpolate: antialias option is only supported for bilinear and bicubic modes");
  TENON_CHECK(input.dim() >= 3 && input.dim() <= 5, ValueError,
              "interpolate: Input Error: Only 3D, 4D and 5D input Tensors supported (got ",
              input.dim(),
              "D) for the modes: nearest | linear | bilinear | bicubic | trilinear (got ",
              enumtype::get_enum_name(options.mode()), ")");
  if (mode == Name::Linear) check_rank(input, "linear", 3);
  if (mode == Name::Bilinear) check_rank(input, "bilinear", 4);
  if (mode == Name::Bicubic) check_rank(input, "bicubic", 4);
  if (mode == Name::Trilinear) check_rank(input, "trilinear", 5);
  const Target t = find_target(input, options, mode == Name::Area);
  const bool corners = options.align_corners().value_or(false);
  switch (mode) {
    case Name::Linear:
      return tenon::upsample_linear1d(input, t.size(), corners, t.scale());
    case Name::Bilinear:
      return options.antialias()
                 ? tenon::_upsample_bilinear2d_aa(input, t.size(), corners, t.scale())
                 : tenon::upsample_bilinear2d(input, t.size(), corners, t.scale());
    case Name::Bicubic:
      return options.antialias()
                 ? tenon::_upsample_bicubic2d_aa(input, t.size(), corners, t.scale())
                 : tenon::upsample_bicubic2d(input, t.size(), corners, t.scale());
    case Name::Trilinear:
      return tenon::upsample_trilinear3d(input, t.size(), corners, t.scale());
    case Name::Area:
      return area(input, t.sizes);
    case Name::NearestExact:
      return nearest_exact(input, t);
    default:
      return nearest(input, t);
  }
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
