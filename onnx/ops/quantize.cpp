// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Quantization. Where scales and zero points are known, integers and real numbers are told apart as
// exported programs do it (quantized_decomposed), which optimized programs join to layers of
// integers; else ordinary operators compute with exact integers in floats.
#include <algorithm>
#include <cmath>

#include "onnx/import/builder.h"
#include "onnx/ops/cast.h"
#include "onnx/ops/conv.h"
#include "onnx/ops/quantize.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _along(s: Tensor, x: Tensor, axis: int, block: int) -> Tensor:
  if s.numel() == 1:
    return s.reshape([])
  if block > 0:
    return torch.repeat_interleave(s, block, axis).narrow(axis, 0, x.size(axis))
  shape = [1 for i in range(x.dim())]
  shape[axis] = s.numel()
  return s.reshape(shape) if s.dim() == 1 else s
def _scaled(x: Tensor, scale: Tensor, axis: int, block: int, precision: int) -> Tensor:
  return x.to(precision) / _along(scale, x, axis, block).to(precision)
def _quantize(x: Tensor, scale: Tensor, zero: Optional[Tensor], axis: int, block: int, low: float, high: float, precision: int, dtype: int) -> Tensor:
  y = torch.round(_scaled(x, scale, axis, block, precision))
  y = y.to(torch.float32) if high < 100000.0 else y.to(torch.float64)
  if zero is not None:
    y = y + _along(zero, x, axis, block).to(y.dtype)
  return torch.clamp(y, low, high).to(torch.int64).to(dtype)
def _dequantize(x: Tensor, scale: Tensor, zero: Optional[Tensor], axis: int, block: int, dtype: int) -> Tensor:
  y = x.to(torch.float32)
  if zero is not None:
    y = y - _along(zero, x, axis, block).to(torch.float32)
  return (y * _along(scale, x, axis, block).to(torch.float32)).to(dtype)
def DynamicQuantizeLinear(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
  high = torch.clamp_min(torch.amax(x), 0.0)
  low = torch.clamp_max(torch.amin(x), 0.0)
  scale = (high - low) / 255.0
  scale = torch.where(scale == 0, torch.ones_like(scale), scale)
  zero = torch.clamp(torch.round(-low / scale), 0.0, 255.0)
  y = torch.clamp(torch.round(x / scale) + zero, 0.0, 255.0)
  return y.to(torch.uint8), scale, zero.to(torch.uint8)
def _centered(x: Tensor, zero: Optional[Tensor], row: bool) -> Tensor:
  y = x.to(torch.float64)
  if zero is None:
    return y
  z = zero.to(torch.float64)
  return y - (z.unsqueeze(-1) if row and z.dim() == 1 and z.numel() > 1 else z)
def _signed(w: Tensor) -> Tensor:
  return w if w.dtype == torch.int8 else torch.bitwise_xor(w, 128).view(torch.int8)
def _int_product(a: Tensor, b: Tensor, a_zero: Optional[Tensor], shift: Optional[Tensor]) -> Tensor:
  w = _signed(b)
  return _int_product_with(a, w, None if a_zero is None else torch.sum(w, [0], False, dtype=torch.int32), a_zero, shift)
def _int_product_with(a: Tensor, w: Tensor, sums: Optional[Tensor], a_zero: Optional[Tensor], shift: Optional[Tensor]) -> Tensor:
  k = w.size(0)
  rows = a.reshape([-1, k])
  y = torch._int_mm(rows, w)
  if a_zero is not None and sums is not None:
    z = a_zero.to(torch.int32).reshape([-1, 1])
    y = y - z * sums
    if shift is not None:
      y = y + (z * k) * shift
  if shift is not None:
    y = y - shift * torch.sum(rows, [1], True, dtype=torch.int32)
  return y.reshape(a.shape[:-1] + [w.size(1)])
def MatMulInteger(a: Tensor, b: Tensor, a_zero: Optional[Tensor], b_zero: Optional[Tensor]) -> Tensor:
  return torch.matmul(_centered(a, a_zero, True), _centered(b, b_zero, False)).to(torch.int32)
def _requantize(y: Tensor, zero: Tensor, dtype: int, low: float, high: float) -> Tensor:
  return torch.clamp(torch.round(y) + zero.to(torch.float64), low, high).to(torch.int64).to(dtype)
def _q_matmul(a: Tensor, a_scale: Tensor, a_zero: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor, y_scale: Tensor, y_zero: Tensor, dtype: int, low: float, high: float) -> Tensor:
  y = torch.matmul(_centered(a, a_zero, True), _centered(b, b_zero, False))
  s = a_scale.to(torch.float64)
  if s.dim() == 1 and s.numel() > 1:
    s = s.unsqueeze(-1)
  y = y * (s * b_scale.to(torch.float64) / y_scale.to(torch.float64))
  return _requantize(y, y_zero, dtype, low, high)
def _q_conv(x: Tensor, x_scale: Tensor, x_zero: Tensor, w: Tensor, w_scale: Tensor, w_zero: Tensor, y_scale: Tensor, y_zero: Tensor, b: Optional[Tensor], auto_pad: str, dilations: Optional[List[int]], group: int, pads: Optional[List[int]], strides: Optional[List[int]], dtype: int, low: float, high: float) -> Tensor:
  shape = [-1] + [1 for i in range(w.dim() - 1)]
  k = w.to(torch.float64) - (w_zero.to(torch.float64).reshape(shape) if w_zero.dim() == 1 else w_zero.to(torch.float64))
  y = Conv(_centered(x, x_zero, False), k, None if b is None else b.to(torch.float64), auto_pad=auto_pad, dilations=dilations, group=group, pads=pads, strides=strides)
  s = w_scale.to(torch.float64)
  if s.dim() == 1:
    s = s.reshape(shape[:-1])
  y = y * (x_scale.to(torch.float64) * s / y_scale.to(torch.float64))
  return _requantize(y, y_zero, dtype, low, high)
)py");

