// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "tenon/arg.h"
#include "tenon/enum.h"
#include "tenon/function_ref.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {

struct L1LossOptions {
  using reduction_t = enumtype::Reduction;
  template <class T, class = std::enable_if_t<std::is_constructible_v<reduction_t, T>>>
  L1LossOptions(T reduction) : reduction_(reduction) {}
  L1LossOptions() = default;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
};

struct KLDivLossOptions {
  using reduction_t =
      enumtype::OneOf<enumtype::kNone, enumtype::kBatchMean, enumtype::kSum, enumtype::kMean>;
  template <class T, class = std::enable_if_t<std::is_constructible_v<reduction_t, T>>>
  KLDivLossOptions(T reduction) : reduction_(reduction) {}
  KLDivLossOptions() = default;
  // kBatchMean divides the sum by the batch size, which is the divergence itself.
  TENON_ARG(reduction_t, reduction) = kMean;
  // Whether the target is given as logarithms.
  TENON_ARG(bool, log_target) = false;
};

struct MSELossOptions {
  using reduction_t = enumtype::Reduction;
  template <class T, class = std::enable_if_t<std::is_constructible_v<reduction_t, T>>>
  MSELossOptions(T reduction) : reduction_(reduction) {}
  MSELossOptions() = default;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
};

struct BCELossOptions {
  using reduction_t = enumtype::Reduction;
  // A factor per element of the batch; may be undefined.
  TENON_ARG(Tensor, weight);
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
};

struct HingeEmbeddingLossOptions {
  using reduction_t = enumtype::Reduction;
  // Margin.
  TENON_ARG(double, margin) = 1.0;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
};

struct MultiMarginLossOptions {
  using reduction_t = enumtype::Reduction;
  // Exponent, 1 or 2.
  TENON_ARG(int64_t, p) = 1;
  // Margin.
  TENON_ARG(double, margin) = 1.0;
  // A factor per class; may be undefined.
  TENON_ARG(Tensor, weight);
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
};

struct CosineEmbeddingLossOptions {
  using reduction_t = enumtype::Reduction;
  // Margin.
  TENON_ARG(double, margin) = 0.0;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
};

struct MultiLabelMarginLossOptions {
  using reduction_t = enumtype::Reduction;
  template <class T, class = std::enable_if_t<std::is_constructible_v<reduction_t, T>>>
  MultiLabelMarginLossOptions(T reduction) : reduction_(reduction) {}
  MultiLabelMarginLossOptions() = default;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
};

struct SoftMarginLossOptions {
  using reduction_t = enumtype::Reduction;
  template <class T, class = std::enable_if_t<std::is_constructible_v<reduction_t, T>>>
  SoftMarginLossOptions(T reduction) : reduction_(reduction) {}
  SoftMarginLossOptions() = default;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
};

struct MultiLabelSoftMarginLossOptions {
  using reduction_t = enumtype::Reduction;
  // A factor per class; may be undefined.
  TENON_ARG(Tensor, weight);
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
};

struct TripletMarginLossOptions {
  using reduction_t = enumtype::Reduction;
  // Margin.
  TENON_ARG(double, margin) = 1.0;
  // The p of the distance.
  TENON_ARG(double, p) = 2.0;
  // Added to differences.
  TENON_ARG(double, eps) = 1e-6;
  // Whether the nearer of anchor and positive is compared with the negative.
  TENON_ARG(bool, swap) = false;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
};

struct TripletMarginWithDistanceLossOptions {
  using reduction_t = enumtype::Reduction;
  using distance_function_t = SharedFunction<Tensor(const Tensor&, const Tensor&)>;
  // The distance of two batches of vectors; pairwise_distance if not given.
  TENON_ARG(std::optional<distance_function_t>, distance_function) = std::nullopt;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
  // Margin.
  TENON_ARG(double, margin) = 1.0;
  // Whether the nearer of anchor and positive is compared with the negative.
  TENON_ARG(bool, swap) = false;
};

struct CTCLossOptions {
  using reduction_t = enumtype::Reduction;
  // The class of the blank label.
  TENON_ARG(int64_t, blank) = 0;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
  // Whether infinite losses and their gradients become zero.
  TENON_ARG(bool, zero_infinity) = false;
};

struct SmoothL1LossOptions {
  using reduction_t = enumtype::Reduction;
  template <class T, class = std::enable_if_t<std::is_constructible_v<reduction_t, T>>>
  SmoothL1LossOptions(T reduction) : reduction_(reduction) {}
  SmoothL1LossOptions() = default;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
  // Where the square ends and the absolute value begins; 1 if not given.
  TENON_ARG(std::optional<double>, beta) = std::nullopt;
};

struct HuberLossOptions {
  using reduction_t = enumtype::Reduction;
  template <class T, class = std::enable_if_t<std::is_constructible_v<reduction_t, T>>>
  HuberLossOptions(T reduction) : reduction_(reduction) {}
  HuberLossOptions() = default;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
  // Where the square ends and the absolute value begins.
  TENON_ARG(double, delta) = 1.0;
};

