// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions and linear layers of quantized tensors, which quantized programs call by functions
// of the language (jit/language/quantized_text.cpp).
//
// Products are brought to the scale of the result as FBGEMM does it:
// round((sum + bias / (s_x s_w)) * (s_x s_w / s_y)) + zero_point. Weights of int8 without zero
// points are multiplied as integers. Others, and those of transposed convolutions, are kept as
// float32, less their zero points, so that sums are those of integers up to 2^24.
#include <algorithm>
#include <cmath>

#include "jit/run/unboxed.h"
#include "tenon/ops.h"
#include "tenon/quantized.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

using OptionalTensor = std::optional<Tensor>;
using Sizes = std::vector<int64_t>;

// One for all channels of the result, or one for each.
Tensor scales_of(const Tensor& weight) {
  TENON_CHECK(is_quantized(weight), TypeError, "quantized: expected a quantized weight");
  if (is_quantized_per_channel(weight)) return q_per_channel_scales(weight).to(kFloat);
  return tenon::full({1}, q_scale(weight), TensorOptions(weight.device()).dtype(kFloat));
}

bool symmetric(const Tensor& weight) {
  if (!is_quantized_per_channel(weight)) return q_zero_point(weight) == 0;
  return !q_per_channel_zero_points(weight).ne(0).any().item().to<bool>();
}

// What products are computed with.
Tensor values_of(const Tensor& weight, bool transposed) {
  const bool integers = !transposed && quantized_dtype(weight) == kQInt8 && symmetric(weight);
  return integers ? _shared_int_repr(weight) : _centered_int_repr(weight);
}
bool of_integers(const Tensor& values) { return values.scalar_type() == kChar; }

// Along dimension 1 of a convolution's result, or the last of a linear layer's.
Tensor for_channels(const Tensor& each, int64_t spatial) {
  Sizes sizes(static_cast<std::size_t>(1 + spatial), 1);
  sizes[0] = each.numel();
  return each.reshape(sizes);
}

struct Result {
  double scale;
  int64_t zero;
  bool relu;
};

ScalarType integers_for(ScalarType quantized) { return quantized == kQInt8 ? kChar : kByte; }

// In units of the products of integers.
OptionalTensor bias_in(const Tensor& units, const OptionalTensor& bias) {
  return bias ? OptionalTensor(bias->to(kFloat) / units) : std::nullopt;
}

// Products of integers are worth `units` each.
Tensor integer_convolution(const Tensor& x, const Tensor& weight, const Tensor& units,
                           const OptionalTensor& bias, const Sizes& stride, const Sizes& padding,
                           const Sizes& dilation, int64_t groups, const Result& to) {
  return tenon::_int8_convolution(
      _shared_int_repr(x), weight, bias_in(units, bias), units / to.scale, stride, padding,
      dilation, groups, q_zero_point(x), integers_for(quantized_dtype(x)), to.zero, to.relu);
}

// A convolution of one spatial dimension is one of two, the first of size 1. An image alone is a
// batch of one.
Tensor convolution_of_integers(const Tensor& x, const Tensor& weight, const OptionalTensor& bias,
                               const Tensor& factor, Sizes stride, Sizes padding, Sizes dilation,
                               int64_t groups, int64_t input_zero, ScalarType dtype, int64_t zero,
                               bool relu) {
  const bool flat = weight.dim() == 3, alone = x.dim() + 1 == weight.dim();
  const Tensor batch = alone ? x.unsqueeze(0) : x;
  if (flat) {
    stride.insert(stride.begin(), 1);
    padding.insert(padding.begin(), 0);
    dilation.insert(dilation.begin(), 1);
  }
  Tensor y = tenon::_int8_convolution(flat ? batch.unsqueeze(-2) : batch,
                                      flat ? weight.unsqueeze(-2) : weight, bias, factor, stride,
                                      padding, dilation, groups, input_zero, dtype, zero, relu);
  if (flat) y = y.squeeze(-2);
  return alone ? y.squeeze(0) : y;
}

// The same sums as integer_sums, whatever the dtypes.
Tensor wide_sums(const Tensor& x, const OptionalTensor& zero, const Tensor& weight, int64_t shift,
                 const Sizes& stride, const Sizes& padding, const Sizes& dilation, int64_t groups) {
  const Tensor y = x.to(kDouble);
  return tenon::convolution(zero ? y - zero->to(kDouble) : y, weight.to(kDouble) + shift,
                            std::nullopt, stride, padding, dilation, false, Sizes(stride.size(), 0),
                            groups)
      .to(kInt);
}

