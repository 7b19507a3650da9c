// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/quantized/quantizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/batching/call.h"
#include "tenon/core/batched_call.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace quantized {

Quantizer::Quantizer(ScalarType t, double scale_of_all, int64_t zero_of_all)
    : core::BatchLevel(&quantized::call), dtype(t), scale(scale_of_all), zero(zero_of_all) {}
Quantizer::Quantizer(ScalarType t, Tensor scale_of_each, Tensor zero_of_each, int64_t dimension)
    : core::BatchLevel(&quantized::call),
      dtype(t),
      scales(std::move(scale_of_each)),
      zeros(std::move(zero_of_each)),
      axis(dimension) {}

Range range_of(ScalarType quantized, const char* op) {
  if (quantized == kQInt8) return {-128, 127};
  if (quantized == kQUInt8) return {0, 255};
  TENON_CHECK(quantized == kQInt32, TypeError, op,
              ": expected the dtype qint8, quint8 or qint32, got the number ",
              static_cast<int>(quantized));
  return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
}

ScalarType integer_dtype(ScalarType quantized) {
  return quantized == kQInt8 ? kChar : quantized == kQUInt8 ? kByte : kInt;
}

void refuse_quantized(const char* op, const Tensor& t) {
  TENON_CHECK(!is_quantized(t), TypeError, op,
              ": not of a quantized tensor; dequantize() it, or take its int_repr()");
}

Tensor wrap(const Tensor& integers, const core::Ref<Quantizer>& quantizer) {
  core::g_batched_call.store(&batching::call_batched, std::memory_order_relaxed);
  return Tensor(core::TensorImpl::make_batched(
      integers.getIntrusivePtr(), -1, core::Ref<core::BatchLevel>::share(quantizer.get())));
}

Tensor move_to(const Tensor& quantized, const TensorOptions& o, bool non_blocking) {
  const Tensor integers = integers_of(quantized);
  TENON_CHECK(!o.has_dtype() || o.dtype() == integers.scalar_type(), TypeError,
              "to: a quantized tensor has no other dtype; dequantize() it, which gives float32");
  return wrap(
      integers.to(TensorOptions(o.device_opt().value_or(quantized.device())), non_blocking, true),
      quantizer_of(quantized));
}

core::Ref<Quantizer> quantizer_of(const Tensor& quantized) {
  return core::Ref<Quantizer>::share(
      static_cast<Quantizer*>(quantized.unsafeGetTensorImpl()->batch->level));
}

Tensor integers_of(const Tensor& quantized) {
  return Tensor(core::Impl::share(quantized.unsafeGetTensorImpl()->batch->value));
}

namespace {

// One number per index of the axis, so that it broadcasts with the tensor.
Tensor along(const Tensor& each, const Tensor& tensor, int64_t axis) {
  std::vector<int64_t> sizes(static_cast<std::size_t>(tensor.dim()), 1);
  sizes[static_cast<std::size_t>(axis)] = each.numel();
  return each.to(TensorOptions(tensor.device()).dtype(kFloat)).reshape(sizes);
}

// The bounds of int32 are not exact in float32.
Tensor bounded(const Tensor& rounded, const Quantizer& by) {
  const Range r = range_of(by.dtype, "quantize");
  const Tensor wide = by.dtype == kQInt32 ? rounded.to(kDouble) : rounded;
  return wide.clamp(r.low, r.high).to(integer_dtype(by.dtype));
}

}  // namespace

// As FBGEMM does: a product with the inverse, which is rounded to float32.
Tensor quantize(const Tensor& real, const Quantizer& by) {
  const Tensor x = real.to(kFloat);
  if (by.per_channel()) {
    const Tensor scaled = x * along(by.scales, x, by.axis).reciprocal();
    return bounded(scaled.round() + along(by.zeros, x, by.axis), by);
  }
  const float factor = 1.0F / static_cast<float>(by.scale);
  if (by.dtype == kQInt32) return from_shifted(x * factor, by);
  return tenon::_quantize(x, factor, by.zero, integer_dtype(by.dtype));
}

Tensor from_shifted(const Tensor& shifted, const Quantizer& by) {
  if (by.dtype == kQInt32) return bounded(shifted.round() + by.zero, by);
  return tenon::_quantize(shifted, 1, by.zero, integer_dtype(by.dtype));
}

Tensor shifted(const Tensor& quantized) {
  const core::Ref<Quantizer> by = quantizer_of(quantized);
  const Tensor integers = integers_of(quantized);
  if (by->is_simple()) return tenon::_dequantize(integers, 1, by->zero);
  // Differences of int32 are not exact in float32.
  Tensor x = integers.to(by->dtype == kQInt32 ? kDouble : kFloat);
  if (by->per_channel())
    x -= along(by->zeros, integers, by->axis);
  else if (by->zero != 0)
    x -= by->zero;
  return x.to(kFloat);
}

