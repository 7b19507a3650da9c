// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/options/normalization.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

// Normalizes over the last dimensions. Weight and bias start as 1 and 0.
class TENON_API LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  explicit LayerNormImpl(std::vector<int64_t> normalized_shape);
  explicit LayerNormImpl(LayerNormOptions options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  LayerNormOptions options;
  Tensor weight;  // normalized_shape, or undefined
  Tensor bias;    // normalized_shape, or undefined
};
TENON_MODULE(LayerNorm);

// Divides by the root mean square over the last dimensions. Weight starts as 1.
class TENON_API RMSNormImpl : public Cloneable<RMSNormImpl> {
 public:
  explicit RMSNormImpl(std::vector<int64_t> normalized_shape);
  explicit RMSNormImpl(RMSNormOptions options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  RMSNormOptions options;
  Tensor weight;  // normalized_shape, or undefined
};
TENON_MODULE(RMSNorm);

// Normalizes groups of channels of each sample. Weight and bias start as 1 and 0.
class TENON_API GroupNormImpl : public Cloneable<GroupNormImpl> {
 public:
  GroupNormImpl(int64_t num_groups, int64_t num_channels);
  explicit GroupNormImpl(const GroupNormOptions& options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  GroupNormOptions options;
  Tensor weight;  // [num_channels], or undefined
  Tensor bias;    // [num_channels], or undefined
};
TENON_MODULE(GroupNorm);

// Divides by a power of the mean square over neighboring channels.
class TENON_API LocalResponseNormImpl : public Cloneable<LocalResponseNormImpl> {
 public:
  explicit LocalResponseNormImpl(int64_t size);
  explicit LocalResponseNormImpl(const LocalResponseNormOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  LocalResponseNormOptions options;
};
TENON_MODULE(LocalResponseNorm);

// Divides by a power of the sum of squares over neighboring channels; input is [batch, channels,
// height, width].
class TENON_API CrossMapLRN2dImpl : public Cloneable<CrossMapLRN2dImpl> {
 public:
  explicit CrossMapLRN2dImpl(int64_t size);
  explicit CrossMapLRN2dImpl(const CrossMapLRN2dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  CrossMapLRN2dOptions options;
};
TENON_MODULE(CrossMapLRN2d);

}  // namespace nn
}  // namespace tenon
