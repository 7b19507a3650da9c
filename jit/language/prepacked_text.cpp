// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Programs that torch.utils.mobile_optimizer wrote: the operators of XNNPACK, and the classes that
// hold their weights. "prepacked::f" is prepacked_f here.
#include "jit/language/quantized_text.h"

namespace tenon::jit::language {
namespace {

// States are what torch writes, in its order.
constexpr std::string_view kClasses = R"py(
class LinearOpContext:
  weight: Tensor
  bias: Optional[Tensor]
  low: Optional[number]
  high: Optional[number]
  def __init__(self, weight: Tensor, bias: Optional[Tensor], low: Optional[number], high: Optional[number]) -> None:
    self.weight = weight
    self.bias = bias
    self.low = low
    self.high = high
  def __getstate__(self) -> Tuple[Tensor, Optional[Tensor], Optional[number], Optional[number]]:
    return self.weight, self.bias, self.low, self.high
  def __setstate__(self, state: Tuple[Tensor, Optional[Tensor], Optional[number], Optional[number]]) -> None:
    self.__init__(state[0], state[1], state[2], state[3])
class Conv2dOpContext:
  weight: Tensor
  bias: Optional[Tensor]
  stride: List[int]
  padding: List[int]
  dilation: List[int]
  groups: int
  low: Optional[number]
  high: Optional[number]
  def __init__(self, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int, low: Optional[number], high: Optional[number]) -> None:
    self.weight = weight
    self.bias = bias
    self.stride = stride
    self.padding = padding
    self.dilation = dilation
    self.groups = groups
    self.low = low
    self.high = high
  def __getstate__(self) -> Tuple[Tensor, Optional[Tensor], List[int], List[int], List[int], int, Optional[number], Optional[number]]:
    return self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups, self.low, self.high
  def __setstate__(self, state: Tuple[Tensor, Optional[Tensor], List[int], List[int], List[int], int, Optional[number], Optional[number]]) -> None:
    self.__init__(state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7])
class TransposeConv2dOpContext:
  weight: Tensor
  bias: Optional[Tensor]
  stride: List[int]
  padding: List[int]
  output_padding: List[int]
  dilation: List[int]
  groups: int
  low: Optional[number]
  high: Optional[number]
  def __init__(self, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], dilation: List[int], groups: int, low: Optional[number], high: Optional[number]) -> None:
    self.weight = weight
    self.bias = bias
    self.stride = stride
    self.padding = padding
    self.output_padding = output_padding
    self.dilation = dilation
    self.groups = groups
    self.low = low
    self.high = high
  def __getstate__(self) -> Tuple[Tensor, Optional[Tensor], List[int], List[int], List[int], List[int], int, Optional[number], Optional[number]]:
    return self.weight, self.bias, self.stride, self.padding, self.output_padding, self.dilation, self.groups, self.low, self.high
  def __setstate__(self, state: Tuple[Tensor, Optional[Tensor], List[int], List[int], List[int], List[int], int, Optional[number], Optional[number]]) -> None:
    self.__init__(state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7], state[8])
)py";

constexpr std::string_view kFunctions = R"py(
def _prepacked_clamp(x: Tensor, low: Optional[number], high: Optional[number]) -> Tensor:
  return x if low is None and high is None else torch.clamp(x, low, high)
def prepacked_linear_clamp_prepack(W: Tensor, B: Optional[Tensor] = None, output_min: Optional[number] = None, output_max: Optional[number] = None) -> __torch__.torch.classes.xnnpack.LinearOpContext:
  return __torch__.torch.classes.xnnpack.LinearOpContext(W, B, output_min, output_max)
def prepacked_linear_clamp_run(X: Tensor, W_prepack: __torch__.torch.classes.xnnpack.LinearOpContext) -> Tensor:
  return _prepacked_clamp(torch.linear(X, W_prepack.weight, W_prepack.bias), W_prepack.low, W_prepack.high)
def prepacked_conv2d_clamp_prepack(W: Tensor, B: Optional[Tensor], stride: List[int], padding: List[int], dilation: List[int], groups: int, output_min: Optional[number] = None, output_max: Optional[number] = None) -> __torch__.torch.classes.xnnpack.Conv2dOpContext:
  return __torch__.torch.classes.xnnpack.Conv2dOpContext(W, B, stride, padding, dilation, groups, output_min, output_max)
def prepacked_conv2d_clamp_run(X: Tensor, W_prepack: __torch__.torch.classes.xnnpack.Conv2dOpContext) -> Tensor:
  w = W_prepack
  return _prepacked_clamp(torch.conv2d(X, w.weight, w.bias, w.stride, w.padding, w.dilation, w.groups), w.low, w.high)
def prepacked_conv2d_transpose_clamp_prepack(W: Tensor, B: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], dilation: List[int], groups: int, output_min: Optional[number] = None, output_max: Optional[number] = None) -> __torch__.torch.classes.xnnpack.TransposeConv2dOpContext:
  return __torch__.torch.classes.xnnpack.TransposeConv2dOpContext(W, B, stride, padding, output_padding, dilation, groups, output_min, output_max)
def prepacked_conv2d_transpose_clamp_run(X: Tensor, W_prepack: __torch__.torch.classes.xnnpack.TransposeConv2dOpContext) -> Tensor:
  w = W_prepack
  return _prepacked_clamp(torch.conv_transpose2d(X, w.weight, w.bias, w.stride, w.padding, w.output_padding, w.groups, w.dilation), w.low, w.high)
)py";

}  // namespace

std::string_view prepacked_functions() { return kFunctions; }
std::string prepacked_classes() { return std::string(kClasses); }

}  // namespace tenon::jit::language
