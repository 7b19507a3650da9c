// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/language/quantized_text.h"

#include <initializer_list>
#include <utility>

namespace tenon::jit::language {
namespace {

// Weights are kept twice: as they were given, and as numbers for the products. A convolution of one
// dimension is one of two whose first has size 1. $N is the number of dimensions.
constexpr std::string_view kClasses = R"py(
class LinearPackedParamsBase:
  weight: Tensor
  bias: Optional[Tensor]
  values: Tensor
  scales: Tensor
  def __init__(self, weight: Tensor, bias: Optional[Tensor]) -> None:
    self.weight = weight
    self.bias = bias
    if weight.is_quantized:
      self.values = ops.tenon_quantized.values(weight, False)
      self.scales = ops.tenon_quantized.scales(weight)
    else:
      self.values = weight
      self.scales = weight
  def unpack(self) -> Tuple[Tensor, Optional[Tensor]]:
    return self.weight, self.bias
  def __getstate__(self) -> Tuple[Tensor, Optional[Tensor]]:
    return self.weight, self.bias
  def __setstate__(self, state: Tuple[Tensor, Optional[Tensor]]) -> None:
    self.__init__(state[0], state[1])
class EmbeddingPackedParamsBase:
  weight: Tensor
  def __init__(self, weight: Tensor) -> None:
    self.weight = weight
  def __getstate__(self) -> Tuple[int, List[Tensor], List[float], List[int]]:
    return 1, [self.weight], [], [8]
  def __setstate__(self, state: Tuple[int, List[Tensor], List[float], List[int]]) -> None:
    self.weight = state[1][0]
)py";

constexpr std::string_view kConvClass = R"py(
class Conv$NdPackedParamsBase:
  weight: Tensor
  bias: Optional[Tensor]
  stride: List[int]
  padding: List[int]
  output_padding: List[int]
  dilation: List[int]
  transposed: bool
  groups: int
  values: Tensor
  scales: Tensor
  def __init__(self, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], dilation: List[int], transposed: bool, groups: int) -> None:
    self.weight = weight
    self.bias = bias
    self.stride = stride
    self.padding = padding
    self.output_padding = output_padding
    self.dilation = dilation
    self.transposed = transposed
    self.groups = groups
    self.values = ops.tenon_quantized.values(weight, transposed)
    self.scales = ops.tenon_quantized.scales(weight)
  def unpack(self) -> Tuple[Tensor, Optional[Tensor]]:
    return self.weight, self.bias
  def __getstate__(self) -> Tuple[int, List[int], List[Optional[Tensor]]]:
    numbers = [len(self.stride)] + self.stride + self.padding + self.dilation + self.output_padding + [self.groups, int(self.transposed)]
    nothing: Optional[Tensor] = None
    return 3, numbers, [nothing, self.weight, self.bias]
  def __setstate__(self, state: Any) -> None:
    weight, bias, n = ops.tenon_quantized.conv_state(state)
    d = n[0]
    self.__init__(weight, bias, n[1:1 + d], n[1 + d:1 + 2 * d], n[1 + 3 * d:1 + 4 * d], n[1 + 2 * d:1 + 3 * d], n[-1] % 2 == 1, n[-2])
)py";

constexpr std::string_view kCellClass = R"py(
class CellParamsBase:
  kind: str
  input: __torch__.torch.classes.quantized.LinearPackedParamsBase
  hidden: __torch__.torch.classes.quantized.LinearPackedParamsBase
  tensors: List[Tensor]
  reduce_range: bool
  def __init__(self, kind: str, input: __torch__.torch.classes.quantized.LinearPackedParamsBase, hidden: __torch__.torch.classes.quantized.LinearPackedParamsBase, tensors: List[Tensor], reduce_range: bool) -> None:
    self.kind = kind
    self.input = input
    self.hidden = hidden
    self.tensors = tensors
    self.reduce_range = reduce_range
  def __getstate__(self) -> Tuple[str, List[Tensor], List[float], List[int], List[__torch__.torch.classes.quantized.LinearPackedParamsBase]]:
    return self.kind, self.tensors, [], [int(self.reduce_range)], [self.input, self.hidden]
  def __setstate__(self, state: Tuple[str, List[Tensor], List[float], List[int], List[__torch__.torch.classes.quantized.LinearPackedParamsBase]]) -> None:
    assert len(state[4]) == 2, "quantized cells of kind '{}' are not supported".format(state[0])
    self.__init__(state[0], state[4][0], state[4][1], state[1], len(state[3]) > 0 and state[3][0] != 0)
)py";

