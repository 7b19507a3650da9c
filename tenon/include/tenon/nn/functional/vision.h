// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/options/vision.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace functional {

TENON_API Tensor cosine_similarity(const Tensor& x1, const Tensor& x2,
                                   const CosineSimilarityFuncOptions& options = {});
TENON_API Tensor pairwise_distance(const Tensor& x1, const Tensor& x2,
                                   const PairwiseDistanceFuncOptions& options = {});
// [N, C r^2, H, W] to [N, C, H r, W r].
TENON_API Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options);
TENON_API Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options);
// Values of images or volumes at the positions of a grid, from -1 to 1.
TENON_API Tensor grid_sample(const Tensor& input, const Tensor& grid,
                             const GridSampleFuncOptions& options = {});
// The positions that affine maps [N, 2, 3] or [N, 3, 4] give each pixel of images of this size.
TENON_API Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners = false);
// The distances of all pairs of vectors of input [n, size]: [n * (n - 1) / 2].
TENON_API Tensor pdist(const Tensor& input, double p = 2.0);
// Sums windows [batch, channels * window, windows] to images; the batch may be missing.
TENON_API Tensor fold(const Tensor& input, const FoldFuncOptions& options);
// The windows of images [batch, channels, height, width]: [batch, channels * window, windows].
TENON_API Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options);

}  // namespace functional
}  // namespace nn
}  // namespace tenon
