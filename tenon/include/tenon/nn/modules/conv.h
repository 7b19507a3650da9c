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
template <std::size_t D, class Derived>
class TENON_API ConvNdImpl : public Cloneable<Derived> {
 public:
  ConvNdImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : ConvNdImpl(ConvOptions<D>(in_channels, out_channels, kernel_size)) {}
  explicit ConvNdImpl(ConvOptions<D> options_) : options(std::move(options_)) {
    ConvNdImpl::reset();
  }
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  ConvOptions<D> options;
  Tensor weight;  // [out_channels, in_channels / groups, kernel_size...]
  Tensor bias;    // [out_channels], or undefined
};

class TENON_API Conv1dImpl : public ConvNdImpl<1, Conv1dImpl> {
 public:
  using ConvNdImpl::ConvNdImpl;
  Tensor forward(const Tensor& input);
};
TENON_MODULE(Conv1d);

class TENON_API Conv2dImpl : public ConvNdImpl<2, Conv2dImpl> {
 public:
  using ConvNdImpl::ConvNdImpl;
  Tensor forward(const Tensor& input);
};
TENON_MODULE(Conv2d);

class TENON_API Conv3dImpl : public ConvNdImpl<3, Conv3dImpl> {
 public:
  using ConvNdImpl::ConvNdImpl;
  Tensor forward(const Tensor& input);
};
TENON_MODULE(Conv3d);

// The gradient of a convolution as a layer. output_size settles which of several sizes the result
// gets.
template <std::size_t D, class Derived>
class TENON_API ConvTransposeNdImpl : public Cloneable<Derived> {
 public:
  ConvTransposeNdImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : ConvTransposeNdImpl(ConvTransposeOptions<D>(in_channels, out_channels, kernel_size)) {}
  explicit ConvTransposeNdImpl(ConvTransposeOptions<D> options_) : options(std::move(options_)) {
    ConvTransposeNdImpl::reset();
  }
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  ConvTransposeOptions<D> options;
  Tensor weight;  // [in_channels, out_channels / groups, kernel_size...]
  Tensor bias;    // [out_channels], or undefined

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<IntArrayRef>())})
};

class TENON_API ConvTranspose1dImpl : public ConvTransposeNdImpl<1, ConvTranspose1dImpl> {
 public:
  using ConvTransposeNdImpl::ConvTransposeNdImpl;
  Tensor forward(const Tensor& input, const std::optional<IntArrayRef>& output_size = std::nullopt);
};
TENON_MODULE(ConvTranspose1d);

class TENON_API ConvTranspose2dImpl : public ConvTransposeNdImpl<2, ConvTranspose2dImpl> {
 public:
  using ConvTransposeNdImpl::ConvTransposeNdImpl;
  Tensor forward(const Tensor& input, const std::optional<IntArrayRef>& output_size = std::nullopt);
};
TENON_MODULE(ConvTranspose2d);

class TENON_API ConvTranspose3dImpl : public ConvTransposeNdImpl<3, ConvTranspose3dImpl> {
 public:
  using ConvTransposeNdImpl::ConvTransposeNdImpl;
  Tensor forward(const Tensor& input, const std::optional<IntArrayRef>& output_size = std::nullopt);
};
TENON_MODULE(ConvTranspose3d);

}  // namespace nn
}  // namespace tenon
