// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft on quantized tensors: what optimized and quantized transformers and
// images' networks have. As in quantize.cpp, they are computed in floats.
#include "onnx/import/builder.h"
#include "onnx/ops/cast.h"
#include "onnx/ops/quantize.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _unpack_bits(x: Tensor, bits: int) -> Tensor:
  if bits == 8:
    return x
  i = x.to(torch.int32)
  parts = [torch.bitwise_and(torch.bitwise_right_shift(i, k * bits), (1 << bits) - 1) for k in range(8 // bits)]
  return torch.stack(parts, -1).flatten(-2)
def MatMulNBits(x: Tensor, b: Tensor, scales: Tensor, zero: Optional[Tensor], group: Optional[Tensor], bias: Optional[Tensor], *, K: int, N: int, bits: int = 4, block_size: int, accuracy_level: int = 0, weight_prepacked: int = 0) -> Tensor:
  assert group is None, "MatMulNBits with g_idx is not supported"
  assert bits == 2 or bits == 4 or bits == 8, "MatMulNBits takes 2, 4 or 8 bits"
  assert weight_prepacked == 0, "MatMulNBits with packed weights is not supported"
  blocks = (K + block_size - 1) // block_size
  w = _unpack_bits(b.reshape([N, blocks, -1]), bits).to(x.dtype)
  if zero is None:
    w = w - (1 << (bits - 1))
  elif zero.dtype == torch.uint8:
    w = w - _unpack_bits(zero.reshape([N, -1]), bits)[:, :blocks].unsqueeze(-1).to(x.dtype)
  else:
    w = w - zero.reshape([N, blocks, 1]).to(x.dtype)
  w = (w * scales.reshape([N, blocks, 1]).to(x.dtype)).reshape([N, -1])[:, :K]
  return torch.linear(x, w, bias)
def _gather_blocks(x: Tensor, index: Tensor, scales: Tensor, zero: Optional[Tensor], bits: int, packed: bool, middle: int, block: int, gather_axis: int, quantize_axis: int) -> Tensor:
  g = gather_axis + x.dim() if gather_axis < 0 else gather_axis
  q = quantize_axis + x.dim() if quantize_axis < 0 else quantize_axis
  if packed:
    assert q == x.dim() - 1, "GatherBlockQuantized of packed values along another axis than the last"
  v = Gather(x, index, axis=g)
  s = Gather(scales, index, axis=g)
  at = q + index.dim() - 1 if q > g else q
  if packed:
    v = _unpack_bits(v, bits)
  y = v.to(s.dtype)
  if zero is None:
    y = y - middle
  else:
    z = Gather(zero, index, axis=g)
    if packed:
      z = _unpack_bits(z, bits).narrow(at, 0, s.size(at))
    y = y - _along(z, y, at, block).to(s.dtype)
  return y * _along(s, y, at, block)
def MatMulIntegerToFloat(a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, a_zero: Optional[Tensor], b_zero: Optional[Tensor], bias: Optional[Tensor]) -> Tensor:
  return _product_to_float(torch.matmul(_centered(a, a_zero, False), _centered(b, b_zero, False)), a_scale, b_scale, bias)
def _product_to_float(y: Tensor, a_scale: Tensor, b_scale: Tensor, bias: Optional[Tensor]) -> Tensor:
  y = y.to(torch.float32) * (a_scale * b_scale)
  return y if bias is None else y + bias
def DynamicQuantizeMatMul(a: Tensor, b: Tensor, b_scale: Tensor, b_zero: Optional[Tensor], bias: Optional[Tensor]) -> Tensor:
  q, scale, zero = DynamicQuantizeLinear(a)
  return MatMulIntegerToFloat(q, b, scale, b_scale, zero, b_zero, bias)
def QAttention(x: Tensor, w: Tensor, b: Optional[Tensor], x_scale: Tensor, w_scale: Tensor, mask: Optional[Tensor], x_zero: Optional[Tensor], w_zero: Optional[Tensor], past: Optional[Tensor], *, num_heads: int, unidirectional: int = 0, scale: float = 0.0, mask_filter_value: float = -10000.0, do_rotary: int = 0, past_present_share_buffer: int = 0) -> Tuple[Tensor, Tensor]:
  assert do_rotary == 0 and past_present_share_buffer == 0, "QAttention with do_rotary or past_present_share_buffer is not supported"
  return Attention_contrib(_real(x, x_scale, x_zero), _real(w, w_scale, w_zero), b, mask, past, None, num_heads=num_heads, unidirectional=unidirectional, scale=scale, mask_filter_value=mask_filter_value)
def MatMulBnb4(x: Tensor, b: Tensor, scales: Tensor, *, K: int, N: int, block_size: int, quant_type: int, training_mode: int = 0, transB: int = 1) -> Tensor:
  values = [0.0, 0.0052083333, 0.6666667, 1.0, 0.3333333, 0.5, 0.1666667, 0.25, -0.0, -0.0052083333, -0.6666667, -1.0, -0.3333333, -0.5, -0.1666667, -0.25]
  if quant_type == 1:
    values = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]
  i = b.reshape([-1]).to(torch.int64)
  codes = torch.stack([torch.bitwise_right_shift(i, 4), torch.bitwise_and(i, 15)], -1).reshape([-1])
  w = torch.tensor(values, dtype=x.dtype, device=x.device).index_select(0, codes)
  s = torch.repeat_interleave(scales.reshape([-1]).to(x.dtype), block_size, 0)
  w = (w * s.narrow(0, 0, w.size(0))).narrow(0, 0, N * K).reshape([N, K])
  return torch.matmul(x, w.t() if transB == 1 else w)
def _real(x: Tensor, scale: Tensor, zero: Optional[Tensor]) -> Tensor:
  return _centered(x, zero, False).to(torch.float32) * scale
def _q_add(a: Tensor, b: Tensor) -> Tensor:
  return a + b
def _q_mul(a: Tensor, b: Tensor) -> Tensor:
  return a * b
def _q_sigmoid(x: Tensor, alpha: float) -> Tensor:
  return torch.sigmoid(x)
def _q_leaky_relu(x: Tensor, alpha: float) -> Tensor:
  return torch.leaky_relu(x, alpha)
def _q_gemm(a: Tensor, a_scale: Tensor, a_zero: Optional[Tensor], b: Tensor, b_scale: Tensor, b_zero: Optional[Tensor], c: Optional[Tensor], transA: int, transB: int, alpha: float) -> Tensor:
  x = _centered(a, a_zero, False)
  w = b.to(torch.float64)
  if transB == 1:
    w = w.t()
  if b_zero is not None:
    w = w - b_zero.to(torch.float64)
  y = torch.matmul(x.t() if transA == 1 else x, w)
  if c is not None:
    y = y + c.to(torch.float64)
  return (y * (alpha * a_scale.to(torch.float64) * b_scale.to(torch.float64))).to(torch.float32)
)py");

