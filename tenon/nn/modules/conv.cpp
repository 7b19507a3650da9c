// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/conv.h"

#include <array>
#include <cmath>
#include <ostream>
#include <vector>

#include "tenon/nn/functional/conv.h"
#include "tenon/nn/functional/padding.h"
#include "tenon/nn/init.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {

namespace {

using PadMode = nn::detail::conv_padding_mode_t;

functional::PadFuncOptions::mode_t pad_mode(PadMode mode) {
  if (mode.is<enumtype::kReflect>()) return kReflect;
  return mode.is<enumtype::kReplicate>() ? functional::PadFuncOptions::mode_t(kReplicate)
                                         : functional::PadFuncOptions::mode_t(kCircular);
}

template <class Options>
void check_channels(const char* name, const Options& o) {
  TENON_CHECK(o.in_channels() > 0 && o.out_channels() > 0 && o.groups() > 0, ValueError, name,
              ": in_channels, out_channels and groups must be positive, got ", o.in_channels(),
              ", ", o.out_channels(), " and ", o.groups());
  TENON_CHECK(o.in_channels() % o.groups() == 0 && o.out_channels() % o.groups() == 0, ValueError,
              name, ": groups=", o.groups(), " must divide in_channels=", o.in_channels(),
              " and out_channels=", o.out_channels());
}

// Weight [first, second / groups, kernel...]; registers both and draws them.
template <class Impl, std::size_t D>
void make(Impl& m, int64_t first, int64_t second, const ExpandingArray<D>& kernel,
          int64_t out_channels, bool with_bias) {
  std::vector<int64_t> shape = {first, second};
  shape.insert(shape.end(), kernel->begin(), kernel->end());
  m.weight = m.register_parameter("weight", tenon::empty(shape));
  m.bias = with_bias ? m.register_parameter("bias", tenon::empty({out_channels}))
                     : m.register_parameter("bias", Tensor(), false);
  m.reset_parameters();
}

void draw(Tensor& weight, Tensor& bias) {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const int64_t fan_in = std::get<0>(init::_calculate_fan_in_and_fan_out(weight));
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  init::uniform_(bias, -bound, bound);
}

template <std::size_t D>
bool all(const ExpandingArray<D>& values, int64_t wanted) {
  for (const int64_t v : *values) {
    if (v != wanted) return false;
  }
  return true;
}

template <std::size_t D>
void check(const char* name, const ConvOptions<D>& o) {
  check_channels(name, o);
  TENON_CHECK(
      o.padding().kind() != nn::detail::ConvPadding<D>::Kind::kSame || all<D>(o.stride(), 1),
      ValueError, name, ": padding 'same' needs a stride of 1, got ",
      core::text(IntArrayRef(o.stride())));
}
template <std::size_t D>
void check(const char* name, const ConvTransposeOptions<D>& o) {
  check_channels(name, o);
}

template <std::size_t D, class Options>
void print_common(std::ostream& stream, const char* name, const Options& o) {
  stream << std::boolalpha << "tenon::nn::" << name << "(" << o.in_channels() << ", "
         << o.out_channels() << ", kernel_size=" << core::join(IntArrayRef(o.kernel_size()))
         << ", stride=" << core::join(IntArrayRef(o.stride()));
}

template <std::size_t D, class Options>
void print_rest(std::ostream& stream, const Options& o) {
  if (!all<D>(o.dilation(), 1)) stream << ", dilation=" << core::join(IntArrayRef(o.dilation()));
  if (o.groups() != 1) stream << ", groups=" << o.groups();
  if (!o.bias()) stream << ", bias=" << false;
  if (!o.padding_mode().template is<enumtype::kZeros>()) {
    stream << ", padding_mode=" << enumtype::get_enum_name(o.padding_mode());
  }
  stream << ")";
}

template <std::size_t D>
void print(std::ostream& stream, const char* name, const ConvOptions<D>& o) {
  print_common<D>(stream, name, o);
  using Kind = typename nn::detail::ConvPadding<D>::Kind;
  if (o.padding().kind() == Kind::kSame) stream << ", padding='same'";
  if (o.padding().kind() == Kind::kValid) stream << ", padding='valid'";
  if (o.padding().kind() == Kind::kNumbers && !all<D>(o.padding().numbers(), 0)) {
    stream << ", padding=" << core::join(IntArrayRef(o.padding().numbers()));
  }
  print_rest<D>(stream, o);
}

template <std::size_t D>
void print(std::ostream& stream, const char* name, const ConvTransposeOptions<D>& o) {
  print_common<D>(stream, name, o);
  if (!all<D>(o.padding(), 0)) stream << ", padding=" << core::join(IntArrayRef(o.padding()));
  if (!all<D>(o.output_padding(), 0))
    stream << ", output_padding=" << core::join(IntArrayRef(o.output_padding()));
  print_rest<D>(stream, o);
}

// What F::pad adds, last dimension first, where the border is not zeros.
template <std::size_t D>
std::vector<int64_t> border(const ConvOptions<D>& o) {
  using Kind = typename nn::detail::ConvPadding<D>::Kind;
  std::vector<int64_t> out;
  for (std::size_t i = D; i-- > 0;) {
    const int64_t p = (*o.padding().numbers())[i];
    const int64_t total = (*o.dilation())[i] * ((*o.kernel_size())[i] - 1);
    const bool same = o.padding().kind() == Kind::kSame;
    out.push_back(same ? total / 2 : p);
    out.push_back(same ? total - total / 2 : p);
  }
  return out;
}

template <std::size_t D>
Tensor padded(const Tensor& input, const ConvOptions<D>& o, functional::ConvFuncOptions<D>* call) {
  if (o.padding_mode().template is<enumtype::kZeros>()) {
    call->padding(o.padding());
    return input;
  }
  return functional::pad(input,
                         functional::PadFuncOptions(border(o)).mode(pad_mode(o.padding_mode())));
}

// The output padding that leads to output_size; without one, that of the options.
template <std::size_t D>
ExpandingArray<D> output_padding(const Tensor& input, const std::optional<IntArrayRef>& output_size,
                                 const ConvTransposeOptions<D>& o) {
  if (!output_size) return o.output_padding();
  const std::size_t skip = output_size->size() == D ? 0 : output_size->size() - D;
  TENON_CHECK(output_size->size() == D || output_size->size() == D + 2, ValueError, "ConvTranspose",
              D, "d: output_size must have ", D, " or ", D + 2, " numbers, got ",
              output_size->size());
  std::array<int64_t, D> out;
  for (std::size_t i = 0; i < D; ++i) {
    const int64_t size = input.size(static_cast<int64_t>(i) - static_cast<int64_t>(D));
    const int64_t min_size = (size - 1) * (*o.stride())[i] - 2 * (*o.padding())[i] +
                             (*o.dilation())[i] * ((*o.kernel_size())[i] - 1) + 1;
    out[i] = (*output_size)[skip + i] - min_size;
    TENON_CHECK(out[i] >= 0 && out[i] < (*o.stride())[i], ValueError, "ConvTranspose", D,
                "d: output_size ", *output_size, " is out of reach in dimension ", i, ": allowed [",
                min_size, ", ", min_size + (*o.stride())[i] - 1, "]");
  }
  return ExpandingArray<D>(out);
}

}  // namespace