struct Range {
  double low, high;
};
Range range_of(int32_t type) {
  switch (type) {
    case pb::UINT8:
      return {0, 255};
    case pb::INT8:
      return {-128, 127};
    case pb::UINT16:
      return {0, 65535};
    case pb::INT16:
      return {-32768, 32767};
    case pb::UINT4:
      return {0, 15};
    case pb::INT4:
      return {-8, 7};
    case pb::UINT2:
      return {0, 3};
    case pb::INT2:
      return {-2, 1};
    case pb::INT32:
      return {-2147483648.0, 2147483647.0};
    default:
      throw NotImplementedError("quantizing to " + name_of_type(type) + " is not supported");
  }
}

int32_t type_of_zero(const ItemPtr& zero, int64_t asked) {
  if (zero) return type_of_item(*zero);
  return asked != 0 ? static_cast<int32_t>(asked) : static_cast<int32_t>(pb::UINT8);
}

}  // namespace

Value* optional_tensor(Builder& b, const ItemPtr& i) {
  return i ? b.tensor(i) : b.constant(IValue());
}

void check_channels_first(const Call& c) {
  TENON_CHECK(c.integer("channels_last", 0) == 0, NotImplementedError,
              "channels_last=1 is not supported");
}

std::optional<Step> step_of(const ItemPtr& scale, const ItemPtr& zero, int32_t type) {
  const bool bytes = type == pb::UINT8 || type == pb::INT8;
  const bool known = scale && scale->constant.defined() && scale->constant.numel() == 1 &&
                     scale->constant.scalar_type() == kFloat;
  if (!bytes || !known) return std::nullopt;
  if (zero && !(zero->constant.defined() && zero->constant.numel() == 1)) return std::nullopt;
  const double s = scale->constant.item<double>();
  if (!(s > 0) || !std::isfinite(s)) return std::nullopt;
  return Step{s, zero ? zero->constant.item<int64_t>() : 0, type};
}

namespace {

std::vector<Value*> with_step(Builder& b, Value* v, const Step& s) {
  const Range r = range_of(s.type);
  return {v,
          b.constant(s.scale),
          b.constant(s.zero),
          b.constant(static_cast<int64_t>(r.low)),
          b.constant(static_cast<int64_t>(r.high)),
          b.constant(*dtype_of(s.type))};
}

}  // namespace

ItemPtr quantize_by(Builder& b, Value* real, const Step& step) {
  ItemPtr out =
      Builder::item(b.emit1("quantized_decomposed::quantize_per_tensor", with_step(b, real, step)),
                    dtype_of(step.type));
  out->onnx_type = step.type;
  return out;
}
Value* dequantize_by(Builder& b, Value* integers, const Step& step) {
  return b.emit1("quantized_decomposed::dequantize_per_tensor", with_step(b, integers, step));
}

Value* dequantize_weight(Builder& b, const ItemPtr& weight, const ItemPtr& scale,
                         const ItemPtr& zero, int64_t axis) {
  const int32_t type = type_of_item(*weight);
  const bool bias = type == pb::INT32;  // without zero points
  if (const auto step = step_of(scale, zero, bias ? pb::INT8 : type))
    return dequantize_by(b, b.tensor(weight), {step->scale, step->zero, type});
  const bool known = (bias || type == pb::UINT8 || type == pb::INT8) && scale->constant.defined() &&
                     scale->constant.dim() == 1 && scale->constant.scalar_type() == kFloat &&
                     (!zero || zero->constant.defined());
  if (!known) return nullptr;
  Value* zeros = b.constant(IValue());
  if (zero && zero->constant.ne(0).any().item<bool>())
    zeros = b.constant(zero->constant.to(kLong).reshape({-1}));
  const Range r = range_of(type);
  return b.emit1("quantized_decomposed::dequantize_per_channel",
                 {b.tensor(weight), b.tensor(scale), zeros, b.constant(axis),
                  b.constant(static_cast<int64_t>(r.low)), b.constant(static_cast<int64_t>(r.high)),
                  b.constant(*dtype_of(type))});
}

