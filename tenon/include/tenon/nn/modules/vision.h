// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/options/vision.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

class TENON_API CosineSimilarityImpl : public Cloneable<CosineSimilarityImpl> {
 public:
  explicit CosineSimilarityImpl(const CosineSimilarityOptions& options_ = {});
  void reset() override;
  Tensor forward(const Tensor& x1, const Tensor& x2);
  void pretty_print(std::ostream& stream) const override;

  CosineSimilarityOptions options;
};
TENON_MODULE(CosineSimilarity);

class TENON_API PairwiseDistanceImpl : public Cloneable<PairwiseDistanceImpl> {
 public:
  explicit PairwiseDistanceImpl(const PairwiseDistanceOptions& options_ = {});
  void reset() override;
  Tensor forward(const Tensor& x1, const Tensor& x2);
  void pretty_print(std::ostream& stream) const override;

  PairwiseDistanceOptions options;
};
TENON_MODULE(PairwiseDistance);

class TENON_API PixelShuffleImpl : public Cloneable<PixelShuffleImpl> {
 public:
  explicit PixelShuffleImpl(const PixelShuffleOptions& options_);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  PixelShuffleOptions options;
};
TENON_MODULE(PixelShuffle);

class TENON_API PixelUnshuffleImpl : public Cloneable<PixelUnshuffleImpl> {
 public:
  explicit PixelUnshuffleImpl(const PixelUnshuffleOptions& options_);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  PixelUnshuffleOptions options;
};
TENON_MODULE(PixelUnshuffle);

// Sums windows to images; see functional::fold.
class TENON_API FoldImpl : public Cloneable<FoldImpl> {
 public:
  FoldImpl(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size);
  explicit FoldImpl(const FoldOptions& options_);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  FoldOptions options;
};
TENON_MODULE(Fold);

// The windows of images; see functional::unfold.
class TENON_API UnfoldImpl : public Cloneable<UnfoldImpl> {
 public:
  explicit UnfoldImpl(ExpandingArray<2> kernel_size);
  explicit UnfoldImpl(const UnfoldOptions& options_);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  UnfoldOptions options;
};
TENON_MODULE(Unfold);

}  // namespace nn
}  // namespace tenon
