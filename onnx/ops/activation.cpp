// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/import/builder.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def Relu(x: Tensor) -> Tensor:
  return torch.relu(x)
def LeakyRelu(x: Tensor, *, alpha: float = 0.01) -> Tensor:
  return torch.leaky_relu(x, alpha)
def Elu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
  return torch.elu(x, alpha)
def Celu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
  return torch.celu(x, alpha)
def Selu(x: Tensor, *, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805) -> Tensor:
  return gamma * torch.elu(x, alpha)
def Sigmoid(x: Tensor) -> Tensor:
  return torch.sigmoid(x)
def Tanh(x: Tensor) -> Tensor:
  return torch.tanh(x)
def Softplus(x: Tensor) -> Tensor:
  return torch.softplus(x)
def Softsign(x: Tensor) -> Tensor:
  return x / (torch.abs(x) + 1)
def HardSigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
  return torch.clamp(alpha * x + beta, 0.0, 1.0)
def HardSwish(x: Tensor) -> Tensor:
  return torch.hardswish(x)
def Mish(x: Tensor) -> Tensor:
  return torch.mish(x)
def Gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
  return torch.gelu(x, approximate=approximate)
def ThresholdedRelu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
  return torch.threshold(x, alpha, 0.0)
def Shrink(x: Tensor, *, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
  y = torch.where(x < -lambd, x + bias, torch.where(x > lambd, x - bias, torch.zeros_like(x)))
  return y.to(x.dtype)
def PRelu(x: Tensor, slope: Tensor) -> Tensor:
  return torch.where(x < 0, x * slope, x)
def PRelu_6(x: Tensor, slope: Tensor) -> Tensor:
  s = slope
  if slope.dim() == 1:
    for i in range(x.dim() - 2):
      s = s.unsqueeze(-1)
  return torch.where(x < 0, x * s, x)
def Swish(x: Tensor, *, alpha: float = 1.0) -> Tensor:
  return torch.silu(x) if alpha == 1.0 else x * torch.sigmoid(alpha * x)
def SwiGLU(a: Tensor, b: Tensor, *, alpha: float = 1.0) -> Tensor:
  return a * torch.sigmoid(alpha * a) * b
def Softmax(x: Tensor, *, axis: int = -1) -> Tensor:
  return torch.softmax(x, axis)
def LogSoftmax(x: Tensor, *, axis: int = -1) -> Tensor:
  return torch.log_softmax(x, axis)
def Softmax_12(x: Tensor, *, axis: int = 1) -> Tensor:
  return torch.softmax(Flatten(x, axis=axis), 1).reshape(x.shape)
def LogSoftmax_12(x: Tensor, *, axis: int = 1) -> Tensor:
  return torch.log_softmax(Flatten(x, axis=axis), 1).reshape(x.shape)
def Hardmax(x: Tensor, *, axis: int = -1) -> Tensor:
  at = torch.argmax(x, axis, True)
  return torch.scatter(torch.zeros_like(x), axis, at, 1.0)
def Hardmax_12(x: Tensor, *, axis: int = 1) -> Tensor:
  return Hardmax(Flatten(x, axis=axis), axis=1).reshape(x.shape)
def Dropout(x: Tensor, ratio: Optional[Tensor], training: Optional[bool], *, seed: Optional[int] = None) -> Tuple[Tensor, Tensor]:
  if training is not None and training:
    p = 0.5 if ratio is None else float(ratio)
    return torch.native_dropout(x, p, True)
  return x, torch.ones_like(x, dtype=torch.bool)
def Dropout_11(x: Tensor, *, ratio: float = 0.5, is_test: int = 1) -> Tuple[Tensor, Tensor]:
  return x, torch.ones_like(x, dtype=torch.bool)
)py");

constexpr Gives kSame = Gives::Same;
const Entry kActivations[] = {
    {"Relu", 1, 0, kSame},
    {"LeakyRelu", 1, 0, kSame},
    {"Elu", 1, 0, kSame},
    {"Celu", 12, 0, kSame},
    {"Selu", 1, 0, kSame},
    {"Sigmoid", 1, 0, kSame},
    {"Tanh", 1, 0, kSame},
    {"Softplus", 1, 0, kSame},
    {"Softsign", 1, 0, kSame},
    {"HardSigmoid", 1, 0, kSame},
    {"HardSwish", 14, 0, kSame},
    {"Mish", 18, 0, kSame},
    {"Gelu", 20, 0, kSame},
    {"ThresholdedRelu", 10, 0, kSame},
    {"Shrink", 9, 0, kSame},
    {"PRelu", 9, 0, kSame},
    {"PRelu", 1, 8, kSame, "PRelu_6"},
    {"Swish", 24, 0, kSame},
    {"SwiGLU", 24, 0, kSame},
    {"Softmax", 13, 0, kSame},
    {"LogSoftmax", 13, 0, kSame},
    {"Hardmax", 13, 0, kSame},
    {"Softmax", 1, 12, kSame, "Softmax_12"},
    {"LogSoftmax", 1, 12, kSame, "LogSoftmax_12"},
    {"Hardmax", 1, 12, kSame, "Hardmax_12"},
    {"Dropout", 12, 0, kSame},
    {"Dropout", 1, 11, kSame, "Dropout_11"},
};
const Entries kRegistered("", kActivations, std::size(kActivations));

}  // namespace
}  // namespace tenon::onnx