constexpr std::string_view kFunctions = R"py(
def _quantized_as(x: Tensor, scale: float, zero_point: int, like: Tensor) -> Tensor:
  return torch.quantize_per_tensor(x, scale, zero_point, like.dtype)
def quantized_linear_prepack(W: Tensor, B: Optional[Tensor] = None) -> __torch__.torch.classes.quantized.LinearPackedParamsBase:
  return __torch__.torch.classes.quantized.LinearPackedParamsBase(W, B)
def quantized_linear_prepack_fp16(W: Tensor, B: Optional[Tensor] = None) -> __torch__.torch.classes.quantized.LinearPackedParamsBase:
  return __torch__.torch.classes.quantized.LinearPackedParamsBase(W.to(torch.float16).to(torch.float32), B)
def quantized_linear_unpack(W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase) -> Tuple[Tensor, Optional[Tensor]]:
  return W_prepack.unpack()
def quantized_linear_unpack_fp16(W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase) -> Tuple[Tensor, Optional[Tensor]]:
  return W_prepack.unpack()
def quantized_linear(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase, Y_scale_i: float, Y_zero_point_i: int) -> Tensor:
  return ops.tenon_quantized.linear(X, W_prepack.values, W_prepack.scales, W_prepack.bias, Y_scale_i, Y_zero_point_i, False)
def quantized_linear_relu(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase, Y_scale_i: float, Y_zero_point_i: int) -> Tensor:
  return ops.tenon_quantized.linear(X, W_prepack.values, W_prepack.scales, W_prepack.bias, Y_scale_i, Y_zero_point_i, True)
def quantized_linear_leaky_relu(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase, Y_scale_i: float, Y_zero_point_i: int, negative_slope: float) -> Tensor:
  y = torch.linear(torch.dequantize(X), torch.dequantize(W_prepack.weight), W_prepack.bias)
  return _quantized_as(torch.leaky_relu(y, negative_slope), Y_scale_i, Y_zero_point_i, X)
def quantized_linear_tanh(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase, Y_scale_i: float, Y_zero_point_i: int) -> Tensor:
  y = torch.linear(torch.dequantize(X), torch.dequantize(W_prepack.weight), W_prepack.bias)
  return _quantized_as(torch.tanh(y), Y_scale_i, Y_zero_point_i, X)
def quantized_linear_dynamic(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase, reduce_range: bool = False) -> Tensor:
  if not W_prepack.weight.is_quantized:
    return torch.linear(X, W_prepack.values, W_prepack.bias)
  return ops.tenon_quantized.linear_dynamic(X, W_prepack.values, W_prepack.scales, W_prepack.bias, reduce_range)
def quantized_linear_relu_dynamic(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase, reduce_range: bool = False) -> Tensor:
  return torch.relu(quantized_linear_dynamic(X, W_prepack, reduce_range))
def quantized_linear_dynamic_fp16(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase) -> Tensor:
  return torch.linear(X, W_prepack.values, W_prepack.bias)
def quantized_linear_relu_dynamic_fp16(X: Tensor, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase) -> Tensor:
  return torch.relu(torch.linear(X, W_prepack.values, W_prepack.bias))
def quantized_linear_with_input_q_dq_qweight_dq_output_fp32(X: Tensor, X_scale: float, X_zero_point: int, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase) -> Tensor:
  x = torch.dequantize(torch.quantize_per_tensor(X, X_scale, X_zero_point, 13))
  return torch.linear(x, torch.dequantize(W_prepack.weight), W_prepack.bias)
def quantized_linear_with_input_q_dq_qweight_dq_relu_output_fp32(X: Tensor, X_scale: float, X_zero_point: int, W_prepack: __torch__.torch.classes.quantized.LinearPackedParamsBase) -> Tensor:
  return torch.relu(quantized_linear_with_input_q_dq_qweight_dq_output_fp32(X, X_scale, X_zero_point, W_prepack))
def quantized_conv1d_prepack(weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> __torch__.torch.classes.quantized.Conv2dPackedParamsBase:
  return __torch__.torch.classes.quantized.Conv2dPackedParamsBase(ops.tenon_quantized.one_dimension_more(weight), bias, [1] + stride[:1], [0] + padding[:1], [0, 0], [1] + dilation[:1], False, groups)
def quantized_conv_transpose1d_prepack(weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], dilation: List[int], groups: int) -> __torch__.torch.classes.quantized.Conv2dPackedParamsBase:
  return __torch__.torch.classes.quantized.Conv2dPackedParamsBase(ops.tenon_quantized.one_dimension_more(weight), bias, [1] + stride[:1], [0] + padding[:1], [0] + output_padding[:1], [1] + dilation[:1], True, groups)
