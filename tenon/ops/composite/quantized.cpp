// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Simulated quantization: numbers rounded to the levels of an integer type.
#include <vector>

#include "tenon/autograd/mode.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using WithMask = std::tuple<Tensor, Tensor>;

// The gradient passes where x is between the outer levels.
WithMask rounded_to(const Tensor& x, const Tensor& scale, const Tensor& zero, int64_t low,
                    int64_t high) {
  TENON_CHECK(low <= high, ValueError,
              "fake_quantize: `quant_min` should be less than or equal to `quant_max`, got ", low,
              " and ", high);
  Tensor level, inside;
  {
    const NoGradGuard none;
    const Tensor nearest = (x.to(kFloat) * scale.reciprocal()).round() + zero;
    inside = nearest.ge(low).logical_and(nearest.le(high));
    level = ((nearest.clamp(low, high) - zero) * scale).to(x.scalar_type());
  }
  const Tensor passed = x * inside.to(x.scalar_type());
  return {x.requires_grad() ? passed + (level - passed.detach()) : level, inside};
}
WithMask by_tensor(const Tensor& x, const Tensor& scale, const Tensor& zero, int64_t low,
                   int64_t high) {
  return rounded_to(x, scale.detach().to(kFloat), zero.detach().to(kFloat), low, high);
}
WithMask by_number(const Tensor& x, double scale, int64_t zero, int64_t low, int64_t high) {
  TENON_CHECK(zero >= low && zero <= high, ValueError,
              "fake_quantize: `zero_point` must be between `quant_min` and `quant_max`.");
  const TensorOptions options = TensorOptions(kFloat).device(x.device());
  return by_tensor(x, tenon::scalar_tensor(scale, options), tenon::scalar_tensor(zero, options),
                   low, high);
}
WithMask by_channel(const Tensor& x, const Tensor& scale, const Tensor& zero, int64_t axis,
                    int64_t low, int64_t high) {
  const char* name = "fake_quantize_per_channel_affine";
  TENON_CHECK(axis >= 0 && axis < x.dim(), ValueError, name,
              ": `axis` must be between 0 and number of dimensions of input, got ", axis);
  TENON_CHECK(scale.dim() == 1 && zero.dim() == 1 && scale.numel() == x.size(axis) &&
                  zero.numel() == x.size(axis),
              ValueError, name, ": dimensions of scale and zero-point are not consistent with ",
              x.size(axis), " channels, got ", scale.sizes(), " and ", zero.sizes());
  if (zero.numel() > 0) {
    const double least = zero.min().item<double>(), most = zero.max().item<double>();
    TENON_CHECK(least >= static_cast<double>(low) && most <= static_cast<double>(high), ValueError,
                name, ": `zero_point` must be between `quant_min` and `quant_max`.");
  }
  std::vector<int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[static_cast<std::size_t>(axis)] = x.size(axis);
  return by_tensor(x, scale.view(shape), zero.view(shape), low, high);
}

}  // namespace

Tensor fake_quantize_per_tensor_affine(const Tensor& self, double scale, int64_t zero, int64_t low,
                                       int64_t high) {
  return std::get<0>(by_number(self, scale, zero, low, high));
}
Tensor fake_quantize_per_tensor_affine_tensor_qparams(const Tensor& self, const Tensor& scale,
                                                      const Tensor& zero, int64_t low,
                                                      int64_t high) {
  return std::get<0>(by_tensor(self, scale, zero, low, high));
}
WithMask fake_quantize_per_tensor_affine_cachemask(const Tensor& self, double scale, int64_t zero,
                                                   int64_t low, int64_t high) {
  return by_number(self, scale, zero, low, high);
}
Tensor fake_quantize_per_channel_affine(const Tensor& self, const Tensor& scale, const Tensor& zero,
                                        int64_t axis, int64_t low, int64_t high) {
  return std::get<0>(by_channel(self, scale, zero, axis, low, high));
}
WithMask fake_quantize_per_channel_affine_cachemask(const Tensor& self, const Tensor& scale,
                                                    const Tensor& zero, int64_t axis, int64_t low,
                                                    int64_t high) {
  return by_channel(self, scale, zero, axis, low, high);
}

}  // namespace tenon::composite
