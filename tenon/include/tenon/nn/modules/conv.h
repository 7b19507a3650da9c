// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/modules/any_value.h"
#include "tenon/nn/options/conv.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

// Weight and bias start uniform within 1 / sqrt(in_channels / groups * elements of the kernel).
class TENON_API Conv1dImpl : public Cloneable<Conv1dImpl> {
 public:
  Conv1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size);
  explicit Conv1dImpl(Conv1dOptions options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  Conv1dOptions options;
  Tensor weight;  // [out_channels, in_channels / groups, kernel_size...]
  Tensor bias;    // [out_channels], or undefined
};
TENON_MODULE(Conv1d);

class TENON_API Conv2dImpl : public Cloneable<Conv2dImpl> {
 public:
  Conv2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size);
  explicit Conv2dImpl(Conv2dOptions options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  Conv2dOptions options;
  Tensor weight;  // [out_channels, in_channels / groups, kernel_size...]
  Tensor bias;    // [out_channels], or undefined
};
TENON_MODULE(Conv2d);

class TENON_API Conv3dImpl : public Cloneable<Conv3dImpl> {
 public:
  Conv3dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<3> kernel_size);
  explicit Conv3dImpl(Conv3dOptions options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  Conv3dOptions options;
  Tensor weight;  // [out_channels, in_channels / groups, kernel_size...]
  Tensor bias;    // [out_channels], or undefined
};
TENON_MODULE(Conv3d);

// The gradient of a convolution as a layer. output_size settles which of several sizes the result
// gets.
class TENON_API ConvTranspose1dImpl : public Cloneable<ConvTranspose1dImpl> {
 public:
  ConvTranspose1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size);
  explicit ConvTranspose1dImpl(ConvTranspose1dOptions options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const std::optional<IntArrayRef>& output_size = std::nullopt);

  ConvTranspose1dOptions options;
  Tensor weight;  // [in_channels, out_channels / groups, kernel_size...]
  Tensor bias;    // [out_channels], or undefined

 private:
  friend struct detail::AnyAccess;
  std::vector<std::pair<unsigned, AnyValue>> _forward_default_args() const;
};
TENON_MODULE(ConvTranspose1d);

class TENON_API ConvTranspose2dImpl : public Cloneable<ConvTranspose2dImpl> {
 public:
  ConvTranspose2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size);
  explicit ConvTranspose2dImpl(ConvTranspose2dOptions options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const std::optional<IntArrayRef>& output_size = std::nullopt);

  ConvTranspose2dOptions options;
  Tensor weight;  // [in_channels, out_channels / groups, kernel_size...]
  Tensor bias;    // [out_channels], or undefined

 private:
  friend struct detail::AnyAccess;
  std::vector<std::pair<unsigned, AnyValue>> _forward_default_args() const;
};
TENON_MODULE(ConvTranspose2d);

class TENON_API ConvTranspose3dImpl : public Cloneable<ConvTranspose3dImpl> {
 public:
  ConvTranspose3dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<3> kernel_size);
  explicit ConvTranspose3dImpl(ConvTranspose3dOptions options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const std::optional<IntArrayRef>& output_size = std::nullopt);

  ConvTranspose3dOptions options;
  Tensor weight;  // [in_channels, out_channels / groups, kernel_size...]
  Tensor bias;    // [out_channels], or undefined

 private:
  friend struct detail::AnyAccess;
  std::vector<std::pair<unsigned, AnyValue>> _forward_default_args() const;
};
TENON_MODULE(ConvTranspose3d);

}  // namespace nn
}  // namespace tenon
