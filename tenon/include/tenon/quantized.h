// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Quantized tensors: integers that stand for real numbers, (integer - zero_point) * scale, with one
// scale and zero point for all, or one for each index of a dimension.
//
// Operators keep scale and zero point where torch's kernels do (views, copies, pooling, relu, ...),
// on every device; others throw NotImplementedError. Gradients do not flow through them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

// torch's numbers. Tensor::scalar_type() of a quantized tensor is the dtype of its integers;
// quantized_dtype says which of these it has.
inline constexpr ScalarType kQInt8 = static_cast<ScalarType>(12);
inline constexpr ScalarType kQUInt8 = static_cast<ScalarType>(13);
inline constexpr ScalarType kQInt32 = static_cast<ScalarType>(14);

// How tensors are quantized, by torch's numbers; Tenon's are of the two affine kinds.
enum class QScheme : uint8_t {
  PER_TENSOR_AFFINE = 0,
  PER_CHANNEL_AFFINE = 1,
  PER_TENSOR_SYMMETRIC = 2,
  PER_CHANNEL_SYMMETRIC = 3,
  PER_CHANNEL_AFFINE_FLOAT_QPARAMS = 4,
};
inline constexpr QScheme kPerTensorAffine = QScheme::PER_TENSOR_AFFINE;
inline constexpr QScheme kPerChannelAffine = QScheme::PER_CHANNEL_AFFINE;
inline constexpr QScheme kPerTensorSymmetric = QScheme::PER_TENSOR_SYMMETRIC;
inline constexpr QScheme kPerChannelSymmetric = QScheme::PER_CHANNEL_SYMMETRIC;
inline constexpr QScheme kPerChannelAffineFloatQParams = QScheme::PER_CHANNEL_AFFINE_FLOAT_QPARAMS;
TENON_API std::string toString(QScheme scheme);  // "per_tensor_affine"

// round(self / scale) + zero_point, ties to even, within the dtype. `self` is float32; ValueError
// where scale is not above 0 or zero_point is outside of the dtype.
TENON_API Tensor quantize_per_tensor(const Tensor& self, double scale, int64_t zero_point,
                                     ScalarType dtype);
// `scale` and `zero_point` have one element.
TENON_API Tensor quantize_per_tensor(const Tensor& self, const Tensor& scale,
                                     const Tensor& zero_point, ScalarType dtype);
// Each tensor by its own element of `scales` and `zero_points`; ValueError if there are not as
// many.
TENON_API std::vector<Tensor> quantize_per_tensor(TensorList tensors, const Tensor& scales,
                                                  const Tensor& zero_points, ScalarType dtype);
// `scales` and `zero_points` have one element for each index of dimension `axis`.
TENON_API Tensor quantize_per_channel(const Tensor& self, const Tensor& scales,
                                      const Tensor& zero_points, int64_t axis, ScalarType dtype);
// Scale and zero point from the least and the greatest element; with `reduce_range` the integers
// have 7 bits. kQInt8 or kQUInt8.
TENON_API Tensor quantize_per_tensor_dynamic(const Tensor& self, ScalarType dtype,
                                             bool reduce_range);
// From integers of dtype int8, uint8 or int32, whose memory they share.
TENON_API Tensor _make_per_tensor_quantized_tensor(const Tensor& self, double scale,
                                                   int64_t zero_point);
TENON_API Tensor _make_per_channel_quantized_tensor(const Tensor& self, const Tensor& scales,
                                                    const Tensor& zero_points, int64_t axis);

TENON_API bool is_quantized(const Tensor& self) noexcept;
// The functions below throw TypeError for a tensor that is not quantized, dequantize excepted,
// which gives it as float32.
TENON_API Tensor dequantize(const Tensor& self);
TENON_API std::vector<Tensor> dequantize(TensorList tensors);
// A copy of the integers.
TENON_API Tensor int_repr(const Tensor& self);
// The integers themselves, in the memory of the tensor.
TENON_API Tensor _shared_int_repr(const Tensor& self);
// The integers less their zero points, as float32: the real numbers in units of the scale.
TENON_API Tensor _centered_int_repr(const Tensor& self);
TENON_API ScalarType quantized_dtype(const Tensor& self);
TENON_API bool is_quantized_per_channel(const Tensor& self);
// Per channel with zero points that are integers, or (of embeddings) float32 numbers.
TENON_API QScheme qscheme(const Tensor& self);
// TypeError for one that is quantized per channel, the other way round below.
TENON_API double q_scale(const Tensor& self);
TENON_API int64_t q_zero_point(const Tensor& self);
TENON_API Tensor q_per_channel_scales(const Tensor& self);       // float64
TENON_API Tensor q_per_channel_zero_points(const Tensor& self);  // int64
TENON_API int64_t q_per_channel_axis(const Tensor& self);

}  // namespace tenon