Conv1dImpl::Conv1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size)
    : Conv1dImpl(Conv1dOptions(in_channels, out_channels, kernel_size)) {}
Conv1dImpl::Conv1dImpl(Conv1dOptions options_) : options(std::move(options_)) {
  Conv1dImpl::reset();
}
void Conv1dImpl::reset() {
  check("Conv1d", options);
  make(*this, options.out_channels(), options.in_channels() / options.groups(),
       options.kernel_size(), options.out_channels(), options.bias());
}
void Conv1dImpl::reset_parameters() { draw(weight, bias); }
void Conv1dImpl::pretty_print(std::ostream& stream) const { print<1>(stream, "Conv1d", options); }
Tensor Conv1dImpl::forward(const Tensor& input) {
  functional::Conv1dFuncOptions call;
  call.bias(bias).stride(options.stride()).dilation(options.dilation()).groups(options.groups());
  const Tensor x = padded<1>(input, options, &call);
  return functional::conv1d(x, weight, call);
}

ConvTranspose1dImpl::ConvTranspose1dImpl(int64_t in_channels, int64_t out_channels,
                                         ExpandingArray<1> kernel_size)
    : ConvTranspose1dImpl(ConvTranspose1dOptions(in_channels, out_channels, kernel_size)) {}
ConvTranspose1dImpl::ConvTranspose1dImpl(ConvTranspose1dOptions options_)
    : options(std::move(options_)) {
  ConvTranspose1dImpl::reset();
}
void ConvTranspose1dImpl::reset() {
  check("ConvTranspose1d", options);
  TENON_CHECK(options.padding_mode().is<enumtype::kZeros>(), ValueError,
              "ConvTranspose1d: padding_mode may only be kZeros, got ",
              enumtype::get_enum_name(options.padding_mode()));
  make(*this, options.in_channels(), options.out_channels() / options.groups(),
       options.kernel_size(), options.out_channels(), options.bias());
}
void ConvTranspose1dImpl::reset_parameters() { draw(weight, bias); }
void ConvTranspose1dImpl::pretty_print(std::ostream& stream) const {
  print<1>(stream, "ConvTranspose1d", options);
}
Tensor ConvTranspose1dImpl::forward(const Tensor& input,
                                    const std::optional<IntArrayRef>& output_size) {
  return functional::conv_transpose1d(
      input, weight,
      functional::ConvTranspose1dFuncOptions()
          .bias(bias)
          .stride(options.stride())
          .padding(options.padding())
          .output_padding(output_padding<1>(input, output_size, options))
          .groups(options.groups())
          .dilation(options.dilation()));
}