struct PoissonNLLLossOptions {
  using reduction_t = enumtype::Reduction;
  // Whether the input is the logarithm of the rate.
  TENON_ARG(bool, log_input) = true;
  // Whether Stirling's term is added.
  TENON_ARG(bool, full) = false;
  // Keeps the logarithm finite without log_input.
  TENON_ARG(double, eps) = 1e-8;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
};

struct GaussianNLLLossOptions {
  using reduction_t = enumtype::Reduction;
  // Whether the constant term is added.
  TENON_ARG(bool, full) = false;
  // Smallest variance.
  TENON_ARG(double, eps) = 1e-6;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
};

struct MarginRankingLossOptions {
  using reduction_t = enumtype::Reduction;
  // Margin.
  TENON_ARG(double, margin) = 0.0;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
};

struct NLLLossOptions {
  using reduction_t = enumtype::Reduction;
  // A factor per class; may be undefined.
  TENON_ARG(Tensor, weight);
  // Targets of this class are ignored.
  TENON_ARG(int64_t, ignore_index) = -100;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
};

struct CrossEntropyLossOptions {
  using reduction_t = enumtype::Reduction;
  // A factor per class; may be undefined.
  TENON_ARG(Tensor, weight);
  // Targets of this class are ignored.
  TENON_ARG(int64_t, ignore_index) = -100;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
  // Share of the target that is distributed over all classes.
  TENON_ARG(double, label_smoothing) = 0.0;
};

struct LinearCrossEntropyLossOptions {
  using reduction_t = enumtype::Reduction;
  LinearCrossEntropyLossOptions(int64_t in_features, int64_t num_classes)
      : in_features_(in_features), num_classes_(num_classes) {}
  // Features of an input.
  TENON_ARG(int64_t, in_features);
  // Classes.
  TENON_ARG(int64_t, num_classes);
  // Dimensions of the loss that follow the classes, [d1, d2, ..]: of each input that many losses.
  TENON_ARG(std::vector<int64_t>, out_features) = {};
  // Whether the linear layer adds a bias.
  TENON_ARG(bool, bias) = false;
  // A factor per class; may be undefined.
  TENON_ARG(Tensor, weight);
  // A class that does not count; not with a target of probabilities.
  TENON_ARG(std::optional<int64_t>, ignore_index) = std::nullopt;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
  // How much of each target is spread over all classes, from 0 to 1.
  TENON_ARG(double, label_smoothing) = 0.0;
};

struct BCEWithLogitsLossOptions {
  using reduction_t = enumtype::Reduction;
  // A factor per element of the batch; may be undefined.
  TENON_ARG(Tensor, weight);
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
  // A factor for positive targets, per class; may be undefined.
  TENON_ARG(Tensor, pos_weight);
};

namespace functional {
using L1LossFuncOptions = L1LossOptions;
using KLDivFuncOptions = KLDivLossOptions;
using MSELossFuncOptions = MSELossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using HingeEmbeddingLossFuncOptions = HingeEmbeddingLossOptions;
using MultiMarginLossFuncOptions = MultiMarginLossOptions;
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLossOptions;
using MultilabelMarginLossFuncOptions = MultiLabelMarginLossOptions;
using SoftMarginLossFuncOptions = SoftMarginLossOptions;
using MultilabelSoftMarginLossFuncOptions = MultiLabelSoftMarginLossOptions;
using TripletMarginLossFuncOptions = TripletMarginLossOptions;
using TripletMarginWithDistanceLossFuncOptions = TripletMarginWithDistanceLossOptions;
using CTCLossFuncOptions = CTCLossOptions;
using SmoothL1LossFuncOptions = SmoothL1LossOptions;
using HuberLossFuncOptions = HuberLossOptions;
using PoissonNLLLossFuncOptions = PoissonNLLLossOptions;
using GaussianNLLLossFuncOptions = GaussianNLLLossOptions;
using MarginRankingLossFuncOptions = MarginRankingLossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
struct LinearCrossEntropyFuncOptions {
  using reduction_t = enumtype::Reduction;
  // [classes, d1, d2, ..]; may be undefined.
  TENON_ARG(Tensor, linear_bias);
  // A factor per class; may be undefined.
  TENON_ARG(Tensor, weight);
  // A class that does not count; not with a target of probabilities.
  TENON_ARG(std::optional<int64_t>, ignore_index) = std::nullopt;
  // kNone keeps one loss per element, kMean and kSum join them.
  TENON_ARG(reduction_t, reduction) = kMean;
  // How much of each target is spread over all classes, from 0 to 1.
  TENON_ARG(double, label_smoothing) = 0.0;
};
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
}  // namespace functional

}  // namespace nn
}  // namespace tenon
