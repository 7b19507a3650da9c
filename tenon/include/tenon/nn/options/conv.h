// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/arg.h"
#include "tenon/enum.h"
#include "tenon/expanding_array.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {

namespace detail {
using conv_padding_mode_t = enumtype::OneOf<enumtype::kZeros, enumtype::kReflect,
                                            enumtype::kReplicate, enumtype::kCircular>;

// Integers, or kValid (none), or kSame (as much as keeps the size at stride 1).
template <std::size_t D>
class ConvPadding {
 public:
  enum class Kind { kNumbers, kValid, kSame };
  ConvPadding(ExpandingArray<D> numbers) : numbers_(numbers) {}
  ConvPadding(int64_t number) : numbers_(number) {}
  ConvPadding(std::initializer_list<int64_t> numbers) : numbers_(numbers) {}
  ConvPadding(const std::vector<int64_t>& numbers) : numbers_(numbers) {}
  ConvPadding(enumtype::kValid) : numbers_(0), kind_(Kind::kValid) {}
  ConvPadding(enumtype::kSame) : numbers_(0), kind_(Kind::kSame) {}
  Kind kind() const { return kind_; }
  const ExpandingArray<D>& numbers() const { return numbers_; }

 private:
  ExpandingArray<D> numbers_;
  Kind kind_ = Kind::kNumbers;
};
}  // namespace detail

template <std::size_t D>
struct ConvOptions {
  using padding_mode_t = detail::conv_padding_mode_t;
  using padding_t = detail::ConvPadding<D>;
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  // Size of dimension 1 of the input.
  TENON_ARG(int64_t, in_channels);
  // Size of dimension 1 of the output.
  TENON_ARG(int64_t, out_channels);
  // Size of the window.
  TENON_ARG(ExpandingArray<D>, kernel_size);
  // Step of the window.
  TENON_ARG(ExpandingArray<D>, stride) = 1;
  // Border on both sides: integers, kValid or kSame.
  TENON_ARG(padding_t, padding) = 0;
  // Distance between elements of the window.
  TENON_ARG(ExpandingArray<D>, dilation) = 1;
  // Channels are split into this many independent convolutions.
  TENON_ARG(int64_t, groups) = 1;
  // Whether a learned bias is added per output channel.
  TENON_ARG(bool, bias) = true;
  // What the border holds.
  TENON_ARG(padding_mode_t, padding_mode) = kZeros;
};
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
using Conv3dOptions = ConvOptions<3>;

template <std::size_t D>
struct ConvTransposeOptions {
  using padding_mode_t = detail::conv_padding_mode_t;
  ConvTransposeOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  // Size of dimension 1 of the input.
  TENON_ARG(int64_t, in_channels);
  // Size of dimension 1 of the output.
  TENON_ARG(int64_t, out_channels);
  // Size of the window.
  TENON_ARG(ExpandingArray<D>, kernel_size);
  // Step of the window.
  TENON_ARG(ExpandingArray<D>, stride) = 1;
  // Elements cut off both sides of the result.
  TENON_ARG(ExpandingArray<D>, padding) = 0;
  // Elements added on the far side of the result.
  TENON_ARG(ExpandingArray<D>, output_padding) = 0;
  // Channels are split into this many independent convolutions.
  TENON_ARG(int64_t, groups) = 1;
  // Whether a learned bias is added per output channel.
  TENON_ARG(bool, bias) = true;
  // Distance between elements of the window.
  TENON_ARG(ExpandingArray<D>, dilation) = 1;
  // Only kZeros exists.
  TENON_ARG(padding_mode_t, padding_mode) = kZeros;
};
using ConvTranspose1dOptions = ConvTransposeOptions<1>;
using ConvTranspose2dOptions = ConvTransposeOptions<2>;
using ConvTranspose3dOptions = ConvTransposeOptions<3>;

namespace functional {
template <std::size_t D>
struct ConvFuncOptions {
  using padding_t = nn::detail::ConvPadding<D>;
  // Summand per output channel; may be undefined.
  TENON_ARG(Tensor, bias);
  // Step of the window.
  TENON_ARG(ExpandingArray<D>, stride) = 1;
  // Border on both sides: integers, kValid or kSame.
  TENON_ARG(padding_t, padding) = 0;
  // Distance between elements of the window.
  TENON_ARG(ExpandingArray<D>, dilation) = 1;
  // Channels are split into this many independent convolutions.
  TENON_ARG(int64_t, groups) = 1;
};
using Conv1dFuncOptions = ConvFuncOptions<1>;
using Conv2dFuncOptions = ConvFuncOptions<2>;
using Conv3dFuncOptions = ConvFuncOptions<3>;

template <std::size_t D>
struct ConvTransposeFuncOptions {
  // Summand per output channel; may be undefined.
  TENON_ARG(Tensor, bias);
  // Step of the window.
  TENON_ARG(ExpandingArray<D>, stride) = 1;
  // Elements cut off both sides of the result.
  TENON_ARG(ExpandingArray<D>, padding) = 0;
  // Elements added on the far side of the result.
  TENON_ARG(ExpandingArray<D>, output_padding) = 0;
  // Channels are split into this many independent convolutions.
  TENON_ARG(int64_t, groups) = 1;
  // Distance between elements of the window.
  TENON_ARG(ExpandingArray<D>, dilation) = 1;
};
using ConvTranspose1dFuncOptions = ConvTransposeFuncOptions<1>;
using ConvTranspose2dFuncOptions = ConvTransposeFuncOptions<2>;
using ConvTranspose3dFuncOptions = ConvTransposeFuncOptions<3>;
}  // namespace functional

}  // namespace nn
}  // namespace tenon