namespace {

void check_parameters(const char* op, double scale, int64_t zero, ScalarType dtype) {
  const Range r = range_of(dtype, op);
  TENON_CHECK(std::isfinite(scale) && scale > 0, ValueError, op,
              ": argument 'scale' must be above 0, got ", scale);
  TENON_CHECK(zero >= r.low && zero <= r.high, ValueError, op,
              ": argument 'zero_point' must be between ", r.low, " and ", r.high, ", got ", zero);
}

int64_t checked_axis(const char* op, const Tensor& self, const Tensor& scales, const Tensor& zeros,
                     int64_t axis) {
  TENON_CHECK(axis >= -self.dim() && axis < self.dim(), IndexError, op, ": argument 'axis' is ",
              axis, ", of a tensor with ", self.dim(), " dimensions");
  if (axis < 0) axis += self.dim();
  TENON_CHECK(
      scales.dim() == 1 && scales.numel() == self.size(axis) && zeros.sizes() == scales.sizes(),
      ValueError, op, ": expected ", self.size(axis),
      " scales and zero points, one for each index of dimension ", axis, ", got sizes ",
      scales.sizes(), " and ", zeros.sizes());
  return axis;
}

core::Ref<Quantizer> for_all(ScalarType dtype, double scale, int64_t zero) {
  return core::Ref<Quantizer>::adopt(new Quantizer(dtype, scale, zero));
}
core::Ref<Quantizer> for_each_channel(ScalarType dtype, const Tensor& scales, const Tensor& zeros,
                                      int64_t axis) {
  return core::Ref<Quantizer>::adopt(new Quantizer(
      dtype, scales.detach().to(kDouble),
      zeros.detach().to(isFloatingType(zeros.scalar_type()) ? kDouble : kLong), axis));
}

void check_real(const char* op, const Tensor& self) {
  TENON_CHECK(!is_quantized(self) && self.scalar_type() == kFloat, TypeError, op,
              ": expected a float32 tensor, got ",
              is_quantized(self) ? "a quantized one" : dtype_name(self.scalar_type()));
}

// The quantized dtype of the integers.
ScalarType quantized_of(const char* op, const Tensor& integers) {
  const ScalarType t = integers.scalar_type();
  TENON_CHECK(!is_quantized(integers) && (t == kChar || t == kByte || t == kInt), TypeError, op,
              ": expected integers of dtype int8, uint8 or int32, got ", dtype_name(t));
  return t == kChar ? kQInt8 : t == kByte ? kQUInt8 : kQInt32;
}

core::Ref<Quantizer> checked(const char* op, const Tensor& self) {
  TENON_CHECK(is_quantized(self), TypeError, op, ": expected a quantized tensor, got one of dtype ",
              self.defined() ? dtype_name(self.scalar_type()) : "undefined");
  return quantizer_of(self);
}
core::Ref<Quantizer> checked(const char* op, const Tensor& self, bool per_channel) {
  core::Ref<Quantizer> q = checked(op, self);
  TENON_CHECK(q->per_channel() == per_channel, TypeError, op, ": the tensor is quantized per ",
              q->per_channel() ? "channel" : "tensor");
  return q;
}

// As torch and FBGEMM choose: the range contains 0, which is an integer.
core::Ref<Quantizer> chosen(double least, double most, ScalarType dtype, Range r) {
  constexpr double kSmallScale = 6.1e-5;
  least = std::min(least, 0.0);
  most = std::max(most, 0.0);
  const auto steps = static_cast<double>(r.high - r.low);
  double scale = (most - least) / steps;
  if (static_cast<float>(scale) == 0 || std::isinf(1.0F / static_cast<float>(scale))) scale = 0.1;
  if (scale < kSmallScale) {
    const double larger = kSmallScale / scale;
    if (least == 0)
      most = kSmallScale * steps;
    else if (most == 0)
      least = -kSmallScale * steps;
    else
      least = static_cast<float>(least * larger), most = static_cast<float>(most * larger);
    scale = kSmallScale;
  }
  const auto low = static_cast<double>(r.low), high = static_cast<double>(r.high);
  const double low_error = std::abs(low) + std::abs(least / scale);
  const double high_error = std::abs(high) + std::abs(most / scale);
  const double zero = low_error < high_error ? low - least / scale : high - most / scale;
  return for_all(dtype, static_cast<float>(scale),
                 static_cast<int64_t>(std::nearbyint(std::min(std::max(zero, low), high))));
}

}  // namespace
}  // namespace quantized