// The convolution of x - zero with weight + shift, in int32.
Tensor integer_sums(const Tensor& x, const OptionalTensor& zero, const Tensor& weight,
                    int64_t shift, const Sizes& stride, const Sizes& padding, const Sizes& dilation,
                    int64_t groups) {
  const bool bytes = x.scalar_type() == kByte || x.scalar_type() == kChar;
  const bool single = !zero || (zero->numel() == 1 && zero->device().is_cpu());
  const double input_zero = zero && single ? zero->item().to<double>() : 0;
  if (!bytes || !x.device().is_cpu() || !single || input_zero != std::round(input_zero) ||
      std::abs(input_zero) > 255)
    return wide_sums(x, zero, weight, shift, stride, padding, dilation, groups);
  const Tensor factor = tenon::ones({1});
  const auto sums = [&](const Tensor& filters) {
    return convolution_of_integers(x, filters, std::nullopt, factor, stride, padding, dilation,
                                   groups, static_cast<int64_t>(input_zero), kInt, 0, false);
  };
  const Tensor y = sums(weight);
  if (shift == 0) return y;
  // What each sum lacks: shift times the sum of the inputs that it is made of.
  Sizes sizes(weight.sizes().begin(), weight.sizes().end());
  sizes[0] = groups;
  const Tensor more = sums(tenon::ones(sizes, TensorOptions(kChar))) * shift;
  const int64_t of_group = weight.size(0) / groups;
  if (groups == 1 || of_group == 1) return y + more;
  const int64_t channels = x.dim() + 1 == weight.dim() ? 0 : 1;
  return (y.unflatten(channels, {groups, of_group}) + more.unsqueeze(channels + 1))
      .flatten(channels, channels + 1);
}

// (sums + bias) * factor in the dtype, as _int8_convolution ends.
Tensor finished(const Tensor& sums, const OptionalTensor& bias, const Tensor& factor,
                int64_t spatial, ScalarType dtype, int64_t zero, bool relu) {
  Tensor y = sums.to(kFloat);
  if (bias) y += for_channels(*bias, spatial);
  y *= for_channels(factor, spatial);
  if (dtype == kFloat) return relu ? y.relu_() : y;
  y.round_();
  const int64_t low = dtype == kChar ? -128 : 0;
  (y += zero).clamp_(relu ? std::max(low, zero) : low, low + 255);
  return y.to(dtype);
}

// As convolution_of_integers, with weight + shift.
Tensor shifted_convolution(const Tensor& x, const Tensor& weight, const OptionalTensor& bias,
                           const Tensor& factor, const Sizes& stride, const Sizes& padding,
                           const Sizes& dilation, int64_t groups, int64_t input_zero,
                           ScalarType dtype, int64_t zero, bool relu, int64_t shift) {
  const Tensor y =
      integer_sums(x, full({}, input_zero, kInt), weight, shift, stride, padding, dilation, groups);
  return finished(y, bias, factor, weight.dim() - 2, dtype, zero, relu);
}

// The product of rows, as a convolution of one image of one column.
Tensor integer_product(const Tensor& rows, const Tensor& weight, const OptionalTensor& bias,
                       const Tensor& factor, int64_t input_zero, ScalarType dtype, int64_t zero,
                       bool relu) {
  const Tensor image = rows.reshape({-1, rows.size(-1)}).t().unsqueeze(0).unsqueeze(-1);
  const Tensor y =
      tenon::_int8_convolution(image, weight.unsqueeze(-1).unsqueeze(-1), bias, factor, {1, 1},
                               {0, 0}, {1, 1}, 1, input_zero, dtype, zero, relu);
  Sizes sizes(rows.sizes().begin(), rows.sizes().end());
  sizes.back() = weight.size(0);
  return y.squeeze(-1).squeeze(0).t().reshape(sizes);
}

// As integer_product, with weight + shift.
Tensor shifted_product(const Tensor& rows, const Tensor& weight, const OptionalTensor& bias,
                       const Tensor& factor, int64_t input_zero, ScalarType dtype, int64_t zero,
                       bool relu, int64_t shift) {
  const Tensor y =
      integer_product(rows, weight, std::nullopt, tenon::ones({1}), input_zero, kInt, 0, false);
  const Tensor inputs = rows.sum({-1}, true, kInt) - input_zero * weight.size(1);
  return finished(y + inputs * shift, bias, factor, 0, dtype, zero, relu);
}

// sums + bias, of numbers in units of `units`, quantized. Writes to the sums.
Tensor requantize(Tensor sums, const Tensor& units, const OptionalTensor& bias, int64_t spatial,
                  ScalarType dtype, const Result& to) {
  sums.round_();
  if (bias) sums += for_channels(*bias_in(units, bias), spatial);
  sums *= for_channels(units / to.scale, spatial);
  sums.round_() += to.zero;
  const bool is_signed = dtype == kQInt8;
  const int64_t low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  sums.clamp_(to.relu ? std::max(low, to.zero) : low, high);
  return _make_per_tensor_quantized_tensor(sums.to(is_signed ? kChar : kByte), to.scale, to.zero);
}

