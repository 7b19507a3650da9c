// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Quantized layers in float32, whose sums are those of integers up to 2^24, and in float64 where
// the sums themselves are the result.
#include <vector>

#include "tenon/ops/decomp/decomp.h"

namespace tenon::decomp {
namespace {

// NaN becomes the lowest integer, as on the CPU and in torch.
Tensor with_zero_point(const Tensor& rounded, int64_t zero, ScalarType dtype) {
  const int64_t low = dtype == kChar ? -128 : 0;
  return (rounded + zero).clamp(low, low + 255).nan_to_num(low).to(dtype);
}

Tensor for_filters(const Tensor& each, int64_t dims) {
  std::vector<int64_t> sizes(static_cast<std::size_t>(dims - 1), 1);
  sizes[0] = each.numel();
  return each.reshape(sizes);
}

}  // namespace

Tensor _quantize(const Tensor& self, double factor, int64_t zero_point, ScalarType dtype) {
  return with_zero_point((self * factor).round(), zero_point, dtype);
}

Tensor _dequantize(const Tensor& self, double scale, int64_t zero_point) {
  return (self.to(kFloat) - zero_point) * scale;
}

Tensor _int8_convolution(const Tensor& input, const Tensor& weight,
                         const std::optional<Tensor>& bias, const Tensor& factor,
                         IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                         int64_t groups, int64_t input_zero, ScalarType dtype, int64_t zero,
                         bool relu) {
  const ScalarType computed = dtype == kInt ? kDouble : kFloat;
  const Tensor sums =
      tenon::convolution(input.to(computed) - input_zero, weight.to(computed), std::nullopt, stride,
                         padding, dilation, false, {0}, groups)
          .round();
  if (dtype == kInt) return sums.to(kInt);
  const int64_t dims = input.dim();
  const Tensor y = (bias ? sums + for_filters(*bias, dims) : sums) * for_filters(factor, dims);
  const Tensor rounded = dtype == kFloat ? y : y.round(),
               kept = relu ? tenon::relu(rounded) : rounded;
  return dtype == kFloat ? kept : with_zero_point(kept, zero, dtype);
}

Tensor _quantized_add(const Tensor& self, const Tensor& other, double self_scale, int64_t self_zero,
                      double other_scale, int64_t other_zero, double factor, int64_t zero_point,
                      ScalarType dtype, bool relu) {
  const Tensor sum = tenon::_dequantize(self, self_scale, self_zero) +
                     tenon::_dequantize(other, other_scale, other_zero);
  return tenon::_quantize(relu ? tenon::relu(sum) : sum, factor, zero_point, dtype);
}

Tensor _quantized_mul(const Tensor& self, const Tensor& other, double self_scale, int64_t self_zero,
                      double other_scale, int64_t other_zero, double factor, int64_t zero_point,
                      ScalarType dtype, bool relu) {
  const Tensor product = tenon::_dequantize(self, self_scale, self_zero) *
                         tenon::_dequantize(other, other_scale, other_zero);
  return tenon::_quantize(relu ? tenon::relu(product) : product, factor, zero_point, dtype);
}

Tensor _byte_table(const Tensor& self, const Tensor& table) {
  const Tensor at = self.to(kLong) + (self.scalar_type() == kChar ? 128 : 0);
  return table.index_select(0, at.flatten()).reshape(self.sizes());
}

}  // namespace tenon::decomp
