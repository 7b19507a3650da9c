// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How a tensor is quantized, the methods of quantized tensors, and the forms that take lists.
#include "tenon/quantized/quantizer.h"
#include "tenon/runtime/error.h"

namespace tenon {

std::string toString(QScheme scheme) {
  switch (scheme) {
    case kPerTensorAffine:
      return "per_tensor_affine";
    case kPerChannelAffine:
      return "per_channel_affine";
    case kPerTensorSymmetric:
      return "per_tensor_symmetric";
    case kPerChannelSymmetric:
      return "per_channel_symmetric";
    case kPerChannelAffineFloatQParams:
      return "per_channel_affine_float_qparams";
  }
  throw ValueError(core::join("toString: ", static_cast<int>(scheme), " is not a valid QScheme"));
}

QScheme qscheme(const Tensor& self) {
  if (!is_quantized_per_channel(self)) return kPerTensorAffine;
  const bool real = q_per_channel_zero_points(self).is_floating_point();
  return real ? kPerChannelAffineFloatQParams : kPerChannelAffine;
}

Tensor quantize_per_tensor(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                           ScalarType dtype) {
  return quantize_per_tensor(self, scale.item().to<double>(), zero_point.item().to<int64_t>(),
                             dtype);
}

std::vector<Tensor> quantize_per_tensor(TensorList tensors, const Tensor& scales,
                                        const Tensor& zero_points, ScalarType dtype) {
  const auto n = static_cast<int64_t>(tensors.size());
  TENON_CHECK(scales.numel() == n && zero_points.numel() == n, ValueError,
              "quantize_per_tensor: arguments 'scales' and 'zero_points' must have an element for "
              "each of the ",
              n, " tensors, got ", scales.numel(), " and ", zero_points.numel());
  const Tensor scale = scales.reshape({-1}), zero = zero_points.reshape({-1});
  std::vector<Tensor> out;
  out.reserve(tensors.size());
  for (int64_t i = 0; i < n; ++i)
    out.push_back(
        quantize_per_tensor(tensors[static_cast<std::size_t>(i)], scale[i], zero[i], dtype));
  return out;
}

std::vector<Tensor> dequantize(TensorList tensors) {
  std::vector<Tensor> out;
  out.reserve(tensors.size());
  for (const Tensor& t : tensors) out.push_back(dequantize(t));
  return out;
}

bool Tensor::is_quantized() const noexcept { return tenon::is_quantized(*this); }
Tensor Tensor::dequantize() const { return tenon::dequantize(*this); }
Tensor Tensor::int_repr() const { return tenon::int_repr(*this); }
QScheme Tensor::qscheme() const { return tenon::qscheme(*this); }
double Tensor::q_scale() const { return tenon::q_scale(*this); }
int64_t Tensor::q_zero_point() const { return tenon::q_zero_point(*this); }
Tensor Tensor::q_per_channel_scales() const { return tenon::q_per_channel_scales(*this); }
Tensor Tensor::q_per_channel_zero_points() const { return tenon::q_per_channel_zero_points(*this); }
int64_t Tensor::q_per_channel_axis() const { return tenon::q_per_channel_axis(*this); }

}  // namespace tenon
