// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The quantized operators of exported programs (torch's namespace quantized_decomposed): integers
// are ordinary tensors, scale and zero point are arguments. real = (integer - zero_point) * scale,
// integer = clamp(round(real / scale) + zero_point). The division is a product with the inverse, as
// in torch; where a zero point is added before rounding, torch does so, too.
#include "jit/run/unboxed.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

using OptionalType = std::optional<ScalarType>;

Tensor in_single(const Tensor& x) {
  return x.dtype() == kHalf || x.dtype() == kBFloat16 ? x.to(kFloat) : x;
}
bool bytes(ScalarType t) { return t == kByte || t == kChar; }
// Whether integers of 8 bits are all that `low` and `high` let through.
bool whole_range(ScalarType t, int64_t low, int64_t high) {
  return low == (t == kChar ? -128 : 0) && high == low + 255;
}
Tensor quantize(const Tensor& x, double scale, int64_t zero, int64_t low, int64_t high,
                ScalarType dtype) {
  const bool plain = isFloatingType(x.scalar_type()) && bytes(dtype);
  if (plain && whole_range(dtype, low, high) && low <= zero && zero <= high)
    return tenon::_quantize(in_single(x), 1.0 / scale, zero, dtype);
  return (in_single(x) * (1.0 / scale)).round().add(zero).clamp(low, high).to(dtype);
}
Tensor quantize_by_tensors(const Tensor& x, const Tensor& scale, const Tensor& zero, int64_t low,
                           int64_t high, ScalarType dtype) {
  return quantize(x, scale.item().to<double>(), zero.item().to<int64_t>(), low, high, dtype);
}
Tensor quantize_by_tensors_2(const Tensor& x, const Tensor& scale, const Tensor& zero,
                             const Tensor& low, const Tensor& high, ScalarType dtype) {
  return quantize_by_tensors(x, scale, zero, low.item().to<int64_t>(), high.item().to<int64_t>(),
                             dtype);
}
Tensor dequantize(const Tensor& q, double scale, int64_t zero, int64_t, int64_t, ScalarType,
                  OptionalType out) {
  const int64_t low = q.dtype() == kChar ? -128 : 0;
  if (bytes(q.scalar_type()) && out.value_or(kFloat) == kFloat && low <= zero && zero <= low + 255)
    return tenon::_dequantize(q, scale, zero);
  return (q.to(out.value_or(kFloat)) - zero) * scale;
}
Tensor dequantize_by_tensors(const Tensor& q, const Tensor& scale, const Tensor& zero, int64_t low,
                             int64_t high, ScalarType dtype, OptionalType out) {
  return dequantize(q, scale.item().to<double>(), zero.item().to<int64_t>(), low, high, dtype, out);
}
Tensor dequantize_by_tensors_2(const Tensor& q, const Tensor& scale, const Tensor& zero,
                               const Tensor&, const Tensor&, ScalarType dtype, OptionalType out) {
  return dequantize_by_tensors(q, scale, zero, 0, 0, dtype, out);
}

// One number per index of `axis`, so that it broadcasts with x.
Tensor along(const Tensor& per_channel, const Tensor& x, int64_t axis) {
  TENON_CHECK(axis >= -x.dim() && axis < x.dim(), IndexError, "axis ", axis, " of a tensor with ",
              x.dim(), " dimensions");
  std::vector<int64_t> sizes(static_cast<std::size_t>(x.dim()), 1);
  sizes[static_cast<std::size_t>(axis < 0 ? axis + x.dim() : axis)] = per_channel.numel();
  return per_channel.reshape(sizes);
}
Tensor quantize_channels(const Tensor& x, const Tensor& scales, const Tensor& zeros, int64_t axis,
                         int64_t low, int64_t high, ScalarType dtype) {
  return ((in_single(x) * along(scales.reciprocal(), x, axis)).round() + along(zeros, x, axis))
      .clamp(low, high)
      .to(dtype);
}
Tensor dequantize_channels(const Tensor& q, const Tensor& scales,
                           const std::optional<Tensor>& zeros, int64_t axis, int64_t, int64_t,
                           ScalarType, OptionalType out) {
  const Tensor shifted = zeros ? q - along(*zeros, q, axis) : q;
  return (shifted * along(scales, q, axis)).to(out.value_or(kFloat));
}
Tensor fake_quantize_channels(const Tensor& x, const Tensor& scales, const Tensor& zeros,
                              int64_t axis, int64_t low, int64_t high) {
  return tenon::fake_quantize_per_channel_affine(x, scales.to(kFloat), zeros.to(kInt), axis, low,
                                                 high);
}

