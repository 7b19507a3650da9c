// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/conv.h"

#include "tenon/nn/functional/optional_tensor.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace functional {

namespace {

template <std::size_t D>
void check_padding(const ExpandingArray<D>& padding) {
  for (const int64_t p : *padding) {
    TENON_CHECK(p >= 0, ValueError, "conv", D, "d: negative padding is not supported here, got ",
                p);
  }
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options) {
  using Kind = Conv1dFuncOptions::padding_t::Kind;
  const auto bias = optional_tensor(options.bias());
  const Kind kind = options.padding().kind();
  if (kind != Kind::kNumbers) {
    return tenon::conv1d(input, weight, bias, options.stride(),
                         kind == Kind::kSame ? "same" : "valid", options.dilation(),
                         options.groups());
  }
  check_padding(options.padding().numbers());
  return tenon::conv1d(input, weight, bias, options.stride(), options.padding().numbers(),
                       options.dilation(), options.groups());
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options) {
  using Kind = Conv2dFuncOptions::padding_t::Kind;
  const auto bias = optional_tensor(options.bias());
  const Kind kind = options.padding().kind();
  if (kind != Kind::kNumbers) {
    return tenon::conv2d(input, weight, bias, options.stride(),
                         kind == Kind::kSame ? "same" : "valid", options.dilation(),
                         options.groups());
  }
  check_padding(options.padding().numbers());
  return tenon::conv2d(input, weight, bias, options.stride(), options.padding().numbers(),
                       options.dilation(), options.groups());
}

Tensor conv3d(const Tensor& input, const Tensor& weight, const Conv3dFuncOptions& options) {
  using Kind = Conv3dFuncOptions::padding_t::Kind;
  const auto bias = optional_tensor(options.bias());
  const Kind kind = options.padding().kind();
  if (kind != Kind::kNumbers) {
    return tenon::conv3d(input, weight, bias, options.stride(),
                         kind == Kind::kSame ? "same" : "valid", options.dilation(),
                         options.groups());
  }
  check_padding(options.padding().numbers());
  return tenon::conv3d(input, weight, bias, options.stride(), options.padding().numbers(),
                       options.dilation(), options.groups());
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose1dFuncOptions& options) {
  check_padding(options.padding());
  return tenon::conv_transpose1d(input, weight, optional_tensor(options.bias()), options.stride(),
                                 options.padding(), options.output_padding(), options.groups(),
                                 options.dilation());
}

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose2dFuncOptions& options) {
  check_padding(options.padding());
  return tenon::conv_transpose2d(input, weight, optional_tensor(options.bias()), options.stride(),
                                 options.padding(), options.output_padding(), options.groups(),
                                 options.dilation());
}

Tensor conv_transpose3d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose3dFuncOptions& options) {
  check_padding(options.padding());
  return tenon::conv_transpose3d(input, weight, optional_tensor(options.bias()), options.stride(),
                                 options.padding(), options.output_padding(), options.groups(),
                                 options.dilation());
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
