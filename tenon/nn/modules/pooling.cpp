// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/pooling.h"

#include <ostream>
#include <vector>

#include "tenon/nn/functional/pooling.h"
#include "tenon/nn/modules/shown_namespace.h"

namespace tenon {
namespace nn {

namespace {

template <std::size_t D, class Options>
void print_window(std::ostream& stream, const char* family, const Options& o) {
  stream << std::boolalpha << detail::shown_namespace() << family << D
         << "d(kernel_size=" << o.kernel_size() << ", stride=" << o.stride();
}

template <class Sizes>
void print_output_size(std::ostream& stream, const char* family, const Sizes& sizes) {
  const bool one = sizes->size() == 1;
  stream << detail::shown_namespace() << family << sizes->size()
         << "d(output_size=" << (one ? "" : "[");
  const char* separator = "";
  for (const std::optional<int64_t> size : *sizes) {
    stream << separator;
    if (size) {
      stream << *size;
    } else {
      stream << "None";
    }
    separator = ", ";
  }
  stream << (one ? ")" : "])");
}

}  // namespace

template <std::size_t D, class Derived>
void AvgPoolImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_window<D>(stream, "AvgPool", options);
  stream << ", padding=" << options.padding() << ")";
}
template class AvgPoolImpl<1, AvgPool1dImpl>;
template class AvgPoolImpl<2, AvgPool2dImpl>;
template class AvgPoolImpl<3, AvgPool3dImpl>;

Tensor AvgPool1dImpl::forward(const Tensor& input) {
  return functional::avg_pool1d(input, options);
}
Tensor AvgPool2dImpl::forward(const Tensor& input) {
  return functional::avg_pool2d(input, options);
}
Tensor AvgPool3dImpl::forward(const Tensor& input) {
  return functional::avg_pool3d(input, options);
}

template <std::size_t D, class Derived>
void MaxPoolImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_window<D>(stream, "MaxPool", options);
  stream << ", padding=" << options.padding() << ", dilation=" << options.dilation()
         << ", ceil_mode=" << options.ceil_mode() << ")";
}
template class MaxPoolImpl<1, MaxPool1dImpl>;
template class MaxPoolImpl<2, MaxPool2dImpl>;
template class MaxPoolImpl<3, MaxPool3dImpl>;

Tensor MaxPool1dImpl::forward(const Tensor& input) {
  return functional::max_pool1d(input, options);
}
Tensor MaxPool2dImpl::forward(const Tensor& input) {
  return functional::max_pool2d(input, options);
}
Tensor MaxPool3dImpl::forward(const Tensor& input) {
  return functional::max_pool3d(input, options);
}
std::tuple<Tensor, Tensor> MaxPool1dImpl::forward_with_indices(const Tensor& input) {
  return functional::max_pool1d_with_indices(input, options);
}
std::tuple<Tensor, Tensor> MaxPool2dImpl::forward_with_indices(const Tensor& input) {
  return functional::max_pool2d_with_indices(input, options);
}
std::tuple<Tensor, Tensor> MaxPool3dImpl::forward_with_indices(const Tensor& input) {
  return functional::max_pool3d_with_indices(input, options);
}

template <std::size_t D, class Derived>
void AdaptiveAvgPoolImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_output_size(stream, "AdaptiveAvgPool", options.output_size());
}
template class AdaptiveAvgPoolImpl<1, AdaptiveAvgPool1dImpl>;
template class AdaptiveAvgPoolImpl<2, AdaptiveAvgPool2dImpl>;
template class AdaptiveAvgPoolImpl<3, AdaptiveAvgPool3dImpl>;

Tensor AdaptiveAvgPool1dImpl::forward(const Tensor& input) {
  return functional::adaptive_avg_pool1d(input, options);
}
Tensor AdaptiveAvgPool2dImpl::forward(const Tensor& input) {
  return functional::adaptive_avg_pool2d(input, options);
}
Tensor AdaptiveAvgPool3dImpl::forward(const Tensor& input) {
  return functional::adaptive_avg_pool3d(input, options);
}

template <std::size_t D, class Derived>
void AdaptiveMaxPoolImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_output_size(stream, "AdaptiveMaxPool", options.output_size());
}
template class AdaptiveMaxPoolImpl<1, AdaptiveMaxPool1dImpl>;
template class AdaptiveMaxPoolImpl<2, AdaptiveMaxPool2dImpl>;
template class AdaptiveMaxPoolImpl<3, AdaptiveMaxPool3dImpl>;

Tensor AdaptiveMaxPool1dImpl::forward(const Tensor& input) {
  return functional::adaptive_max_pool1d(input, options);
}
Tensor AdaptiveMaxPool2dImpl::forward(const Tensor& input) {
  return functional::adaptive_max_pool2d(input, options);
}
Tensor AdaptiveMaxPool3dImpl::forward(const Tensor& input) {
  return functional::adaptive_max_pool3d(input, options);
}
std::tuple<Tensor, Tensor> AdaptiveMaxPool1dImpl::forward_with_indices(const Tensor& input) {
  return functional::adaptive_max_pool1d_with_indices(input, options);
}
std::tuple<Tensor, Tensor> AdaptiveMaxPool2dImpl::forward_with_indices(const Tensor& input) {
  return functional::adaptive_max_pool2d_with_indices(input, options);
}
std::tuple<Tensor, Tensor> AdaptiveMaxPool3dImpl::forward_with_indices(const Tensor& input) {
  return functional::adaptive_max_pool3d_with_indices(input, options);
}

template <std::size_t D, class Derived>
void LPPoolImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace() << "LPPool" << D
         << "d(norm_type=" << options.norm_type() << ", kernel_size=" << options.kernel_size()
         << ", stride=" << options.stride() << ", ceil_mode=" << options.ceil_mode() << ")";
}
template class LPPoolImpl<1, LPPool1dImpl>;
template class LPPoolImpl<2, LPPool2dImpl>;
template class LPPoolImpl<3, LPPool3dImpl>;

Tensor LPPool1dImpl::forward(const Tensor& input) { return functional::lp_pool1d(input, options); }
Tensor LPPool2dImpl::forward(const Tensor& input) { return functional::lp_pool2d(input, options); }
Tensor LPPool3dImpl::forward(const Tensor& input) { return functional::lp_pool3d(input, options); }

}  // namespace nn
}  // namespace tenon