Conv2dImpl::Conv2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
    : Conv2dImpl(Conv2dOptions(in_channels, out_channels, kernel_size)) {}
Conv2dImpl::Conv2dImpl(Conv2dOptions options_) : options(std::move(options_)) {
  Conv2dImpl::reset();
}
void Conv2dImpl::reset() {
  check("Conv2d", options);
  make(*this, options.out_channels(), options.in_channels() / options.groups(),
       options.kernel_size(), options.out_channels(), options.bias());
}
void Conv2dImpl::reset_parameters() { draw(weight, bias); }
void Conv2dImpl::pretty_print(std::ostream& stream) const { print<2>(stream, "Conv2d", options); }
Tensor Conv2dImpl::forward(const Tensor& input) {
  functional::Conv2dFuncOptions call;
  call.bias(bias).stride(options.stride()).dilation(options.dilation()).groups(options.groups());
  const Tensor x = padded<2>(input, options, &call);
  return functional::conv2d(x, weight, call);
}

ConvTranspose2dImpl::ConvTranspose2dImpl(int64_t in_channels, int64_t out_channels,
                                         ExpandingArray<2> kernel_size)
    : ConvTranspose2dImpl(ConvTranspose2dOptions(in_channels, out_channels, kernel_size)) {}
ConvTranspose2dImpl::ConvTranspose2dImpl(ConvTranspose2dOptions options_)
    : options(std::move(options_)) {
  ConvTranspose2dImpl::reset();
}
void ConvTranspose2dImpl::reset() {
  check("ConvTranspose2d", options);
  TENON_CHECK(options.padding_mode().is<enumtype::kZeros>(), ValueError,
              "ConvTranspose2d: padding_mode may only be kZeros, got ",
              enumtype::get_enum_name(options.padding_mode()));
  make(*this, options.in_channels(), options.out_channels() / options.groups(),
       options.kernel_size(), options.out_channels(), options.bias());
}
void ConvTranspose2dImpl::reset_parameters() { draw(weight, bias); }
void ConvTranspose2dImpl::pretty_print(std::ostream& stream) const {
  print<2>(stream, "ConvTranspose2d", options);
}
Tensor ConvTranspose2dImpl::forward(const Tensor& input,
                                    const std::optional<IntArrayRef>& output_size) {
  return functional::conv_transpose2d(
      input, weight,
      functional::ConvTranspose2dFuncOptions()
          .bias(bias)
          .stride(options.stride())
          .padding(options.padding())
          .output_padding(output_padding<2>(input, output_size, options))
          .groups(options.groups())
          .dilation(options.dilation()));
}