Value* real(Builder& b, Call& c, std::size_t at) {  // value, scale, zero point
  const int32_t type = type_of_item(*c.input(at));
  if (const auto step = step_of(c.input(at + 1), c.optional_input(at + 2), type))
    return dequantize_by(b, b.tensor(c.input(at)), *step);
  return b
      .call_text("_real", {b.tensor(c.input(at)), b.tensor(c.input(at + 1)),
                           optional_tensor(b, c.optional_input(at + 2))})
      .at(0);
}
// Of the type of the zero point, or of the first input.
std::vector<ItemPtr> quantized_as(Builder& b, Call& c, Value* y, std::size_t scale) {
  const ItemPtr zero = c.optional_input(scale + 1);
  return {quantize_to(b, y, c.input(scale), zero, type_of_item(zero ? *zero : *c.input(0)))};
}

std::vector<ItemPtr> translate_q_binary(Builder& b, Call& c) {
  const char* function = c.node.op_type() == "QLinearAdd" ? "_q_add" : "_q_mul";
  Value* y = b.call_text(function, {real(b, c, 0), real(b, c, 3)}).at(0);
  return quantized_as(b, c, y, 6);
}
std::vector<ItemPtr> translate_q_unary(Builder& b, Call& c) {
  const char* function = c.node.op_type() == "QLinearSigmoid" ? "_q_sigmoid" : "_q_leaky_relu";
  Value* y = b.call_text(function, {real(b, c, 0), b.constant(c.real("alpha", 0.01))}).at(0);
  return quantized_as(b, c, y, 3);
}
std::vector<ItemPtr> translate_q_softmax(Builder& b, Call& c) {
  const bool old = c.integer("opset", 13) < 13;
  Value* axis = b.constant(c.integer("axis", old ? 1 : -1));
  Value* y = b.call_text(old ? "Softmax_12" : "Softmax", {real(b, c, 0), axis}).at(0);
  return quantized_as(b, c, y, 3);
}
std::vector<ItemPtr> translate_q_where(Builder& b, Call& c) {
  Value* y = b.emit1("aten::where.self", {b.tensor(c.input(0)), real(b, c, 1), real(b, c, 4)});
  return {quantize_to(b, y, c.input(7), c.optional_input(8), type_of_item(*c.input(1)))};
}
std::vector<ItemPtr> translate_q_global_pool(Builder& b, Call& c) {
  check_channels_first(c);
  return quantized_as(b, c, b.call_text("GlobalAveragePool", {real(b, c, 0)}).at(0), 3);
}
std::vector<ItemPtr> translate_q_pool(Builder& b, Call& c) {
  check_channels_first(c);
  const auto list = [&](const char* name) {
    return c.has(name) ? b.constant(c.integers(name)) : b.constant(IValue());
  };
  Value* y = b.call_text("AveragePool",
                         {real(b, c, 0), b.constant(c.text("auto_pad", "NOTSET")),
                          b.constant(c.integer("ceil_mode", 0)),
                          b.constant(c.integer("count_include_pad", 0)), b.constant(IValue()),
                          b.constant(c.integers("kernel_shape")), list("pads"), list("strides")})
                 .at(0);
  return quantized_as(b, c, y, 3);
}
// The result's scale and zero point, then each input with its own.
std::vector<ItemPtr> translate_q_concat(Builder& b, Call& c) {
  std::vector<Value*> parts;
  for (std::size_t i = 2; i < c.inputs.size(); i += 3) parts.push_back(real(b, c, i));
  Value* list = b.insert1("prim::ListConstruct", parts, jit::Type::list(jit::Type::tensor()));
  Value* y = b.emit1("aten::cat", {list, b.constant(c.integer("axis", 1))});
  return {quantize_to(b, y, c.input(0), c.input(1), type_of_item(*c.input(1)))};
}
// Rows times a known matrix; null for another product.
Value* linear_of(Builder& b, const Call& c) {
  const ItemPtr bias = c.optional_input(6);
  const auto x = step_of(c.input(1), c.optional_input(2), type_of_item(*c.input(0)));
  const Tensor& weight = c.input(3)->constant;
  const bool transposed = c.integer("transB", 0) == 0;
  const bool fits = x && weight.defined() && c.integer("transA", 0) == 0 && c.real("alpha", 1) == 1;
  if (!fits || (bias && !(bias->constant.defined() && bias->constant.dim() == 1))) return nullptr;
  Value* w = dequantize_weight(b, c.input(3), c.input(4), c.optional_input(5), transposed ? 1 : 0);
  if (!w) return nullptr;
  if (transposed) w = b.emit1("aten::t", {w});
  return b.emit1("aten::linear", {dequantize_by(b, b.tensor(c.input(0)), *x), w,
                                  real_bias(b, bias, c.input(4), x->scale)});
}
std::vector<ItemPtr> translate_q_gemm(Builder& b, Call& c) {
  if (Value* y = linear_of(b, c)) {
    if (!c.optional_input(7)) return {Builder::item(y, kFloat)};
    return quantized_as(b, c, y, 7);
  }
  Value* y =
      b.call_text(
           "_q_gemm",
           {b.tensor(c.input(0)), b.tensor(c.input(1)), optional_tensor(b, c.optional_input(2)),
            b.tensor(c.input(3)), b.tensor(c.input(4)), optional_tensor(b, c.optional_input(5)),
            optional_tensor(b, c.optional_input(6)), b.constant(c.integer("transA", 0)),
            b.constant(c.integer("transB", 0)), b.constant(c.real("alpha", 1))})
          .at(0);
  if (!c.optional_input(7)) return {Builder::item(y, kFloat)};
  return quantized_as(b, c, y, 7);
}
// Bytes hold several values, unless the file has a type for them. Without zero points the middle
// of what bytes hold is 0.
std::vector<ItemPtr> translate_gather_blocks(Builder& b, Call& c) {
  const int64_t bits = c.integer("bits", 4);
  TENON_CHECK(bits == 4 || bits == 8, NotImplementedError, "bits is ", bits, ", expected 4 or 8");
  const bool bytes = type_of_item(*c.input(0)) == pb::UINT8;
  Value* y =
      b.call_text(
           "_gather_blocks",
           {b.tensor(c.input(0)), b.tensor(c.input(1)), b.tensor(c.input(2)),
            optional_tensor(b, c.optional_input(3)), b.constant(bits),
            b.constant(bytes && bits < 8), b.constant(bytes ? int64_t{1} << (bits - 1) : 0),
            b.constant(c.integer("block_size", 128)), b.constant(c.integer("gather_axis", 0)),
            b.constant(c.integer("quantize_axis", 1))})
          .at(0);
  return {Builder::item(y, c.input(2)->dtype)};
}