Value* real_bias(Builder& b, const ItemPtr& bias, const ItemPtr& weight_scale, double scale) {
  if (!bias) return b.constant(IValue());
  const Tensor units = weight_scale->constant.to(kDouble) * scale;
  return b.constant((bias->constant.to(kDouble) * units).to(kFloat));
}

Value* int_product(Builder& b, const ItemPtr& x, const ItemPtr& weight, const ItemPtr& x_zero,
                   const ItemPtr& zero) {
  const Tensor& w = weight->constant;
  const bool bytes = w.defined() && (w.scalar_type() == kChar || w.scalar_type() == kByte);
  if (!bytes || w.dim() != 2 || (zero && !zero->constant.defined())) return nullptr;
  // Beside the middle of its type, which the product takes for zero.
  const int64_t middle = w.scalar_type() == kByte ? 128 : 0;
  const Tensor shift =
      (zero ? zero->constant.to(kInt).reshape({-1}) : zeros({1}, TensorOptions(kInt))) - middle;
  Value* shifts = shift.ne(0).any().item<bool>() ? b.constant(shift) : b.constant(IValue());
  return b
      .call_text("_int_product",
                 {b.tensor(x), b.tensor(weight), optional_tensor(b, x_zero), shifts})
      .at(0);
}

ItemPtr quantize_to(Builder& b, Value* y, const ItemPtr& scale, const ItemPtr& zero, int32_t type) {
  if (const auto step = step_of(scale, zero, type)) return quantize_by(b, y, *step);
  const Range r = range_of(type);
  Value* q = b.call_text("_quantize",
                         {y, b.tensor(scale), optional_tensor(b, zero), b.constant(int64_t{1}),
                          b.constant(int64_t{0}), b.constant(r.low), b.constant(r.high),
                          b.constant(kFloat), b.constant(*dtype_of(type))})
                 .at(0);
  ItemPtr out = Builder::item(q, dtype_of(type));
  out->onnx_type = type;
  return out;
}

std::vector<ItemPtr> translate_quantize(Builder& b, Call& c) {
  const ItemPtr zero = c.optional_input(2);
  const int32_t type = type_of_zero(zero, c.integer("output_dtype", 0));
  TENON_CHECK(type != 0, NotImplementedError, "the type of its zero point is not known");
  Value* axis = b.constant(c.integer("axis", 1));
  Value* block = b.constant(c.integer("block_size", 0));
  const auto asked = dtype_of(static_cast<int32_t>(c.integer("precision", 0)));
  const auto own = c.input(1)->dtype;
  Value* precision = b.constant(asked ? *asked : own && *own == kDouble ? kDouble : kFloat);
  Value *x = b.tensor(c.input(0)), *scale = b.tensor(c.input(1));
  if (small_float(type)) {
    Value* y = b.call_text("_scaled", {x, scale, axis, block, precision}).at(0);
    return {cast_to(b, Builder::item(y), type, c.integer("saturate", 1) != 0)};
  }
  const bool single = !asked && c.input(0)->dtype.value_or(kFloat) == kFloat;
  if (const auto step = step_of(c.input(1), zero, type); step && single)
    return {quantize_by(b, x, *step)};
  const Range r = range_of(type);
  Value* y =
      b.call_text("_quantize", {x, scale, optional_tensor(b, zero), axis, block, b.constant(r.low),
                                b.constant(r.high), precision, b.constant(*dtype_of(type))})
          .at(0);
  ItemPtr out = Builder::item(y, dtype_of(type));
  out->onnx_type = type;
  return {out};
}

std::vector<ItemPtr> translate_dequantize(Builder& b, Call& c) {
  const auto asked = dtype_of(static_cast<int32_t>(c.integer("output_dtype", 0)));
  const ScalarType dtype = asked ? *asked : c.input(1)->dtype.value_or(kFloat);
  if (dtype == kFloat && c.integer("block_size", 0) == 0) {
    if (Value* y = dequantize_weight(b, c.input(0), c.input(1), c.optional_input(2),
                                     c.integer("axis", 1))) {
      ItemPtr out = Builder::item(y, dtype);
      if (c.input(0)->constant.defined()) out->rank = c.input(0)->constant.dim();
      return {out};
    }
  }
  Value* y = b.call_text("_dequantize",
                         {b.tensor(c.input(0)), b.tensor(c.input(1)),
                          optional_tensor(b, c.optional_input(2)), b.constant(c.integer("axis", 1)),
                          b.constant(c.integer("block_size", 0)), b.constant(dtype)})
                 .at(0);
  return {Builder::item(y, dtype)};
}

