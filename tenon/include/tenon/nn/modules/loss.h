// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/modules/linear.h"
#include "tenon/nn/options/loss.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

// Losses as modules; the formulas are in nn/functional/loss.h.
class TENON_API L1LossImpl : public Cloneable<L1LossImpl> {
 public:
  explicit L1LossImpl(L1LossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  L1LossOptions options;
};
TENON_MODULE(L1Loss);

class TENON_API MSELossImpl : public Cloneable<MSELossImpl> {
 public:
  explicit MSELossImpl(MSELossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  MSELossOptions options;
};
TENON_MODULE(MSELoss);

class TENON_API SmoothL1LossImpl : public Cloneable<SmoothL1LossImpl> {
 public:
  explicit SmoothL1LossImpl(SmoothL1LossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  SmoothL1LossOptions options;
};
TENON_MODULE(SmoothL1Loss);

class TENON_API HuberLossImpl : public Cloneable<HuberLossImpl> {
 public:
  explicit HuberLossImpl(HuberLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  HuberLossOptions options;
};
TENON_MODULE(HuberLoss);

class TENON_API NLLLossImpl : public Cloneable<NLLLossImpl> {
 public:
  explicit NLLLossImpl(NLLLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  NLLLossOptions options;
  Tensor weight;  // a buffer, or undefined
};
TENON_MODULE(NLLLoss);

class TENON_API CrossEntropyLossImpl : public Cloneable<CrossEntropyLossImpl> {
 public:
  explicit CrossEntropyLossImpl(CrossEntropyLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  CrossEntropyLossOptions options;
  Tensor weight;  // a buffer, or undefined
};
TENON_MODULE(CrossEntropyLoss);

// The cross entropy of what a linear layer makes of the input. Its weight is [classes * d1 * d2 ..,
// in_features], of out_features d1, d2, ..
class TENON_API LinearCrossEntropyLossImpl : public Cloneable<LinearCrossEntropyLossImpl> {
 public:
  LinearCrossEntropyLossImpl(int64_t in_features, int64_t num_classes)
      : LinearCrossEntropyLossImpl(LinearCrossEntropyLossOptions(in_features, num_classes)) {}
  explicit LinearCrossEntropyLossImpl(LinearCrossEntropyLossOptions options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  LinearCrossEntropyLossOptions options;
  Linear linear = nullptr;
  Tensor weight;  // a buffer, or undefined
};
TENON_MODULE(LinearCrossEntropyLoss);

class TENON_API BCELossImpl : public Cloneable<BCELossImpl> {
 public:
  explicit BCELossImpl(BCELossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  BCELossOptions options;
  Tensor weight;  // a buffer, or undefined
};
TENON_MODULE(BCELoss);

class TENON_API BCEWithLogitsLossImpl : public Cloneable<BCEWithLogitsLossImpl> {
 public:
  explicit BCEWithLogitsLossImpl(BCEWithLogitsLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  BCEWithLogitsLossOptions options;
  Tensor weight;      // a buffer, or undefined
  Tensor pos_weight;  // a buffer, or undefined
};
TENON_MODULE(BCEWithLogitsLoss);

class TENON_API KLDivLossImpl : public Cloneable<KLDivLossImpl> {
 public:
  explicit KLDivLossImpl(KLDivLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  KLDivLossOptions options;
};
TENON_MODULE(KLDivLoss);

class TENON_API PoissonNLLLossImpl : public Cloneable<PoissonNLLLossImpl> {
 public:
  explicit PoissonNLLLossImpl(PoissonNLLLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  PoissonNLLLossOptions options;
};
TENON_MODULE(PoissonNLLLoss);

class TENON_API HingeEmbeddingLossImpl : public Cloneable<HingeEmbeddingLossImpl> {
 public:
  explicit HingeEmbeddingLossImpl(HingeEmbeddingLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  HingeEmbeddingLossOptions options;
};
TENON_MODULE(HingeEmbeddingLoss);

class TENON_API SoftMarginLossImpl : public Cloneable<SoftMarginLossImpl> {
 public:
  explicit SoftMarginLossImpl(SoftMarginLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  SoftMarginLossOptions options;
};
TENON_MODULE(SoftMarginLoss);

class TENON_API MultiMarginLossImpl : public Cloneable<MultiMarginLossImpl> {
 public:
  explicit MultiMarginLossImpl(MultiMarginLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  MultiMarginLossOptions options;
  Tensor weight;  // a buffer, or undefined
};
TENON_MODULE(MultiMarginLoss);

class TENON_API MultiLabelMarginLossImpl : public Cloneable<MultiLabelMarginLossImpl> {
 public:
  explicit MultiLabelMarginLossImpl(MultiLabelMarginLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  MultiLabelMarginLossOptions options;
};
TENON_MODULE(MultiLabelMarginLoss);

class TENON_API MultiLabelSoftMarginLossImpl : public Cloneable<MultiLabelSoftMarginLossImpl> {
 public:
  explicit MultiLabelSoftMarginLossImpl(MultiLabelSoftMarginLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  MultiLabelSoftMarginLossOptions options;
  Tensor weight;  // a buffer, or undefined
};
TENON_MODULE(MultiLabelSoftMarginLoss);

class TENON_API GaussianNLLLossImpl : public Cloneable<GaussianNLLLossImpl> {
 public:
  explicit GaussianNLLLossImpl(GaussianNLLLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target, const Tensor& var);

  GaussianNLLLossOptions options;
};
TENON_MODULE(GaussianNLLLoss);

class TENON_API CosineEmbeddingLossImpl : public Cloneable<CosineEmbeddingLossImpl> {
 public:
  explicit CosineEmbeddingLossImpl(CosineEmbeddingLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target);

  CosineEmbeddingLossOptions options;
};
TENON_MODULE(CosineEmbeddingLoss);

class TENON_API MarginRankingLossImpl : public Cloneable<MarginRankingLossImpl> {
 public:
  explicit MarginRankingLossImpl(MarginRankingLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target);

  MarginRankingLossOptions options;
};
TENON_MODULE(MarginRankingLoss);

class TENON_API TripletMarginLossImpl : public Cloneable<TripletMarginLossImpl> {
 public:
  explicit TripletMarginLossImpl(TripletMarginLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative);

  TripletMarginLossOptions options;
};
TENON_MODULE(TripletMarginLoss);

class TENON_API TripletMarginWithDistanceLossImpl
    : public Cloneable<TripletMarginWithDistanceLossImpl> {
 public:
  explicit TripletMarginWithDistanceLossImpl(TripletMarginWithDistanceLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative);

  TripletMarginWithDistanceLossOptions options;
};
TENON_MODULE(TripletMarginWithDistanceLoss);

class TENON_API CTCLossImpl : public Cloneable<CTCLossImpl> {
 public:
  explicit CTCLossImpl(CTCLossOptions options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                 const Tensor& target_lengths);

  CTCLossOptions options;
};
TENON_MODULE(CTCLoss);

}  // namespace nn
}  // namespace tenon