Value* product_to_float(Builder& b, Value* product, Value* x_scale, const ItemPtr& scale,
                        const ItemPtr& bias) {
  return b
      .call_text("_product_to_float", {product, x_scale, b.tensor(scale), optional_tensor(b, bias)})
      .at(0);
}
std::vector<ItemPtr> translate_product_to_float(Builder& b, Call& c) {
  Value* product = int_product(b, c.input(0), c.input(1), c.optional_input(4), c.optional_input(5));
  if (!product) return b.call_function(c, "MatMulIntegerToFloat", Gives::Unknown);
  Value* y = product_to_float(b, product, b.tensor(c.input(2)), c.input(3), c.optional_input(6));
  return {Builder::item(y, kFloat)};
}
std::vector<ItemPtr> translate_dynamic_product(Builder& b, Call& c) {
  if (!c.input(1)->constant.defined())
    return b.call_function(c, "DynamicQuantizeMatMul", Gives::Same);
  const std::vector<Value*> q = b.call_text("DynamicQuantizeLinear", {b.tensor(c.input(0))});
  Value* product = int_product(b, Builder::item(q.at(0), kByte), c.input(1),
                               Builder::item(q.at(2), kByte), c.optional_input(3));
  if (!product) return b.call_function(c, "DynamicQuantizeMatMul", Gives::Same);
  Value* y = product_to_float(b, product, q.at(1), c.input(2), c.optional_input(4));
  return {Builder::item(y, kFloat)};
}