namespace {

std::vector<ItemPtr> translate_matmul_integer(Builder& b, Call& c) {
  if (Value* y = int_product(b, c.input(0), c.input(1), c.optional_input(2), c.optional_input(3)))
    return {Builder::item(y, kInt)};
  return b.call_function(c, "MatMulInteger", Gives::Unknown);
}

std::vector<ItemPtr> quantized(Builder& b, Call& c, const char* function, std::size_t zero,
                               std::vector<Value*> more) {
  const int32_t type = type_of_item(*c.input(zero));
  const Range r = range_of(type);
  std::vector<Value*> arguments;
  for (std::size_t i = 0; i < 8; ++i) arguments.push_back(b.tensor(c.input(i)));
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.insert(arguments.end(),
                   {b.constant(*dtype_of(type)), b.constant(r.low), b.constant(r.high)});
  ItemPtr out = Builder::item(b.call_text(function, arguments).at(0), dtype_of(type));
  out->onnx_type = type;
  return {out};
}

// Steps of the input and of the result of a QLinear operator.
struct Steps {
  std::optional<Step> x, y;
  explicit operator bool() const { return x && y; }
};
Steps steps_of(const Call& c) {
  return {step_of(c.input(1), c.input(2), type_of_item(*c.input(0))),
          step_of(c.input(6), c.input(7), type_of_item(*c.input(7)))};
}

std::vector<ItemPtr> translate_q_matmul(Builder& b, Call& c) {
  const Steps s = steps_of(c);
  const bool matrix = c.input(3)->constant.defined() && c.input(3)->constant.dim() == 2;
  Value* w = s && matrix ? dequantize_weight(b, c.input(3), c.input(4), c.input(5), 1) : nullptr;
  if (!w) return quantized(b, c, "_q_matmul", 7, {});
  Value* x = dequantize_by(b, b.tensor(c.input(0)), *s.x);
  return {quantize_by(b, b.emit1("aten::matmul", {x, w}), *s.y)};
}

std::vector<ItemPtr> translate_q_conv(Builder& b, Call& c) {
  const ItemPtr bias = c.optional_input(8);
  const Steps s = steps_of(c);
  const bool known = s && (!bias || bias->constant.defined());
  if (Value* w = known ? dequantize_weight(b, c.input(3), c.input(4), c.input(5), 0) : nullptr) {
    Value* x = dequantize_by(b, b.tensor(c.input(0)), *s.x);
    Value* y =
        plain_convolution(b, c, c.input(3), x, w, real_bias(b, bias, c.input(4), s.x->scale));
    if (y) return {quantize_by(b, y, *s.y)};
  }
  const auto list = [&](const char* name) {
    return c.has(name) ? b.constant(c.integers(name)) : b.constant(IValue());
  };
  return quantized(
      b, c, "_q_conv", 7,
      {optional_tensor(b, c.optional_input(8)), b.constant(c.text("auto_pad", "NOTSET")),
       list("dilations"), b.constant(c.integer("group", 1)), list("pads"), list("strides")});
}

const Entry kQuantize[] = {
    {"QuantizeLinear", 10, 0, Gives::Unknown, nullptr, translate_quantize},
    {"DequantizeLinear", 10, 0, Gives::Unknown, nullptr, translate_dequantize},
    {"DynamicQuantizeLinear", 11, 0},
    {"MatMulInteger", 10, 0, Gives::Unknown, nullptr, translate_matmul_integer},
    {"QLinearMatMul", 10, 0, Gives::Unknown, nullptr, translate_q_matmul},
    {"QLinearConv", 10, 0, Gives::Unknown, nullptr, translate_q_conv},
};
const Entries kRegistered("", kQuantize, std::size(kQuantize));

std::vector<ItemPtr> translate_contrib_q_conv(Builder& b, Call& c) {
  check_channels_first(c);
  return translate_q_conv(b, c);
}
const Entry kContrib[] = {
    {"QLinearConv", 1, 0, Gives::Unknown, nullptr, translate_contrib_q_conv},
    {"QuantizeLinear", 1, 0, Gives::Unknown, nullptr, translate_quantize},
    {"DequantizeLinear", 1, 0, Gives::Unknown, nullptr, translate_dequantize},
};
const Entries kContribRegistered("com.microsoft", kContrib, std::size(kContrib));

}  // namespace
}  // namespace tenon::onnx