void check_input(const char* op, const Tensor& x) {
  TENON_CHECK(is_quantized(x) && quantized_dtype(x) != kQInt32, TypeError, op,
              ": expected a quantized input of dtype quint8 or qint8");
}

// Convolutions of one dimension have weights of two, the first of size 1.
Tensor convolve(const Tensor& x, const Tensor& weight, const Tensor& scales,
                const OptionalTensor& bias, const Sizes& stride, const Sizes& padding,
                const Sizes& output_padding, const Sizes& dilation, bool transposed, int64_t groups,
                double scale, int64_t zero, bool relu) {
  check_input("quantized::conv", x);
  const bool flat = x.dim() + 1 == weight.dim();
  const Tensor units = scales * q_scale(x);
  if (of_integers(weight)) {
    const Tensor y = integer_convolution(flat ? x.unsqueeze(-2) : x, weight, units, bias, stride,
                                         padding, dilation, groups, {scale, zero, relu});
    return _make_per_tensor_quantized_tensor(flat ? y.squeeze(-2) : y, scale, zero);
  }
  Tensor centered = _centered_int_repr(x);
  if (flat) centered = centered.unsqueeze(-2);
  const Tensor sums = tenon::convolution(centered, weight, std::nullopt, stride, padding, dilation,
                                         transposed, output_padding, groups);
  return requantize(flat ? sums.squeeze(-2) : sums, units, bias, x.dim() - 2, quantized_dtype(x),
                    {scale, zero, relu});
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& scales,
              const OptionalTensor& bias, double scale, int64_t zero, bool relu) {
  check_input("quantized::linear", x);
  const Tensor units = scales * q_scale(x);
  if (!of_integers(weight))
    return requantize(tenon::linear(_centered_int_repr(x), weight), units, bias, 0,
                      quantized_dtype(x), {scale, zero, relu});
  const Tensor y = integer_product(_shared_int_repr(x), weight, bias_in(units, bias), units / scale,
                                   q_zero_point(x), integers_for(quantized_dtype(x)), zero, relu);
  return _make_per_tensor_quantized_tensor(y, scale, zero);
}

Tensor linear_dynamic(const Tensor& x, const Tensor& weight, const Tensor& scales,
                      const OptionalTensor& bias, bool reduce_range) {
  const Tensor q = quantize_per_tensor_dynamic(x, kQUInt8, reduce_range);
  const Tensor units = scales * q_scale(q);
  const Tensor y = of_integers(weight) ? integer_product(_shared_int_repr(q), weight, std::nullopt,
                                                         units, q_zero_point(q), kFloat, 0, false)
                                       : tenon::linear(_centered_int_repr(q), weight) * units;
  return bias ? y + *bias : y;
}

Tensor with_sizes(const Tensor& weight, const Tensor& integers) {
  if (!is_quantized_per_channel(weight))
    return _make_per_tensor_quantized_tensor(integers, q_scale(weight), q_zero_point(weight));
  return _make_per_channel_quantized_tensor(integers, q_per_channel_scales(weight),
                                            q_per_channel_zero_points(weight),
                                            q_per_channel_axis(weight));
}
// Weights of a convolution of one dimension as those of two, and back.
Tensor one_dimension_more(const Tensor& w) { return with_sizes(w, int_repr(w).unsqueeze(-2)); }
Tensor one_dimension_less(const Tensor& w) { return with_sizes(w, int_repr(w).squeeze(-2)); }

using ConvState = std::tuple<Tensor, OptionalTensor, Sizes>;
[[noreturn]] void bad_state() {
  throw ValueError("the state of a quantized convolution is none that torch has written");
}

// Version 1: (weight, bias, stride, padding, dilation, groups) with a tensor for each number.
ConvState first_conv_state(const std::vector<IValue>& parts) {
  if (parts.size() != 6 || !parts[0].isTensor()) bad_state();
  const auto numbers = [&](std::size_t i) {
    Sizes out;
    if (!parts[i].isTensorList()) bad_state();
    for (const Tensor& t : parts[i].toTensorVector()) out.push_back(t.item().to<int64_t>());
    return out;
  };
  Sizes all{static_cast<int64_t>(numbers(2).size())};
  for (std::size_t i = 2; i < 5; ++i)
    for (const int64_t n : numbers(i)) all.push_back(n);
  all.insert(all.end(), numbers(2).size(), 0);
  all.push_back(parts[5].toTensor().item().to<int64_t>());
  all.push_back(0);
  const bool bias = parts[1].isTensor() && parts[1].toTensor().defined();
  return {parts[0].toTensor(), bias ? OptionalTensor(parts[1].toTensor()) : std::nullopt, all};
}