def quantized_conv1d_relu(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
  return _convolve_2d(qx, packed_weight, output_scale, output_zero_point, True)
def quantized_conv_prepack(weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> __torch__.torch.classes.quantized.Conv2dPackedParamsBase:
  return quantized_conv2d_prepack(weight, bias, stride, padding, dilation, groups)
def quantized_conv_unpack(packed_weights: __torch__.torch.classes.quantized.Conv2dPackedParamsBase) -> Tuple[Tensor, Optional[Tensor]]:
  return packed_weights.unpack()
def quantized_conv2d_add(qx: Tensor, qaccum: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
  p = packed_weight
  y = torch.convolution(torch.dequantize(qx), torch.dequantize(p.weight), p.bias, p.stride, p.padding, p.dilation, p.transposed, p.output_padding, p.groups)
  return _quantized_as(y + torch.dequantize(qaccum), output_scale, output_zero_point, qx)
def quantized_conv2d_add_relu(qx: Tensor, qaccum: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
  return torch.relu(quantized_conv2d_add(qx, qaccum, packed_weight, output_scale, output_zero_point))
def _chosen_parameters(low: Tensor, high: Tensor, quant_min: int, quant_max: int, symmetric: bool) -> Tuple[Tensor, Tensor]:
  low = torch.clamp(low.to(torch.float64), max=0.0)
  high = torch.clamp(high.to(torch.float64), min=0.0)
  both = (low < 0) & (high > 0)
  if symmetric:
    half = (quant_max - quant_min) // 2
    wider = torch.maximum(torch.abs(low / -(half + 1)), torch.abs(high / half))
    low = torch.where(both, wider * -(half + 1), low)
    high = torch.where(both, wider * half, high)
  steps = float(quant_max - quant_min)
  scale = (high - low) / steps
  single = scale.to(torch.float32)
  scale = torch.where((single == 0) | torch.isinf(1.0 / single), 0.1, scale)
  small = scale < 6.1e-05
  more = 6.1e-05 / scale
  from_zero = torch.where(low == 0, 6.1e-05 * steps, (high * more).to(torch.float32).to(torch.float64))
  to_zero = torch.where((high == 0) & (low < 0), -6.1e-05 * steps, (low * more).to(torch.float32).to(torch.float64))
  low = torch.where(small, to_zero, low)
  high = torch.where(small, from_zero, high)
  scale = torch.where(small, 6.1e-05, scale)
  by_low = abs(quant_min) + torch.abs(low / scale) < abs(quant_max) + torch.abs(high / scale)
  zero = torch.where(by_low, quant_min - low / scale, quant_max - high / scale)
  if symmetric:
    zero = torch.where(both, float(quant_min + quant_max) / 2.0, zero)
  return scale.to(torch.float32), torch.round(torch.clamp(zero, quant_min, quant_max)).to(torch.int32)
def fused_moving_avg_obs_fake_quant(self: Tensor, observer_on: Tensor, fake_quant_on: Tensor, running_min: Tensor, running_max: Tensor, scale: Tensor, zero_point: Tensor, averaging_const: float, quant_min: int, quant_max: int, ch_axis: int, per_row_fake_quant: bool = False, symmetric_quant: bool = False) -> Tensor:
  if bool(observer_on) and self.numel() > 0:
    x = self.detach()
    if per_row_fake_quant:
      x = x.transpose(0, ch_axis).flatten(1)
      if running_min.numel() == 0:
        running_min.resize_([x.size(0)]).fill_(float("inf"))
        running_max.resize_([x.size(0)]).fill_(float("-inf"))
        scale.resize_([x.size(0)])
        zero_point.resize_([x.size(0)])
      low, high = torch.amin(x, [1]), torch.amax(x, [1])
    else:
      low, high = torch.min(x), torch.max(x)
    running_min.copy_(torch.where(torch.isinf(running_min), low, running_min + averaging_const * (low - running_min)))
    running_max.copy_(torch.where(torch.isinf(running_max), high, running_max + averaging_const * (high - running_max)))
    s, z = _chosen_parameters(running_min, running_max, quant_min, quant_max, symmetric_quant)
    scale.copy_(s)
    zero_point.copy_(z)
  if not bool(fake_quant_on):
    return self
  if per_row_fake_quant:
    return torch.fake_quantize_per_channel_affine(self, scale, zero_point, ch_axis, quant_min, quant_max)
  return torch.fake_quantize_per_tensor_affine(self, scale, zero_point, quant_min, quant_max)
def _bounds(x: Tensor) -> Tuple[int, int]:
  if x.dtype == 13:
    return 0, 255
  if x.dtype == 12:
    return -128, 127
  return -2147483648, 2147483647
def quantized_add_scalar(qa: Tensor, b: number) -> Tensor:
  low, high = _bounds(qa)
  scale, zero = qa.q_scale(), qa.q_zero_point()
  moved = zero - int(round(float(b) / scale))
  if moved < low:
    return _quantized_as(torch.dequantize(qa) + (zero - moved) * scale, float(high - moved) / float(high - low) * scale, low, qa)
  if moved > high:
    return _quantized_as(torch.dequantize(qa) + (zero - moved) * scale, float(moved - low) / float(high - low) * scale, high, qa)
  return torch._make_per_tensor_quantized_tensor(torch.int_repr(qa), scale, moved)
def quantized_mul_scalar(qa: Tensor, b: number) -> Tensor:
  low, high = _bounds(qa)
  scale, zero, by = qa.q_scale(), qa.q_zero_point(), float(b)
  if by > 0.0:
    return torch._make_per_tensor_quantized_tensor(torch.int_repr(qa), scale * by, zero)
  if by == 0.0:
    return torch._make_per_tensor_quantized_tensor(torch.zeros_like(torch.int_repr(qa)), 1.0, 0)
  turned = (low + high - torch.int_repr(qa).to(torch.int64)).to(torch.int_repr(qa).dtype)
  return torch._make_per_tensor_quantized_tensor(turned, scale * -by, high - (zero - low))
def quantized_matmul(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
  return _quantized_as(torch.matmul(torch.dequantize(qa), torch.dequantize(qb)), scale, zero_point, qa)
def quantized_cat(qx: List[Tensor], dim: int, scale: Optional[float], zero_point: Optional[int]) -> Tensor:
  s = qx[0].q_scale() if scale is None else scale
  z = qx[0].q_zero_point() if zero_point is None else zero_point
  parts: List[Tensor] = []
  for x in qx:
    same = x.q_scale() == s and x.q_zero_point() == z and x.dtype == qx[0].dtype
    parts.append(x if same else _quantized_as(torch.dequantize(x), s, z, qx[0]))
  return torch.cat(parts, dim)
def quantized_cat_relu(qx: List[Tensor], dim: int, scale: Optional[float], zero_point: Optional[int]) -> Tensor:
  return torch.relu(quantized_cat(qx, dim, scale, zero_point))
def quantized_relu6(qx: Tensor, inplace: bool = False) -> Tensor:
  return torch.hardtanh_(qx, 0.0, 6.0) if inplace else torch.clamp(qx, 0.0, 6.0)
def quantized_clamp(qx: Tensor, min: Optional[number] = None, max: Optional[number] = None) -> Tensor:
  return torch.clamp(qx, min, max)
def quantized_threshold(qx: Tensor, threshold: number, value: number) -> Tensor:
  return torch.threshold(qx, threshold, value)
def quantized_hardswish(input: Tensor, output_scale: float, output_zero_point: int) -> Tensor:
  return _quantized_as(torch.hardswish(torch.dequantize(input)), output_scale, output_zero_point, input)
def quantized_leaky_relu(qx: Tensor, negative_slope: number, inplace: bool, output_scale: float, output_zero_point: int) -> Tensor:
  return _quantized_as(torch.leaky_relu(torch.dequantize(qx), negative_slope), output_scale, output_zero_point, qx)
def quantized_elu(self: Tensor, output_scale: float, output_zero_point: int, alpha: number = 1, scale: number = 1, input_scale: number = 1) -> Tensor:
  return _quantized_as(torch.elu(torch.dequantize(self), alpha, scale, input_scale), output_scale, output_zero_point, self)
def quantized_celu(self: Tensor, output_scale: float, output_zero_point: int, alpha: number = 1) -> Tensor:
  return _quantized_as(torch.celu(torch.dequantize(self), alpha), output_scale, output_zero_point, self)
def quantized_sigmoid(qx: Tensor, output_scale: float, output_zero_point: int) -> Tensor:
  return _quantized_as(torch.sigmoid(torch.dequantize(qx)), output_scale, output_zero_point, qx)
def quantized_softmax(qx: Tensor, dim: int, output_scale: float, output_zero_point: int) -> Tensor:
  return _quantized_as(torch.softmax(torch.dequantize(qx), dim), output_scale, output_zero_point, qx)
def quantized_prelu(qx: Tensor, weight: Tensor, output_scale: float, output_zero_point: int) -> Tensor:
  return _quantized_as(torch.prelu(torch.dequantize(qx), torch.dequantize(weight)), output_scale, output_zero_point, qx)
def quantized_dropout(self: Tensor, output_scale: float, output_zero_point: int, p: number = 0.5, training: bool = False) -> Tensor:
  assert not training, "quantized::dropout: quantized programs do not train"
  return self
def quantized_layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], bias: Optional[Tensor], eps: float, output_scale: float, output_zero_point: int) -> Tensor:
  return _quantized_as(torch.layer_norm(torch.dequantize(input), normalized_shape, weight, bias, eps), output_scale, output_zero_point, input)
def quantized_group_norm(qx: Tensor, num_groups: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float, output_scale: float, output_zero_point: int) -> Tensor:
  return _quantized_as(torch.group_norm(torch.dequantize(qx), num_groups, weight, bias, eps), output_scale, output_zero_point, qx)
def quantized_instance_norm(qx: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], eps: float, output_scale: float, output_zero_point: int) -> Tensor:
  return _quantized_as(torch.instance_norm(torch.dequantize(qx), weight, bias, None, None, True, 0.0, eps, False), output_scale, output_zero_point, qx)
def quantized_embedding_bag_prepack(weight: Tensor) -> __torch__.torch.classes.quantized.EmbeddingPackedParamsBase:
  return __torch__.torch.classes.quantized.EmbeddingPackedParamsBase(weight)
def quantized_embedding_bag_unpack(W_prepack: __torch__.torch.classes.quantized.EmbeddingPackedParamsBase) -> Tensor:
  return W_prepack.weight
def quantized_embedding_byte(weight: __torch__.torch.classes.quantized.EmbeddingPackedParamsBase, indices: Tensor, pruned_weights: bool = False) -> Tensor:
  return torch.embedding(torch.dequantize(weight.weight), indices)
def quantized_embedding_4bit(weight: __torch__.torch.classes.quantized.EmbeddingPackedParamsBase, indices: Tensor, pruned_weights: bool = False) -> Tensor:
  return torch.embedding(torch.dequantize(weight.weight), indices)
def quantized_embedding_bag_4bit(weight: __torch__.torch.classes.quantized.EmbeddingPackedParamsBase, indices: Tensor, offsets: Optional[Tensor] = None, scale_grad_by_freq: bool = False, mode: int = 0, pruned_weights: bool = False, per_sample_weights: Optional[Tensor] = None, compressed_indices_mapping: Optional[Tensor] = None, include_last_offset: bool = False) -> Tensor:
  return quantized_embedding_bag_byte(weight, indices, offsets, scale_grad_by_freq, mode, pruned_weights, per_sample_weights, compressed_indices_mapping, include_last_offset)
def quantized_embedding_bag_byte(weight: __torch__.torch.classes.quantized.EmbeddingPackedParamsBase, indices: Tensor, offsets: Optional[Tensor] = None, scale_grad_by_freq: bool = False, mode: int = 0, pruned_weights: bool = False, per_sample_weights: Optional[Tensor] = None, compressed_indices_mapping: Optional[Tensor] = None, include_last_offset: bool = False) -> Tensor:
  assert compressed_indices_mapping is None, "quantized::embedding_bag: rows that pruning left out are not supported"
  begins = torch.arange(indices.size(0), device=indices.device) * indices.size(-1) if offsets is None else offsets
  y, a, b, c = torch.embedding_bag(torch.dequantize(weight.weight), indices.flatten(), begins, False, 0, False, per_sample_weights, include_last_offset)
  return y
def quantized_make_quantized_cell_params_dynamic(w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, bias_ih: Tensor, bias_hh: Tensor, reduce_range: bool = False) -> __torch__.torch.classes.rnn.CellParamsBase:
  return __torch__.torch.classes.rnn.CellParamsBase("quantized_dynamic", w_ih, w_hh, [bias_ih, bias_hh], reduce_range)
def quantized_make_quantized_cell_params_fp16(w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase) -> __torch__.torch.classes.rnn.CellParamsBase:
  no_tensors: List[Tensor] = []
  return __torch__.torch.classes.rnn.CellParamsBase("quantized_fp16", w_ih, w_hh, no_tensors, False)
def _lstm_gates(gates: Tensor, c: Tensor) -> Tuple[Tensor, Tensor]:
  i, f, g, o = torch.chunk(gates, 4, 1)
  c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
  return torch.sigmoid(o) * torch.tanh(c), c
def _gru_gates(x: Tensor, hidden: Tensor, h: Tensor) -> Tensor:
  xr, xz, xn = torch.chunk(x, 3, 1)
  hr, hz, hn = torch.chunk(hidden, 3, 1)
  z = torch.sigmoid(hz + xz)
  n = torch.tanh(xn + hn * torch.sigmoid(hr + xr))
  return (h - n) * z + n
def _quantized_step(lstm: bool, x: Tensor, h: Tensor, c: Tensor, p: __torch__.torch.classes.rnn.CellParamsBase) -> Tuple[Tensor, Tensor]:
  hidden = quantized_linear_dynamic(h, p.hidden, p.reduce_range)
  if lstm:
    return _lstm_gates(hidden + x, c)
  return _gru_gates(x, hidden, h), c
def _quantized_steps(lstm: bool, data: Tensor, sizes: List[int], h: Tensor, c: Tensor, p: __torch__.torch.classes.rnn.CellParamsBase, backwards: bool) -> Tuple[Tensor, Tensor, Tensor]:
  gates = quantized_linear_dynamic(data, p.input, p.reduce_range)
  steps = torch.split(gates, sizes)
  outs: List[Tensor] = []
  for i in range(len(sizes)):
    t = len(sizes) - 1 - i if backwards else i
    n = sizes[t]
    a, b = _quantized_step(lstm, steps[t], h[:n], c[:n], p)
    outs.append(a)
    h = torch.cat([a, h[n:]])
    c = torch.cat([b, c[n:]])
  if backwards:
    outs.reverse()
  return torch.cat(outs), h, c
def _quantized_layers(lstm: bool, data: Tensor, sizes: List[int], hx: Tensor, cx: Tensor, params: List[__torch__.torch.classes.rnn.CellParamsBase], num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor, Tensor]:
  hs: List[Tensor] = []
  cs: List[Tensor] = []
  directions = 2 if bidirectional else 1
  for layer in range(num_layers):
    outs: List[Tensor] = []
    for d in range(directions):
      at = layer * directions + d
      y, h, c = _quantized_steps(lstm, data, sizes, hx[at], cx[at], params[at], d == 1)
      outs.append(y)
      hs.append(h)
      cs.append(c)
    data = torch.cat(outs, -1)
    if train and dropout > 0.0 and layer + 1 < num_layers:
      data = torch.dropout(data, dropout, True)
  return data, torch.stack(hs), torch.stack(cs)
def _quantized_sequence(lstm: bool, input: Tensor, hx: Tensor, cx: Tensor, params: List[__torch__.torch.classes.rnn.CellParamsBase], num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Tuple[Tensor, Tensor, Tensor]:
  x = input.transpose(0, 1) if batch_first else input
  y, h, c = _quantized_layers(lstm, x.flatten(0, 1), [x.size(1)] * x.size(0), hx, cx, params, num_layers, dropout, train, bidirectional)
  y = y.unflatten(0, [x.size(0), x.size(1)])
  return y.transpose(0, 1) if batch_first else y, h, c
def _quantized_lstm(input: Tensor, hx: List[Tensor], params: List[__torch__.torch.classes.rnn.CellParamsBase], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, *, dtype: Optional[int] = None, use_dynamic: bool = False) -> Tuple[Tensor, Tensor, Tensor]:
  return _quantized_sequence(True, input, hx[0], hx[1], params, num_layers, dropout, train, bidirectional, batch_first)
def _quantized_lstm_packed(data: Tensor, batch_sizes: Tensor, hx: List[Tensor], params: List[__torch__.torch.classes.rnn.CellParamsBase], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, *, dtype: Optional[int] = None, use_dynamic: bool = False) -> Tuple[Tensor, Tensor, Tensor]:
  sizes: List[int] = batch_sizes.tolist()
  return _quantized_layers(True, data, sizes, hx[0], hx[1], params, num_layers, dropout, train, bidirectional)
def _quantized_gru(input: Tensor, hx: Tensor, params: List[__torch__.torch.classes.rnn.CellParamsBase], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Tuple[Tensor, Tensor]:
  y, h, c = _quantized_sequence(False, input, hx, hx, params, num_layers, dropout, train, bidirectional, batch_first)
  return y, h
def _quantized_gru_packed(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: List[__torch__.torch.classes.rnn.CellParamsBase], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Tuple[Tensor, Tensor]:
  sizes: List[int] = batch_sizes.tolist()
  y, h, c = _quantized_layers(False, data, sizes, hx, hx, params, num_layers, dropout, train, bidirectional)
  return y, h
def quantized_quantized_lstm_cell_dynamic(input: Tensor, hx: List[Tensor], w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, bias_ih: Tensor, bias_hh: Tensor) -> Tuple[Tensor, Tensor]:
  gates = quantized_linear_dynamic(hx[0], w_hh, True) + quantized_linear_dynamic(input, w_ih, True)
  return _lstm_gates(gates, hx[1])
def quantized_quantized_gru_cell_dynamic(input: Tensor, hx: Tensor, w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, b_ih: Tensor, b_hh: Tensor) -> Tensor:
  return _gru_gates(quantized_linear_dynamic(input, w_ih, True), quantized_linear_dynamic(hx, w_hh, True), hx)
def quantized_quantized_rnn_relu_cell_dynamic(input: Tensor, hx: Tensor, w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, b_ih: Tensor, b_hh: Tensor) -> Tensor:
  return torch.relu(quantized_linear_dynamic(hx, w_hh, True) + quantized_linear_dynamic(input, w_ih, True))
def quantized_quantized_rnn_tanh_cell_dynamic(input: Tensor, hx: Tensor, w_ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, w_hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, b_ih: Tensor, b_hh: Tensor) -> Tensor:
  return torch.tanh(quantized_linear_dynamic(hx, w_hh, True) + quantized_linear_dynamic(input, w_ih, True))
)py";

// $N dimensions. As in torch, the result of a dynamic one is rounded to the scale of its input.
constexpr std::string_view kWindows = R"py(
def _convolve_$Nd(qx: Tensor, p: __torch__.torch.classes.quantized.Conv$NdPackedParamsBase, scale: float, zero_point: int, relu: bool) -> Tensor:
  return ops.tenon_quantized.convolve(qx, p.values, p.scales, p.bias, p.stride, p.padding, p.output_padding, p.dilation, p.transposed, p.groups, scale, zero_point, relu)
def _convolve_$Nd_dynamic(x: Tensor, p: __torch__.torch.classes.quantized.Conv$NdPackedParamsBase, reduce_range: bool) -> Tensor:
  q = torch.quantize_per_tensor_dynamic(x, 13, reduce_range)
  return torch.dequantize(_convolve_$Nd(q, p, q.q_scale(), q.q_zero_point(), False))
def quantized_conv$Nd_prepack(weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int) -> __torch__.torch.classes.quantized.Conv$NdPackedParamsBase:
  return __torch__.torch.classes.quantized.Conv$NdPackedParamsBase(weight, bias, stride, padding, [0] * $N, dilation, False, groups)
def quantized_conv_transpose$Nd_prepack(weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], dilation: List[int], groups: int) -> __torch__.torch.classes.quantized.Conv$NdPackedParamsBase:
  return __torch__.torch.classes.quantized.Conv$NdPackedParamsBase(weight, bias, stride, padding, output_padding, dilation, True, groups)
def quantized_conv$Nd_relu(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv$NdPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
  return _convolve_$Nd(qx, packed_weight, output_scale, output_zero_point, True)
def _quantized_conv$Nd_of_window(qx: Tensor, weight: __torch__.torch.classes.quantized.Conv$NdPackedParamsBase, stride: List[int], padding: List[int], dilation: List[int], groups: int, output_scale: float, output_zero_point: int) -> Tensor:
  return _convolve_$Nd(qx, weight, output_scale, output_zero_point, False)
def _quantized_conv$Nd_relu_of_window(qx: Tensor, weight: __torch__.torch.classes.quantized.Conv$NdPackedParamsBase, stride: List[int], padding: List[int], dilation: List[int], groups: int, output_scale: float, output_zero_point: int) -> Tensor:
  return _convolve_$Nd(qx, weight, output_scale, output_zero_point, True)
)py";

// $KIND is conv or conv_transpose.
constexpr std::string_view kConvolutions = R"py(
def quantized_$KIND$Nd_unpack(packed_weights: __torch__.torch.classes.quantized.Conv$NdPackedParamsBase) -> Tuple[Tensor, Optional[Tensor]]:
  return packed_weights.unpack()
def quantized_$KIND$Nd(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv$NdPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
  return _convolve_$Nd(qx, packed_weight, output_scale, output_zero_point, False)
def quantized_$KIND$Nd_dynamic(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv$NdPackedParamsBase, reduce_range: bool = False) -> Tensor:
  return _convolve_$Nd_dynamic(qx, packed_weight, reduce_range)
def quantized_$KIND$Nd_stride(packed_weights: __torch__.torch.classes.quantized.Conv$NdPackedParamsBase) -> List[int]:
  return packed_weights.stride
def quantized_$KIND$Nd_padding(packed_weights: __torch__.torch.classes.quantized.Conv$NdPackedParamsBase) -> List[int]:
  return packed_weights.padding
def quantized_$KIND$Nd_output_padding(packed_weights: __torch__.torch.classes.quantized.Conv$NdPackedParamsBase) -> List[int]:
  return packed_weights.output_padding
def quantized_$KIND$Nd_dilation(packed_weights: __torch__.torch.classes.quantized.Conv$NdPackedParamsBase) -> List[int]:
  return packed_weights.dilation
def quantized_$KIND$Nd_groups(packed_weights: __torch__.torch.classes.quantized.Conv$NdPackedParamsBase) -> int:
  return packed_weights.groups
def quantized_$KIND$Nd_transpose(packed_weights: __torch__.torch.classes.quantized.Conv$NdPackedParamsBase) -> int:
  return int(packed_weights.transposed)
)py";

// Of one dimension.
constexpr std::string_view kLines = R"py(
def quantized_$KIND1d_unpack(packed_weights: __torch__.torch.classes.quantized.Conv2dPackedParamsBase) -> Tuple[Tensor, Optional[Tensor]]:
  return (ops.tenon_quantized.one_dimension_less(packed_weights.weight), packed_weights.bias)
def quantized_$KIND1d(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, output_scale: float, output_zero_point: int) -> Tensor:
  return _convolve_2d(qx, packed_weight, output_scale, output_zero_point, False)
def quantized_$KIND1d_dynamic(qx: Tensor, packed_weight: __torch__.torch.classes.quantized.Conv2dPackedParamsBase, reduce_range: bool = False) -> Tensor:
  return _convolve_2d_dynamic(qx, packed_weight, reduce_range)
)py";

// $OP is add or mul, $SIGN what it is written by.
constexpr std::string_view kArithmetic = R"py(
def quantized_$OP(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
  return ops.tenon_quantized.$OP(qa, qb, scale, zero_point, False)
def quantized_$OP_relu(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
  return ops.tenon_quantized.$OP(qa, qb, scale, zero_point, True)
def quantized_$OP_out(qa: Tensor, qb: Tensor, out: Tensor) -> Tensor:
  a, b = torch.dequantize(qa), torch.dequantize(qb)
  return out.copy_(a $SIGN b)
def quantized_$OP_relu_out(qa: Tensor, qb: Tensor, out: Tensor) -> Tensor:
  a, b = torch.dequantize(qa), torch.dequantize(qb)
  return out.copy_(torch.relu(a $SIGN b))
def quantized_$OP_scalar_relu(qa: Tensor, b: number) -> Tensor:
  return torch.relu(quantized_$OP_scalar(qa, b))
def _quantized_$OP_scalar_of_tensor(qa: Tensor, b: Tensor) -> Tensor:
  return quantized_$OP_scalar(qa, b.item())
def _quantized_$OP_scalar_relu_of_tensor(qa: Tensor, b: Tensor) -> Tensor:
  return quantized_$OP_scalar_relu(qa, b.item())
)py";

// $D is how many dimensions, or nothing.
constexpr std::string_view kBatchNorm = R"py(
def quantized_batch_norm$D(qx: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], mean: Tensor, var: Tensor, eps: float, output_scale: float, output_zero_point: int) -> Tensor:
  return _quantized_as(torch.batch_norm(torch.dequantize(qx), weight, bias, mean, var, False, 0.0, eps, False), output_scale, output_zero_point, qx)
def quantized_batch_norm$D_relu(qx: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], mean: Tensor, var: Tensor, eps: float, output_scale: float, output_zero_point: int) -> Tensor:
  return _quantized_as(torch.relu(torch.batch_norm(torch.dequantize(qx), weight, bias, mean, var, False, 0.0, eps, False)), output_scale, output_zero_point, qx)
)py";