const Entry kQuantized[] = {
    {"MatMulNBits", 1, 0, Gives::Same},
    {"GatherBlockQuantized", 1, 0, Gives::Unknown, nullptr, translate_gather_blocks},
    {"MatMulIntegerToFloat", 1, 0, Gives::Unknown, nullptr, translate_product_to_float},
    {"DynamicQuantizeMatMul", 1, 0, Gives::Same, nullptr, translate_dynamic_product},
    {"QGemm", 1, 0, Gives::Unknown, nullptr, translate_q_gemm},
    {"QLinearAdd", 1, 0, Gives::Unknown, nullptr, translate_q_binary},
    {"QLinearMul", 1, 0, Gives::Unknown, nullptr, translate_q_binary},
    {"QLinearSigmoid", 1, 0, Gives::Unknown, nullptr, translate_q_unary},
    {"QLinearLeakyRelu", 1, 0, Gives::Unknown, nullptr, translate_q_unary},
    {"QLinearConcat", 1, 0, Gives::Unknown, nullptr, translate_q_concat},
    {"QLinearAveragePool", 1, 0, Gives::Unknown, nullptr, translate_q_pool},
    {"QLinearGlobalAveragePool", 1, 0, Gives::Unknown, nullptr, translate_q_global_pool},
    {"QLinearSoftmax", 1, 0, Gives::Unknown, nullptr, translate_q_softmax},
    {"QLinearWhere", 1, 0, Gives::Unknown, nullptr, translate_q_where},
    {"QAttention", 1, 0},
    {"MatMulBnb4", 1, 0, Gives::Same},
};
const Entries kRegistered("com.microsoft", kQuantized, std::size(kQuantized));

}  // namespace
}  // namespace tenon::onnx