using TwoTensors = std::tuple<Tensor, Tensor>;
// Both have a dimension of size 1, float64 and int64.
TwoTensors choose(const Tensor& x, int64_t low, int64_t high, double eps, ScalarType) {
  const Tensor least = x.min().clamp_max(0), most = x.max().clamp_min(0);
  const Tensor scale = ((most - least) / static_cast<double>(high - low)).clamp_min(eps);
  const Tensor zero = ((least / scale).round().to(kInt).neg() + low).clamp(low, high);
  return {scale.to(kDouble).reshape({1}), zero.to(kLong).reshape({1})};
}
TwoTensors choose_symmetric(const Tensor& x, int64_t low, int64_t high, double eps,
                            ScalarType dtype) {
  const Tensor most = tenon::maximum(x.min().clamp_max(0).neg(), x.max().clamp_min(0));
  const Tensor scale = (most / (static_cast<double>(high - low) / 2)).clamp_min(eps);
  const int64_t zero = dtype == kByte ? 128 : 0;
  return {scale.to(kDouble).reshape({1}), tenon::full_like(scale, zero, kLong).reshape({1})};
}
TwoTensors choose_per_token(const Tensor& x, ScalarType) {
  Tensor scales = x.abs().amax(std::vector<int64_t>{-1}, true);
  if (scales.dtype() == kHalf) scales = scales.to(kFloat);
  scales = scales.clamp_min(1e-5).div(127);
  return {scales, tenon::zeros_like(scales)};
}
TwoTensors choose_per_token_asymmetric(const Tensor& x, ScalarType) {
  constexpr int kLow = -128, kHigh = 127;
  constexpr double kEps = 1.1920928955078125e-7;
  const std::vector<int64_t> last{-1};
  const Tensor least = x.amin(last, true).clamp_max(0), most = x.amax(last, true).clamp_min(0);
  const Tensor scale = ((most - least) / static_cast<double>(kHigh - kLow)).clamp_min(kEps);
  const Tensor low = least / scale, high = most / scale;
  const Tensor zero = tenon::where((low + kLow) + (high + kHigh) > 0, kLow - low, kHigh - high);
  return {scale.to(kDouble), zero.clamp(kLow, kHigh).round().to(kLong)};
}
Tensor quantize_per_token(const Tensor& x, const Tensor& scales, const Tensor& zeros, int64_t low,
                          int64_t high, ScalarType dtype) {
  return (x * scales.reciprocal() + zeros).round().clamp(low, high).to(dtype);
}
Tensor dequantize_per_token(const Tensor& q, const Tensor& scales, const Tensor& zeros, int64_t,
                            int64_t, ScalarType, ScalarType out) {
  return ((q - zeros) * scales).to(out);
}

