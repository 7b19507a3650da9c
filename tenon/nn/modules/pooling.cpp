// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/pooling.h"

#include <ostream>
#include <vector>

#include "tenon/nn/functional/pooling.h"

namespace tenon {
namespace nn {

namespace {

template <class Options>
void print_window(std::ostream& stream, const char* name, const Options& o) {
  stream << std::boolalpha << "tenon::nn::" << name
         << "(kernel_size=" << core::join(IntArrayRef(o.kernel_size()))
         << ", stride=" << core::join(IntArrayRef(o.stride()));
}

void print_sizes(std::ostream& stream, const char* name,
                 const std::vector<std::optional<int64_t>>& sizes) {
  stream << "tenon::nn::" << name << "(output_size=[";
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    stream << (i == 0 ? "" : ", ");
    if (sizes[i]) {
      stream << *sizes[i];
    } else {
      stream << "none";
    }
  }
  stream << "])";
}

}  // namespace

AvgPool1dImpl::AvgPool1dImpl(ExpandingArray<1> kernel_size)
    : AvgPool1dImpl(AvgPool1dOptions(kernel_size)) {}
AvgPool1dImpl::AvgPool1dImpl(const AvgPool1dOptions& options_) : options(options_) {}
void AvgPool1dImpl::reset() {}
Tensor AvgPool1dImpl::forward(const Tensor& input) {
  return functional::avg_pool1d(input, options);
}
void AvgPool1dImpl::pretty_print(std::ostream& stream) const {
  print_window(stream, "AvgPool1d", options);
  stream << ", padding=" << core::join(IntArrayRef(options.padding()))
         << ", ceil_mode=" << options.ceil_mode() << ")";
}

MaxPool1dImpl::MaxPool1dImpl(ExpandingArray<1> kernel_size)
    : MaxPool1dImpl(MaxPool1dOptions(kernel_size)) {}
MaxPool1dImpl::MaxPool1dImpl(const MaxPool1dOptions& options_) : options(options_) {}
void MaxPool1dImpl::reset() {}
Tensor MaxPool1dImpl::forward(const Tensor& input) {
  return functional::max_pool1d(input, options);
}
void MaxPool1dImpl::pretty_print(std::ostream& stream) const {
  print_window(stream, "MaxPool1d", options);
  stream << ", padding=" << core::join(IntArrayRef(options.padding()))
         << ", dilation=" << core::join(IntArrayRef(options.dilation()))
         << ", ceil_mode=" << options.ceil_mode() << ")";
}
std::tuple<Tensor, Tensor> MaxPool1dImpl::forward_with_indices(const Tensor& input) {
  return functional::max_pool1d_with_indices(input, options);
}

AdaptiveAvgPool1dImpl::AdaptiveAvgPool1dImpl(ExpandingArray<1> output_size)
    : AdaptiveAvgPool1dImpl(AdaptiveAvgPool1dOptions(output_size)) {}
AdaptiveAvgPool1dImpl::AdaptiveAvgPool1dImpl(const AdaptiveAvgPool1dOptions& options_)
    : options(options_) {}
void AdaptiveAvgPool1dImpl::reset() {}
Tensor AdaptiveAvgPool1dImpl::forward(const Tensor& input) {
  return functional::adaptive_avg_pool1d(input, options);
}
void AdaptiveAvgPool1dImpl::pretty_print(std::ostream& stream) const {
  print_sizes(stream, "AdaptiveAvgPool1d",
              {options.output_size()->begin(), options.output_size()->end()});
}

AdaptiveMaxPool1dImpl::AdaptiveMaxPool1dImpl(ExpandingArray<1> output_size)
    : AdaptiveMaxPool1dImpl(AdaptiveMaxPool1dOptions(output_size)) {}
AdaptiveMaxPool1dImpl::AdaptiveMaxPool1dImpl(const AdaptiveMaxPool1dOptions& options_)
    : options(options_) {}
void AdaptiveMaxPool1dImpl::reset() {}
Tensor AdaptiveMaxPool1dImpl::forward(const Tensor& input) {
  return functional::adaptive_max_pool1d(input, options);
}
void AdaptiveMaxPool1dImpl::pretty_print(std::ostream& stream) const {
  print_sizes(stream, "AdaptiveMaxPool1d",
              {options.output_size()->begin(), options.output_size()->end()});
}
std::tuple<Tensor, Tensor> AdaptiveMaxPool1dImpl::forward_with_indices(const Tensor& input) {
  return functional::adaptive_max_pool1d_with_indices(input, options);
}

LPPool1dImpl::LPPool1dImpl(double norm_type, ExpandingArray<1> kernel_size)
    : LPPool1dImpl(LPPool1dOptions(norm_type, kernel_size)) {}
LPPool1dImpl::LPPool1dImpl(const LPPool1dOptions& options_) : options(options_) {}
void LPPool1dImpl::reset() {}
Tensor LPPool1dImpl::forward(const Tensor& input) { return functional::lp_pool1d(input, options); }
void LPPool1dImpl::pretty_print(std::ostream& stream) const {
  print_window(stream, "LPPool1d", options);
  stream << ", norm_type=" << options.norm_type() << ", ceil_mode=" << options.ceil_mode() << ")";
}

AvgPool2dImpl::AvgPool2dImpl(ExpandingArray<2> kernel_size)
    : AvgPool2dImpl(AvgPool2dOptions(kernel_size)) {}
AvgPool2dImpl::AvgPool2dImpl(const AvgPool2dOptions& options_) : options(options_) {}
void AvgPool2dImpl::reset() {}
Tensor AvgPool2dImpl::forward(const Tensor& input) {
  return functional::avg_pool2d(input, options);
}
void AvgPool2dImpl::pretty_print(std::ostream& stream) const {
  print_window(stream, "AvgPool2d", options);
  stream << ", padding=" << core::join(IntArrayRef(options.padding()))
         << ", ceil_mode=" << options.ceil_mode() << ")";
}

MaxPool2dImpl::MaxPool2dImpl(ExpandingArray<2> kernel_size)
    : MaxPool2dImpl(MaxPool2dOptions(kernel_size)) {}
MaxPool2dImpl::MaxPool2dImpl(const MaxPool2dOptions& options_) : options(options_) {}
void MaxPool2dImpl::reset() {}
Tensor MaxPool2dImpl::forward(const Tensor& input) {
  return functional::max_pool2d(input, options);
}
void MaxPool2dImpl::pretty_print(std::ostream& stream) const {
  print_window(stream, "MaxPool2d", options);
  stream << ", padding=" << core::join(IntArrayRef(options.padding()))
         << ", dilation=" << core::join(IntArrayRef(options.dilation()))
         << ", ceil_mode=" << options.ceil_mode() << ")";
}
std::tuple<Tensor, Tensor> MaxPool2dImpl::forward_with_indices(const Tensor& input) {
  return functional::max_pool2d_with_indices(input, options);
}

AdaptiveAvgPool2dImpl::AdaptiveAvgPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size)
    : AdaptiveAvgPool2dImpl(AdaptiveAvgPool2dOptions(output_size)) {}