// (weight, bias, numbers): the dimensions, then stride, padding, dilation and output_padding of
// each, groups, and 1 for a transposed convolution. torch writes integers of int16 as the first
// tensor (version "2"), or a list of ints (3), where the weight is tensor 1.
ConvState conv_state(const IValue& state) {
  if (!state.isTuple()) bad_state();
  const auto& parts = state.toTupleRef().items;
  if (parts.size() != 3) return first_conv_state(parts);
  const auto tensor_at = [](const IValue& list, std::size_t i) {
    const auto& items = list.toListRef().items;
    const bool there = i < items.size() && items[i].isTensor() && items[i].toTensor().defined();
    return there ? OptionalTensor(items[i].toTensor()) : std::nullopt;
  };
  TENON_CHECK(parts[1].isList() && parts[2].isList(), ValueError,
              "the state of a quantized convolution has no lists of numbers and tensors");
  const bool old = parts[0].isString();
  const OptionalTensor weight = old ? tensor_at(parts[1], 1) : tensor_at(parts[2], 1);
  TENON_CHECK(weight, ValueError, "the state of a quantized convolution has no weight");
  Sizes numbers;
  if (const OptionalTensor config = old ? tensor_at(parts[1], 0) : std::nullopt) {
    const Tensor wide = config->to(kLong).contiguous();
    numbers.assign(wide.const_data_ptr<int64_t>(), wide.const_data_ptr<int64_t>() + wide.numel());
  } else {
    for (const IValue& v : parts[1].toListRef().items) numbers.push_back(v.toInt());
  }
  TENON_CHECK(!numbers.empty() && numbers[0] > 0 && numbers[0] < 4 &&
                  numbers.size() == static_cast<std::size_t>(numbers[0] * 4 + 3),
              ValueError, "the state of a quantized convolution has ", numbers.size(), " numbers");
  return {*weight, tensor_at(parts[2], old ? 0 : 2), numbers};
}
void unpack_state(Stack& s) {
  const IValue state = pop(s);
  OntoStack<ConvState>::put(s, conv_state(state));
}

#define PACKED "Tensor input, Tensor weight, Tensor scales, Tensor? bias, "
#define WINDOW                                                                           \
  "int[] stride, int[] padding, int[] output_padding, int[] dilation, bool transposed, " \
  "int groups, "
#define FACTORS ", Tensor weight, Tensor? bias, Tensor factor, "
#define RESULT "int input_zero, ScalarType dtype, int zero, bool relu) -> Tensor"
const HostOperator list[] = {
    {"tenon_quantized::values(Tensor weight, bool transposed) -> Tensor", unboxed<values_of>},
    {"tenon_quantized::scales(Tensor weight) -> Tensor", unboxed<scales_of>},
    {"tenon_quantized::convolve(" PACKED WINDOW "float scale, int zero, bool relu) -> Tensor",
     unboxed<convolve>},
    {"tenon_quantized::linear(" PACKED "float scale, int zero, bool relu) -> Tensor",
     unboxed<linear>},
    {"tenon_quantized::product(Tensor rows" FACTORS RESULT, unboxed<integer_product>},
    {"tenon_quantized::convolution(Tensor x" FACTORS
     "int[] stride, int[] padding, int[] dilation, int groups, " RESULT,
     unboxed<convolution_of_integers>},
    {"tenon_quantized::shifted_convolution(Tensor x" FACTORS
     "int[] stride, int[] padding, int[] dilation, int groups, int input_zero, ScalarType dtype, "
     "int zero, bool relu, int shift) -> Tensor",
     unboxed<shifted_convolution>},
    {"tenon_quantized::shifted_product(Tensor rows" FACTORS
     "int input_zero, ScalarType dtype, int zero, bool relu, int shift) -> Tensor",
     unboxed<shifted_product>},
    {"tenon_quantized::integer_convolution(Tensor x, Tensor? zero, Tensor weight, int shift, "
     "int[] stride, int[] padding, int[] dilation, int groups) -> Tensor",
     unboxed<integer_sums>},
    {"tenon_quantized::linear_dynamic(" PACKED "bool reduce_range) -> Tensor",
     unboxed<linear_dynamic>},
    {"tenon_quantized::one_dimension_more(Tensor weight) -> Tensor", unboxed<one_dimension_more>},
    {"tenon_quantized::one_dimension_less(Tensor weight) -> Tensor", unboxed<one_dimension_less>},
    {"tenon_quantized::conv_state(Any state) -> (Tensor, Tensor?, int[])", unpack_state},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