// Rows of a matrix in groups of columns, each with a scale of its own.
Tensor grouped(const Tensor& x, const Tensor& scales, int64_t size) {
  TENON_CHECK(x.dim() == 2 && size > 1, ValueError,
              "groups need a matrix and a size above 1, got sizes ", x.sizes(), " and ", size);
  if (size > x.size(1) && scales.size(-1) == 1) size = x.size(1);
  TENON_CHECK(x.size(1) % size == 0, ValueError, "rows of ", x.size(1),
              " elements have no groups of ", size);
  return x.reshape({-1, size});
}
Tensor quantize_groups(const Tensor& x, const Tensor& scales, const Tensor& zeros, int64_t low,
                       int64_t high, ScalarType dtype, int64_t size) {
  return quantize_per_token(grouped(x, scales, size), scales.reshape({-1, 1}),
                            zeros.reshape({-1, 1}), low, high, dtype)
      .reshape(x.sizes());
}
Tensor dequantize_groups(const Tensor& q, const Tensor& scales, const std::optional<Tensor>& zeros,
                         int64_t, int64_t, ScalarType, int64_t size, ScalarType out) {
  const Tensor groups = grouped(q, scales, size);
  const Tensor shifted = zeros ? groups - zeros->reshape({-1, 1}) : groups;
  return (shifted * scales.reshape({-1, 1})).reshape(q.sizes()).to(out);
}
Tensor convert_type(const Tensor& x, ScalarType dtype) { return x.to(dtype); }

#define QUANTIZED(schema, f) \
  { "quantized_decomposed::" schema, unboxed<f> }
#define RANGE "int quant_min, int quant_max, ScalarType dtype"
#define TENSORS "Tensor input, Tensor scale, Tensor zero_point, "
#define CHANNELS "Tensor input, Tensor scales, Tensor zero_points, "
const HostOperator list[] = {
    QUANTIZED("quantize_per_tensor(Tensor input, float scale, int zero_point, " RANGE ") -> Tensor",
              quantize),
    QUANTIZED("quantize_per_tensor.tensor(" TENSORS RANGE ") -> Tensor", quantize_by_tensors),
    QUANTIZED("quantize_per_tensor.tensor2(" TENSORS
              "Tensor quant_min, Tensor quant_max, ScalarType dtype) -> Tensor",
              quantize_by_tensors_2),
    QUANTIZED("dequantize_per_tensor(Tensor input, float scale, int zero_point, " RANGE
              ", *, ScalarType? out_dtype=None) -> Tensor",
              dequantize),
    QUANTIZED("dequantize_per_tensor.tensor(" TENSORS RANGE
              ", *, ScalarType? out_dtype=None) -> Tensor",
              dequantize_by_tensors),
    QUANTIZED("dequantize_per_tensor.tensor2(" TENSORS
              "Tensor quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? "
              "out_dtype=None) -> Tensor",
              dequantize_by_tensors_2),
    QUANTIZED("quantize_per_channel(" CHANNELS "int axis, " RANGE ") -> Tensor", quantize_channels),
    QUANTIZED(
        "dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, " RANGE
        ", *, ScalarType? out_dtype=None) -> Tensor",
        dequantize_channels),
    QUANTIZED("fake_quant_per_channel(" CHANNELS
              "int axis, int quant_min, int quant_max) -> Tensor",
              fake_quantize_channels),
    QUANTIZED("choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, "
              "ScalarType dtype) -> (Tensor, Tensor)",
              choose),
    QUANTIZED("choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float "
              "eps, ScalarType dtype) -> (Tensor, Tensor)",
              choose_symmetric),
    QUANTIZED("choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
              choose_per_token),
    QUANTIZED("choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, "
              "Tensor)",
              choose_per_token_asymmetric),
    QUANTIZED("_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> "
              "(Tensor, Tensor)",
              choose_per_token_asymmetric),
    QUANTIZED("quantize_per_token(" CHANNELS RANGE ") -> Tensor", quantize_per_token),
    QUANTIZED("dequantize_per_token(" CHANNELS RANGE ", ScalarType output_dtype) -> Tensor",
              dequantize_per_token),
    QUANTIZED("quantize_per_channel_group(" CHANNELS RANGE ", int group_size) -> Tensor",
              quantize_groups),
    QUANTIZED(
        "dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, " RANGE
        ", int group_size, ScalarType output_dtype) -> Tensor",
        dequantize_groups),
    QUANTIZED("convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor",
              convert_type),
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