AdaptiveAvgPool2dImpl::AdaptiveAvgPool2dImpl(const AdaptiveAvgPool2dOptions& options_)
    : options(options_) {}
void AdaptiveAvgPool2dImpl::reset() {}
Tensor AdaptiveAvgPool2dImpl::forward(const Tensor& input) {
  return functional::adaptive_avg_pool2d(input, options);
}
void AdaptiveAvgPool2dImpl::pretty_print(std::ostream& stream) const {
  print_sizes(stream, "AdaptiveAvgPool2d",
              {options.output_size()->begin(), options.output_size()->end()});
}

AdaptiveMaxPool2dImpl::AdaptiveMaxPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size)
    : AdaptiveMaxPool2dImpl(AdaptiveMaxPool2dOptions(output_size)) {}
AdaptiveMaxPool2dImpl::AdaptiveMaxPool2dImpl(const AdaptiveMaxPool2dOptions& options_)
    : options(options_) {}
void AdaptiveMaxPool2dImpl::reset() {}
Tensor AdaptiveMaxPool2dImpl::forward(const Tensor& input) {
  return functional::adaptive_max_pool2d(input, options);
}
void AdaptiveMaxPool2dImpl::pretty_print(std::ostream& stream) const {
  print_sizes(stream, "AdaptiveMaxPool2d",
              {options.output_size()->begin(), options.output_size()->end()});
}
std::tuple<Tensor, Tensor> AdaptiveMaxPool2dImpl::forward_with_indices(const Tensor& input) {
  return functional::adaptive_max_pool2d_with_indices(input, options);
}

LPPool2dImpl::LPPool2dImpl(double norm_type, ExpandingArray<2> kernel_size)
    : LPPool2dImpl(LPPool2dOptions(norm_type, kernel_size)) {}
LPPool2dImpl::LPPool2dImpl(const LPPool2dOptions& options_) : options(options_) {}
void LPPool2dImpl::reset() {}
Tensor LPPool2dImpl::forward(const Tensor& input) { return functional::lp_pool2d(input, options); }
void LPPool2dImpl::pretty_print(std::ostream& stream) const {
  print_window(stream, "LPPool2d", options);
  stream << ", norm_type=" << options.norm_type() << ", ceil_mode=" << options.ceil_mode() << ")";
}

