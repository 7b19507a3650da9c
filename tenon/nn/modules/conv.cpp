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
#include "tenon/nn/modules/shown_namespace.h"
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

template <std::size_t D, class Options>
void check_channels(const char* family, const Options& o) {
  TENON_CHECK(o.in_channels() > 0 && o.out_channels() > 0 && o.groups() > 0, ValueError, family, D,
              "d: in_channels, out_channels and groups must be positive, got ", o.in_channels(),
              ", ", o.out_channels(), " and ", o.groups());
  TENON_CHECK(o.in_channels() % o.groups() == 0 && o.out_channels() % o.groups() == 0, ValueError,
              family, D, "d: groups=", o.groups(), " must divide in_channels=", o.in_channels(),
              " and out_channels=", o.out_channels());
}

// Weight [first, second / groups, kernel...]; registers both and draws them.
template <class Impl, std::size_t D>
void register_weights(Impl& m, int64_t first, int64_t second, const ExpandingArray<D>& kernel,
                      int64_t out_channels, bool with_bias) {
  std::vector<int64_t> shape = {first, second};
  shape.insert(shape.end(), kernel->begin(), kernel->end());
  m.weight = m.register_parameter("weight", tenon::empty(shape));
  m.bias = with_bias ? m.register_parameter("bias", tenon::empty({out_channels}))
                     : m.register_parameter("bias", Tensor(), false);
  m.reset_parameters();
}

void draw_weights(Tensor& weight, Tensor& bias) {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const int64_t fan_in = std::get<0>(init::_calculate_fan_in_and_fan_out(weight));
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  init::uniform_(bias, -bound, bound);
}

template <std::size_t D>
bool all_equal(const ExpandingArray<D>& values, int64_t wanted) {
  for (const int64_t v : *values) {
    if (v != wanted) return false;
  }
  return true;
}

template <std::size_t D>
void check_options(const char* family, const ConvOptions<D>& o) {
  check_channels<D>(family, o);
  TENON_CHECK(
      o.padding().kind() != nn::detail::ConvPadding<D>::Kind::kSame || all_equal<D>(o.stride(), 1),
      ValueError, family, D,
      "d: padding='same' is not supported for strided convolutions, got stride=",
      IntArrayRef(o.stride()));
}
template <std::size_t D>
void check_options(const char* family, const ConvTransposeOptions<D>& o) {
  check_channels<D>(family, o);
}

template <std::size_t D, class Options>
void print_common(std::ostream& stream, const char* family, const Options& o) {
  stream << std::boolalpha << detail::shown_namespace() << family << D << "d(" << o.in_channels()
         << ", " << o.out_channels() << ", kernel_size=" << o.kernel_size()
         << ", stride=" << o.stride();
}

template <std::size_t D, class Options>
void print_rest(std::ostream& stream, const Options& o) {
  if (!all_equal<D>(o.dilation(), 1)) stream << ", dilation=" << o.dilation();
  if (o.groups() != 1) stream << ", groups=" << o.groups();
  if (!o.bias()) stream << ", bias=" << false;
  if (!o.padding_mode().template is<enumtype::kZeros>()) {
    stream << ", padding_mode=" << enumtype::get_enum_name(o.padding_mode());
  }
  stream << ")";
}

template <std::size_t D>
void print_options(std::ostream& stream, const ConvOptions<D>& o) {
  print_common<D>(stream, "Conv", o);
  using Kind = typename nn::detail::ConvPadding<D>::Kind;
  if (o.padding().kind() == Kind::kSame) stream << ", padding='same'";
  if (o.padding().kind() == Kind::kValid) stream << ", padding='valid'";
  if (o.padding().kind() == Kind::kNumbers && !all_equal<D>(o.padding().numbers(), 0)) {
    stream << ", padding=" << o.padding().numbers();
  }
  print_rest<D>(stream, o);
}

template <std::size_t D>
void print_options(std::ostream& stream, const ConvTransposeOptions<D>& o) {
  print_common<D>(stream, "ConvTranspose", o);
  if (!all_equal<D>(o.padding(), 0)) stream << ", padding=" << o.padding();
  if (!all_equal<D>(o.output_padding(), 0)) stream << ", output_padding=" << o.output_padding();
  print_rest<D>(stream, o);
}