using quantized::check_parameters;
using quantized::wrap;

Tensor quantize_per_tensor(const Tensor& self, double scale, int64_t zero_point, ScalarType dtype) {
  const char* op = "quantize_per_tensor";
  quantized::check_real(op, self);
  check_parameters(op, scale, zero_point, dtype);
  NoGradGuard no_grad;
  const auto by = quantized::for_all(dtype, scale, zero_point);
  return wrap(quantized::quantize(self.detach(), *by), by);
}

Tensor quantize_per_channel(const Tensor& self, const Tensor& scales, const Tensor& zero_points,
                            int64_t axis, ScalarType dtype) {
  const char* op = "quantize_per_channel";
  quantized::check_real(op, self);
  (void)quantized::range_of(dtype, op);
  axis = quantized::checked_axis(op, self, scales, zero_points, axis);
  NoGradGuard no_grad;
  const auto by = quantized::for_each_channel(dtype, scales, zero_points, axis);
  return wrap(quantized::quantize(self.detach(), *by), by);
}

Tensor quantize_per_tensor_dynamic(const Tensor& self, ScalarType dtype, bool reduce_range) {
  const char* op = "quantize_per_tensor_dynamic";
  quantized::check_real(op, self);
  quantized::Range r = quantized::range_of(dtype, op);
  TENON_CHECK(dtype != kQInt32, TypeError, op, ": expected the dtype qint8 or quint8");
  if (reduce_range) r = {r.low / 2, r.high / 2};
  NoGradGuard no_grad;
  const Tensor x = self.detach();
  const bool any = x.numel() > 0;
  const double least = any ? x.min().item().to<double>() : 0;
  const double most = any ? x.max().item().to<double>() : 0;
  const auto by = quantized::chosen(least, most, dtype, r);
  return wrap(quantized::quantize(x, *by), by);
}

Tensor _make_per_tensor_quantized_tensor(const Tensor& self, double scale, int64_t zero_point) {
  const char* op = "_make_per_tensor_quantized_tensor";
  const ScalarType dtype = quantized::quantized_of(op, self);
  check_parameters(op, scale, zero_point, dtype);
  return wrap(self, quantized::for_all(dtype, scale, zero_point));
}

Tensor _make_per_channel_quantized_tensor(const Tensor& self, const Tensor& scales,
                                          const Tensor& zero_points, int64_t axis) {
  const char* op = "_make_per_channel_quantized_tensor";
  const ScalarType dtype = quantized::quantized_of(op, self);
  axis = quantized::checked_axis(op, self, scales, zero_points, axis);
  return wrap(self, quantized::for_each_channel(dtype, scales, zero_points, axis));
}

bool is_quantized(const Tensor& self) noexcept {
  if (!self.defined()) return false;
  const core::TensorImpl& t = *self.unsafeGetTensorImpl();
  return t.batched() && t.batch->level->call == &quantized::call;
}

Tensor dequantize(const Tensor& self) {
  if (!is_quantized(self)) return self.to(kFloat);
  const core::Ref<quantized::Quantizer> by = quantized::quantizer_of(self);
  if (by->is_simple()) return tenon::_dequantize(quantized::integers_of(self), by->scale, by->zero);
  const Tensor x = quantized::shifted(self);
  if (by->per_channel()) return x * quantized::along(by->scales, x, by->axis);
  return x * by->scale;
}

Tensor int_repr(const Tensor& self) {
  (void)quantized::checked("int_repr", self);
  return quantized::integers_of(self).clone();
}
Tensor _shared_int_repr(const Tensor& self) {
  (void)quantized::checked("_shared_int_repr", self);
  return quantized::integers_of(self);
}
Tensor _centered_int_repr(const Tensor& self) {
  (void)quantized::checked("_centered_int_repr", self);
  return quantized::shifted(self);
}
ScalarType quantized_dtype(const Tensor& self) {
  return quantized::checked("quantized_dtype", self)->dtype;
}
bool is_quantized_per_channel(const Tensor& self) {
  return quantized::checked("qscheme", self)->per_channel();
}
double q_scale(const Tensor& self) { return quantized::checked("q_scale", self, false)->scale; }
int64_t q_zero_point(const Tensor& self) {
  return quantized::checked("q_zero_point", self, false)->zero;
}
Tensor q_per_channel_scales(const Tensor& self) {
  return quantized::checked("q_per_channel_scales", self, true)->scales;
}
Tensor q_per_channel_zero_points(const Tensor& self) {
  return quantized::checked("q_per_channel_zero_points", self, true)->zeros;
}
int64_t q_per_channel_axis(const Tensor& self) {
  return quantized::checked("q_per_channel_axis", self, true)->axis;
}

}  // namespace tenon
