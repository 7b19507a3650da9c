// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Options of distances, shuffles, folds and resampling.
#pragma once

#include <optional>
#include <vector>

#include "tenon/arg.h"
#include "tenon/enum.h"
#include "tenon/expanding_array.h"

namespace tenon {
namespace nn {

struct CosineSimilarityOptions {
  // Dimension of the vectors.
  TENON_ARG(int64_t, dim) = 1;
  // Smallest divisor.
  TENON_ARG(double, eps) = 1e-8;
};

struct PairwiseDistanceOptions {
  // The p of the norm.
  TENON_ARG(double, p) = 2.0;
  // Added to differences.
  TENON_ARG(double, eps) = 1e-6;
  // Whether the dimension of the vectors stays with size 1.
  TENON_ARG(bool, keepdim) = false;
};

struct PixelShuffleOptions {
  PixelShuffleOptions(int64_t upscale_factor) : upscale_factor_(upscale_factor) {}
  // Factor of height and width.
  TENON_ARG(int64_t, upscale_factor);
};

struct PixelUnshuffleOptions {
  PixelUnshuffleOptions(int64_t downscale_factor) : downscale_factor_(downscale_factor) {}
  // Divisor of height and width.
  TENON_ARG(int64_t, downscale_factor);
};

struct FoldOptions {
  FoldOptions(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
      : output_size_(output_size), kernel_size_(kernel_size) {}
  // Height and width of the result.
  TENON_ARG(ExpandingArray<2>, output_size);
  // Size of the window.
  TENON_ARG(ExpandingArray<2>, kernel_size);
  // Distance between elements of the window.
  TENON_ARG(ExpandingArray<2>, dilation) = 1;
  // Border on both sides.
  TENON_ARG(ExpandingArray<2>, padding) = 0;
  // Step of the window.
  TENON_ARG(ExpandingArray<2>, stride) = 1;
};

struct UnfoldOptions {
  UnfoldOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size) {}
  // Size of the window.
  TENON_ARG(ExpandingArray<2>, kernel_size);
  // Distance between elements of the window.
  TENON_ARG(ExpandingArray<2>, dilation) = 1;
  // Border on both sides.
  TENON_ARG(ExpandingArray<2>, padding) = 0;
  // Step of the window.
  TENON_ARG(ExpandingArray<2>, stride) = 1;
};

struct UpsampleOptions {
  using mode_t = enumtype::OneOf<enumtype::kNearest, enumtype::kLinear, enumtype::kBilinear,
                                 enumtype::kBicubic, enumtype::kTrilinear>;
  // Spatial size of the result; or else scale_factor.
  TENON_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  // Factors of the spatial sizes; or else size.
  TENON_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
  // How values between pixels are made.
  TENON_ARG(mode_t, mode) = kNearest;
  // Whether the centers of the corner pixels stay; not for kNearest.
  TENON_ARG(std::optional<bool>, align_corners) = std::nullopt;
};

namespace functional {
using CosineSimilarityFuncOptions = CosineSimilarityOptions;
using PairwiseDistanceFuncOptions = PairwiseDistanceOptions;
using PixelShuffleFuncOptions = PixelShuffleOptions;
using PixelUnshuffleFuncOptions = PixelUnshuffleOptions;
using FoldFuncOptions = FoldOptions;
using UnfoldFuncOptions = UnfoldOptions;

struct InterpolateFuncOptions {
  using mode_t = enumtype::OneOf<enumtype::kNearest, enumtype::kLinear, enumtype::kBilinear,
                                 enumtype::kBicubic, enumtype::kTrilinear, enumtype::kArea,
                                 enumtype::kNearestExact>;
  // Spatial size of the result; or else scale_factor.
  TENON_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  // Factors of the spatial sizes; or else size.
  TENON_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
  // How values between pixels are made.
  TENON_ARG(mode_t, mode) = kNearest;
  // Whether the centers of the corner pixels stay; only for the linear and cubic modes.
  TENON_ARG(std::optional<bool>, align_corners) = std::nullopt;
  // Whether the factor is computed again from the rounded size.
  TENON_ARG(std::optional<bool>, recompute_scale_factor) = std::nullopt;
  // Whether shrinking averages; only for kBilinear and kBicubic.
  TENON_ARG(bool, antialias) = false;
};

struct GridSampleFuncOptions {
  using mode_t = enumtype::OneOf<enumtype::kBilinear, enumtype::kNearest, enumtype::kBicubic>;
  using padding_mode_t =
      enumtype::OneOf<enumtype::kZeros, enumtype::kBorder, enumtype::kReflection>;
  // How values between pixels are made.
  TENON_ARG(mode_t, mode) = kBilinear;
  // What lies outside the image.
  TENON_ARG(padding_mode_t, padding_mode) = kZeros;
  // Whether -1 and 1 are the centers of the corner pixels; false if not given.
  TENON_ARG(std::optional<bool>, align_corners) = std::nullopt;
};
}  // namespace functional

}  // namespace nn
}  // namespace tenon