// What F::pad adds, last dimension first, where the border is not zeros.
template <std::size_t D>
std::vector<int64_t> border_widths(const ConvOptions<D>& o) {
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
Tensor pad_input(const Tensor& input, const ConvOptions<D>& o,
                 functional::ConvFuncOptions<D>* call) {
  if (o.padding_mode().template is<enumtype::kZeros>()) {
    call->padding(o.padding());
    return input;
  }
  return functional::pad(
      input, functional::PadFuncOptions(border_widths(o)).mode(pad_mode(o.padding_mode())));
}

// The output padding that leads to output_size; without one, that of the options.
template <std::size_t D>
ExpandingArray<D> find_output_padding(const Tensor& input,
                                      const std::optional<IntArrayRef>& output_size,
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

template <std::size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset() {
  check_options("Conv", options);
  register_weights(*this, options.out_channels(), options.in_channels() / options.groups(),
                   options.kernel_size(), options.out_channels(), options.bias());
}
template <std::size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset_parameters() {
  draw_weights(weight, bias);
}
template <std::size_t D, class Derived>
void ConvNdImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_options(stream, options);
}
template class ConvNdImpl<1, Conv1dImpl>;
template class ConvNdImpl<2, Conv2dImpl>;
template class ConvNdImpl<3, Conv3dImpl>;

namespace {

template <class Call, std::size_t D>
Tensor run_conv(Call&& conv, const Tensor& input, const Tensor& weight, const Tensor& bias,
                const ConvOptions<D>& o) {
  functional::ConvFuncOptions<D> call;
  call.bias(bias).stride(o.stride()).dilation(o.dilation()).groups(o.groups());
  const Tensor x = pad_input<D>(input, o, &call);
  return conv(x, weight, call);
}

}  // namespace

Tensor Conv1dImpl::forward(const Tensor& input) {
  return run_conv(functional::conv1d, input, weight, bias, options);
}
Tensor Conv2dImpl::forward(const Tensor& input) {
  return run_conv(functional::conv2d, input, weight, bias, options);
}
Tensor Conv3dImpl::forward(const Tensor& input) {
  return run_conv(functional::conv3d, input, weight, bias, options);
}

template <std::size_t D, class Derived>
void ConvTransposeNdImpl<D, Derived>::reset() {
  check_options("ConvTranspose", options);
  register_weights(*this, options.in_channels(), options.out_channels() / options.groups(),
                   options.kernel_size(), options.out_channels(), options.bias());
}
template <std::size_t D, class Derived>
void ConvTransposeNdImpl<D, Derived>::reset_parameters() {
  draw_weights(weight, bias);
}
template <std::size_t D, class Derived>
void ConvTransposeNdImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_options(stream, options);
}
template class ConvTransposeNdImpl<1, ConvTranspose1dImpl>;
template class ConvTransposeNdImpl<2, ConvTranspose2dImpl>;
template class ConvTransposeNdImpl<3, ConvTranspose3dImpl>;

namespace {

template <std::size_t D>
functional::ConvTransposeFuncOptions<D> function_options(
    const Tensor& input, const std::optional<IntArrayRef>& output_size, const Tensor& bias,
    const ConvTransposeOptions<D>& o) {
  TENON_CHECK(o.padding_mode().template is<enumtype::kZeros>(), ValueError,
              "Only `zeros` padding mode is supported for ConvTranspose", D, "d, got ",
              enumtype::get_enum_name(o.padding_mode()));
  return functional::ConvTransposeFuncOptions<D>()
      .bias(bias)
      .stride(o.stride())
      .padding(o.padding())
      .output_padding(find_output_padding<D>(input, output_size, o))
      .groups(o.groups())
      .dilation(o.dilation());
}

}  // namespace

Tensor ConvTranspose1dImpl::forward(const Tensor& input,
                                    const std::optional<IntArrayRef>& output_size) {
  return functional::conv_transpose1d(input, weight,
                                      function_options(input, output_size, bias, options));
}
Tensor ConvTranspose2dImpl::forward(const Tensor& input,
                                    const std::optional<IntArrayRef>& output_size) {
  return functional::conv_transpose2d(input, weight,
                                      function_options(input, output_size, bias, options));
}
Tensor ConvTranspose3dImpl::forward(const Tensor& input,
                                    const std::optional<IntArrayRef>& output_size) {
  return functional::conv_transpose3d(input, weight,
                                      function_options(input, output_size, bias, options));
}

}  // namespace nn
}  // namespace tenon