using Marks = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// The text with what stands for its marks.
std::string filled(std::string_view text, Marks marks) {
  std::string out(text);
  for (const auto& [mark, by] : marks) {
    for (std::size_t at = out.find(mark); at != out.npos; at = out.find(mark, at + by.size()))
      out.replace(at, mark.size(), by);
  }
  return out;
}

std::string all_functions() {
  std::string out(kFunctions);
  for (const std::string_view n : {"2", "3"}) {
    out += filled(kWindows, {{"$N", n}});
    for (const std::string_view kind : {"conv", "conv_transpose"})
      out += filled(kConvolutions, {{"$N", n}, {"$KIND", kind}});
  }
  for (const std::string_view kind : {"conv", "conv_transpose"})
    out += filled(kLines, {{"$KIND", kind}});
  for (const auto& [op, sign] : {std::pair{"add", "+"}, std::pair{"mul", "*"}})
    out += filled(kArithmetic, {{"$OP", op}, {"$SIGN", sign}});
  for (const std::string_view dims : {"", "1d", "2d", "3d"})
    out += filled(kBatchNorm, {{"$D", dims}});
  return out;
}

}  // namespace

const std::string& quantized_functions() {
  static const auto& text = *new std::string(all_functions());
  return text;
}
std::string quantized_weight_classes() {
  return std::string(kClasses) + filled(kConvClass, {{"$N", "2"}}) +
         filled(kConvClass, {{"$N", "3"}});
}
std::string quantized_cell_classes() { return std::string(kCellClass); }

}  // namespace tenon::jit::language
