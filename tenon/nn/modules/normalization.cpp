// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/normalization.h"

#include <ostream>
#include <vector>

#include "tenon/nn/functional/normalization.h"
#include "tenon/nn/init.h"
#include "tenon/nn/modules/shown_namespace.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {

LayerNormImpl::LayerNormImpl(std::vector<int64_t> normalized_shape)
    : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))) {}
LayerNormImpl::LayerNormImpl(LayerNormOptions options_) : options(std::move(options_)) {
  LayerNormImpl::reset();
}
void LayerNormImpl::reset() {
  const bool affine = options.elementwise_affine();
  weight = register_parameter("weight",
                              affine ? tenon::empty(options.normalized_shape()) : Tensor(), affine);
  const bool with_bias = affine && options.bias();
  bias = register_parameter("bias", with_bias ? tenon::empty(options.normalized_shape()) : Tensor(),
                            with_bias);
  reset_parameters();
}
void LayerNormImpl::reset_parameters() {
  if (weight.defined()) init::ones_(weight);
  if (bias.defined()) init::zeros_(bias);
}
void LayerNormImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "LayerNorm("
         << core::join(IntArrayRef(options.normalized_shape())) << ", eps=" << options.eps()
         << ", elementwise_affine=" << options.elementwise_affine() << ")";
}
Tensor LayerNormImpl::forward(const Tensor& input) {
  return functional::layer_norm(input, functional::LayerNormFuncOptions(options.normalized_shape())
                                           .weight(weight)
                                           .bias(bias)
                                           .eps(options.eps()));
}

RMSNormImpl::RMSNormImpl(std::vector<int64_t> normalized_shape)
    : RMSNormImpl(RMSNormOptions(std::move(normalized_shape))) {}
RMSNormImpl::RMSNormImpl(RMSNormOptions options_) : options(std::move(options_)) {
  RMSNormImpl::reset();
}
void RMSNormImpl::reset() {
  const bool affine = options.elementwise_affine();
  weight = register_parameter("weight",
                              affine ? tenon::empty(options.normalized_shape()) : Tensor(), affine);
  reset_parameters();
}
void RMSNormImpl::reset_parameters() {
  if (weight.defined()) init::ones_(weight);
}
void RMSNormImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "RMSNorm("
         << core::join(IntArrayRef(options.normalized_shape())) << ", eps=";
  if (options.eps()) {
    stream << *options.eps();
  } else {
    stream << "none";
  }
  stream << ", elementwise_affine=" << options.elementwise_affine() << ")";
}
Tensor RMSNormImpl::forward(const Tensor& input) {
  const auto& shape = options.normalized_shape();
  const int64_t rank = static_cast<int64_t>(shape.size());
  const bool fits =
      input.dim() >= rank &&
      input.sizes().slice(static_cast<std::size_t>(input.dim() - rank)) == IntArrayRef(shape);
  TENON_CHECK(fits, ValueError, "RMSNorm: expected an input that ends in ", IntArrayRef(shape),
              ", got ", input.sizes());
  std::vector<int64_t> dims;
  for (int64_t d = 1; d <= rank; ++d) dims.push_back(-d);
  const double smallest = input.scalar_type() == kDouble ? 0x1p-52 : 0x1p-23;
  const Tensor mean = (input * input).mean(dims, true);
  const Tensor result = input * (mean + options.eps().value_or(smallest)).rsqrt();
  return weight.defined() ? result * weight : result;
}

GroupNormImpl::GroupNormImpl(int64_t num_groups, int64_t num_channels)
    : GroupNormImpl(GroupNormOptions(num_groups, num_channels)) {}
GroupNormImpl::GroupNormImpl(const GroupNormOptions& options_) : options(options_) {
  GroupNormImpl::reset();
}
void GroupNormImpl::reset() {
  const bool affine = options.affine();
  weight = register_parameter("weight", affine ? tenon::empty({options.num_channels()}) : Tensor(),
                              affine);
  const bool with_bias = affine && options.bias();
  bias = register_parameter("bias", with_bias ? tenon::empty({options.num_channels()}) : Tensor(),
                            with_bias);
  reset_parameters();
}
void GroupNormImpl::reset_parameters() {
  if (weight.defined()) init::ones_(weight);
  if (bias.defined()) init::zeros_(bias);
}
void GroupNormImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "GroupNorm(" << options.num_groups()
         << ", " << options.num_channels() << ", eps=" << options.eps()
         << ", affine=" << options.affine() << ")";
}
Tensor GroupNormImpl::forward(const Tensor& input) {
  return functional::group_norm(input, functional::GroupNormFuncOptions(options.num_groups())
                                           .weight(weight)
                                           .bias(bias)
                                           .eps(options.eps()));
}

LocalResponseNormImpl::LocalResponseNormImpl(int64_t size)
    : LocalResponseNormImpl(LocalResponseNormOptions(size)) {}
LocalResponseNormImpl::LocalResponseNormImpl(const LocalResponseNormOptions& options_)
    : options(options_) {}
void LocalResponseNormImpl::reset() {}
void LocalResponseNormImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "LocalResponseNorm(" << options.size()
         << ", alpha=" << options.alpha() << ", beta=" << options.beta() << ", k=" << options.k()
         << ")";
}
Tensor LocalResponseNormImpl::forward(const Tensor& input) {
  return functional::local_response_norm(input, options);
}

CrossMapLRN2dImpl::CrossMapLRN2dImpl(int64_t size)
    : CrossMapLRN2dImpl(CrossMapLRN2dOptions(size)) {}
CrossMapLRN2dImpl::CrossMapLRN2dImpl(const CrossMapLRN2dOptions& options_) : options(options_) {}
void CrossMapLRN2dImpl::reset() {}
void CrossMapLRN2dImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "CrossMapLRN2d(" << options.size()
         << ", alpha=" << options.alpha() << ", beta=" << options.beta() << ", k=" << options.k()
         << ")";
}
Tensor CrossMapLRN2dImpl::forward(const Tensor& input) {
  TENON_CHECK(input.dim() == 4, ValueError,
              "CrossMapLRN2d: expected an input [batch, channels, height, width], got ",
              input.sizes());
  TENON_CHECK(options.size() > 0, ValueError, "CrossMapLRN2d: size must be positive, got ",
              options.size());
  // As many channels before as after the one that is divided.
  const int64_t reach = (options.size() - 1) / 2;
  const Tensor squares = tenon::avg_pool3d((input * input).unsqueeze(1), {2 * reach + 1, 1, 1},
                                           {1, 1, 1}, {reach, 0, 0}, /*ceil_mode=*/false,
                                           /*count_include_pad=*/true, /*divisor_override=*/1)
                             .squeeze(1);
  const double factor = options.alpha() / static_cast<double>(options.size());
  return input * (squares * factor + options.k()).pow(-options.beta());
}

}  // namespace nn
}  // namespace tenon