AvgPool3dImpl::AvgPool3dImpl(ExpandingArray<3> kernel_size)
    : AvgPool3dImpl(AvgPool3dOptions(kernel_size)) {}
AvgPool3dImpl::AvgPool3dImpl(const AvgPool3dOptions& options_) : options(options_) {}
void AvgPool3dImpl::reset() {}
Tensor AvgPool3dImpl::forward(const Tensor& input) {
  return functional::avg_pool3d(input, options);
}
void AvgPool3dImpl::pretty_print(std::ostream& stream) const {
  print_window(stream, "AvgPool3d", options);
  stream << ", padding=" << core::join(IntArrayRef(options.padding()))
         << ", ceil_mode=" << options.ceil_mode() << ")";
}

MaxPool3dImpl::MaxPool3dImpl(ExpandingArray<3> kernel_size)
    : MaxPool3dImpl(MaxPool3dOptions(kernel_size)) {}
MaxPool3dImpl::MaxPool3dImpl(const MaxPool3dOptions& options_) : options(options_) {}
void MaxPool3dImpl::reset() {}
Tensor MaxPool3dImpl::forward(const Tensor& input) {
  return functional::max_pool3d(input, options);
}
void MaxPool3dImpl::pretty_print(std::ostream& stream) const {
  print_window(stream, "MaxPool3d", options);
  stream << ", padding=" << core::join(IntArrayRef(options.padding()))
         << ", dilation=" << core::join(IntArrayRef(options.dilation()))
         << ", ceil_mode=" << options.ceil_mode() << ")";
}
std::tuple<Tensor, Tensor> MaxPool3dImpl::forward_with_indices(const Tensor& input) {
  return functional::max_pool3d_with_indices(input, options);
}

AdaptiveAvgPool3dImpl::AdaptiveAvgPool3dImpl(ExpandingArrayWithOptionalElem<3> output_size)
    : AdaptiveAvgPool3dImpl(AdaptiveAvgPool3dOptions(output_size)) {}
AdaptiveAvgPool3dImpl::AdaptiveAvgPool3dImpl(const AdaptiveAvgPool3dOptions& options_)
    : options(options_) {}
void AdaptiveAvgPool3dImpl::reset() {}
Tensor AdaptiveAvgPool3dImpl::forward(const Tensor& input) {
  return functional::adaptive_avg_pool3d(input, options);
}
void AdaptiveAvgPool3dImpl::pretty_print(std::ostream& stream) const {
  print_sizes(stream, "AdaptiveAvgPool3d",
              {options.output_size()->begin(), options.output_size()->end()});
}

AdaptiveMaxPool3dImpl::AdaptiveMaxPool3dImpl(ExpandingArrayWithOptionalElem<3> output_size)
    : AdaptiveMaxPool3dImpl(AdaptiveMaxPool3dOptions(output_size)) {}
AdaptiveMaxPool3dImpl::AdaptiveMaxPool3dImpl(const AdaptiveMaxPool3dOptions& options_)
    : options(options_) {}
void AdaptiveMaxPool3dImpl::reset() {}
Tensor AdaptiveMaxPool3dImpl::forward(const Tensor& input) {
  return functional::adaptive_max_pool3d(input, options);
}
void AdaptiveMaxPool3dImpl::pretty_print(std::ostream& stream) const {
  print_sizes(stream, "AdaptiveMaxPool3d",
              {options.output_size()->begin(), options.output_size()->end()});
}
std::tuple<Tensor, Tensor> AdaptiveMaxPool3dImpl::forward_with_indices(const Tensor& input) {
  return functional::adaptive_max_pool3d_with_indices(input, options);
}

LPPool3dImpl::LPPool3dImpl(double norm_type, ExpandingArray<3> kernel_size)
    : LPPool3dImpl(LPPool3dOptions(norm_type, kernel_size)) {}
LPPool3dImpl::LPPool3dImpl(const LPPool3dOptions& options_) : options(options_) {}
void LPPool3dImpl::reset() {}
Tensor LPPool3dImpl::forward(const Tensor& input) { return functional::lp_pool3d(input, options); }
void LPPool3dImpl::pretty_print(std::ostream& stream) const {
  print_window(stream, "LPPool3d", options);
  stream << ", norm_type=" << options.norm_type() << ", ceil_mode=" << options.ceil_mode() << ")";
}

}  // namespace nn
}  // namespace tenon