Conv3dImpl::Conv3dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<3> kernel_size)
    : Conv3dImpl(Conv3dOptions(in_channels, out_channels, kernel_size)) {}
Conv3dImpl::Conv3dImpl(Conv3dOptions options_) : options(std::move(options_)) {
  Conv3dImpl::reset();
}
void Conv3dImpl::reset() {
  check("Conv3d", options);
  make(*this, options.out_channels(), options.in_channels() / options.groups(),
       options.kernel_size(), options.out_channels(), options.bias());
}
void Conv3dImpl::reset_parameters() { draw(weight, bias); }
void Conv3dImpl::pretty_print(std::ostream& stream) const { print<3>(stream, "Conv3d", options); }
Tensor Conv3dImpl::forward(const Tensor& input) {
  functional::Conv3dFuncOptions call;
  call.bias(bias).stride(options.stride()).dilation(options.dilation()).groups(options.groups());
  const Tensor x = padded<3>(input, options, &call);
  return functional::conv3d(x, weight, call);
}

ConvTranspose3dImpl::ConvTranspose3dImpl(int64_t in_channels, int64_t out_channels,
                                         ExpandingArray<3> kernel_size)
    : ConvTranspose3dImpl(ConvTranspose3dOptions(in_channels, out_channels, kernel_size)) {}
ConvTranspose3dImpl::ConvTranspose3dImpl(ConvTranspose3dOptions options_)
    : options(std::move(options_)) {
  ConvTranspose3dImpl::reset();
}
void ConvTranspose3dImpl::reset() {
  check("ConvTranspose3d", options);
  TENON_CHECK(options.padding_mode().is<enumtype::kZeros>(), ValueError,
              "ConvTranspose3d: padding_mode may only be kZeros, got ",
              enumtype::get_enum_name(options.padding_mode()));
  make(*this, options.in_channels(), options.out_channels() / options.groups(),
       options.kernel_size(), options.out_channels(), options.bias());
}
void ConvTranspose3dImpl::reset_parameters() { draw(weight, bias); }
void ConvTranspose3dImpl::pretty_print(std::ostream& stream) const {
  print<3>(stream, "ConvTranspose3d", options);
}
Tensor ConvTranspose3dImpl::forward(const Tensor& input,
                                    const std::optional<IntArrayRef>& output_size) {
  return functional::conv_transpose3d(
      input, weight,
      functional::ConvTranspose3dFuncOptions()
          .bias(bias)
          .stride(options.stride())
          .padding(options.padding())
          .output_padding(output_padding<3>(input, output_size, options))
          .groups(options.groups())
          .dilation(options.dilation()));
}

std::vector<std::pair<unsigned, AnyValue>> ConvTranspose1dImpl::_forward_default_args() const {
  return {{1, AnyValue(std::optional<IntArrayRef>())}};
}
std::vector<std::pair<unsigned, AnyValue>> ConvTranspose2dImpl::_forward_default_args() const {
  return {{1, AnyValue(std::optional<IntArrayRef>())}};
}
std::vector<std::pair<unsigned, AnyValue>> ConvTranspose3dImpl::_forward_default_args() const {
  return {{1, AnyValue(std::optional<IntArrayRef>())}};
}

}  // namespace nn
}  // namespace tenon
