// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Fourier transforms, windows, random numbers, and steps of optimizers.
#include "onnx/import/builder.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _as_complex(x: Tensor) -> Tensor:
  if x.size(-1) == 2:
    return torch.view_as_complex(x.contiguous())
  re = x.select(-1, 0)
  return torch.complex(re, torch.zeros_like(re))
def _dft(x: Tensor, length: Optional[int], axis: int, inverse: int, onesided: int) -> Tensor:
  d = axis + x.dim() if axis < 0 else axis
  n = length
  c = _as_complex(x)
  if inverse == 1:
    if onesided == 1:
      m = 2 * (c.size(d) - 1) if n is None else n
      return torch.fft.irfft(c, m, d).unsqueeze(-1)
    return torch.view_as_real(torch.fft.ifft(c, n, d))
  y = torch.fft.fft(c, n, d)
  if onesided == 1:
    y = y.narrow(d, 0, y.size(d) // 2 + 1)
  return torch.view_as_real(y.contiguous())
def DFT(x: Tensor, length: Optional[int], axis: Optional[int], *, inverse: int = 0, onesided: int = 0) -> Tensor:
  return _dft(x, length, -2 if axis is None else axis, inverse, onesided)
def DFT_19(x: Tensor, length: Optional[int], *, axis: int = 1, inverse: int = 0, onesided: int = 0) -> Tensor:
  return _dft(x, length, axis, inverse, onesided)
def STFT(x: Tensor, step: int, window: Optional[Tensor], length: Optional[int], *, onesided: int = 1) -> Tensor:
  n = 0
  if length is not None:
    n = length
  elif window is not None:
    n = window.size(0)
  c = _as_complex(x.unsqueeze(-1) if x.dim() == 2 else x).unfold(1, n, step)
  if window is not None:
    c = c * window
  y = torch.fft.fft(c, n, -1)
  if onesided == 1:
    y = y.narrow(-1, 0, n // 2 + 1)
  return torch.view_as_real(y.contiguous())
def _window(size: int, periodic: int, a: float, b: float, c: float, dtype: int, device: Device) -> Tensor:
  n = size if periodic == 1 else size - 1
  t = torch.arange(size, device=device).to(torch.float64) * (2 * math.pi / max(1, n))
  return (a - b * torch.cos(t) + c * torch.cos(2 * t)).to(dtype)
def _mel(x: Tensor) -> Tensor:
  return 2595.0 * torch.log10(1.0 + x / 700.0)
def MelWeightMatrix(bins: int, length: int, rate: int, low: float, high: float, *, output_datatype: int = 6) -> Tensor:
  spectrum = length // 2 + 1
  ends = _mel(torch.tensor([low, high], dtype=torch.float64))
  step = (ends[1] - ends[0]) / (bins + 2)
  points = torch.arange(bins + 2).to(torch.float64) * step + ends[0]
  hz = 700.0 * (torch.pow(10.0, points / 2595.0) - 1.0)
  at: List[int] = torch.floor((length + 1) * hz / rate).to(torch.int64).tolist()
  out = torch.zeros([spectrum, bins], dtype=torch.float64)
  for i in range(bins):
    left, center, right = at[i], at[i + 1], at[i + 2]
    if center == left:
      out[center, i] = 1.0
    else:
      for j in range(left, center + 1):
        out[j, i] = (j - left) / (center - left)
    if right > center:
      for j in range(center, right):
        out[j, i] = (right - j) / (right - center)
  return out.to(output_datatype)
def Bernoulli(x: Tensor, *, dtype: Optional[int] = None, seed: Optional[float] = None) -> Tensor:
  return torch.bernoulli(x).to(x.dtype if dtype is None else dtype)
def RandomUniformLike(x: Tensor, *, dtype: Optional[int] = None, low: float = 0.0, high: float = 1.0, seed: Optional[float] = None) -> Tensor:
  t = x.dtype if dtype is None else dtype
  return torch.rand(x.shape, dtype=t, device=x.device) * (high - low) + low
def RandomNormalLike(x: Tensor, *, dtype: Optional[int] = None, mean: float = 0.0, scale: float = 1.0, seed: Optional[float] = None) -> Tensor:
  t = x.dtype if dtype is None else dtype
  return torch.randn(x.shape, dtype=t, device=x.device) * scale + mean
def RandomUniform(*, dtype: int = 6, low: float = 0.0, high: float = 1.0, seed: Optional[float] = None, shape: List[int]) -> Tensor:
  return torch.rand(shape, dtype=dtype) * (high - low) + low
def RandomNormal(*, dtype: int = 6, mean: float = 0.0, scale: float = 1.0, seed: Optional[float] = None, shape: List[int]) -> Tensor:
  return torch.randn(shape, dtype=dtype) * scale + mean
def Multinomial(x: Tensor, *, dtype: int = 3, sample_size: int = 1, seed: Optional[float] = None) -> Tensor:
  return torch.multinomial(torch.softmax(x, -1), sample_size, True).to(dtype)
def _adagrad(r: Tensor, t: Tensor, x: Tensor, g: Tensor, h: Tensor, decay: float, epsilon: float, norm: float) -> Tuple[Tensor, Tensor]:
  rate = r / (1 + t * decay)
  g = g + norm * x
  new = h + g * g
  return x - rate * g / (torch.sqrt(new) + epsilon), new
def _momentum(r: Tensor, t: Tensor, x: Tensor, g: Tensor, v: Tensor, alpha: float, beta: float, norm: float, nesterov: bool) -> Tuple[Tensor, Tensor]:
  g = g + norm * x
  b = beta if int(t) > 0 else 1.0
  new = alpha * v + b * g
  return x - r * (g + alpha * new if nesterov else new), new
def _adam(r: Tensor, t: Tensor, x: Tensor, g: Tensor, v: Tensor, h: Tensor, alpha: float, beta: float, epsilon: float, norm: float, after: float) -> Tuple[Tensor, Tensor, Tensor]:
  g = g + norm * x
  m = alpha * v + (1 - alpha) * g
  s = beta * h + (1 - beta) * g * g
  rate = r
  if int(t) > 0:
    steps = t.to(x.dtype)
    rate = r * torch.sqrt(1 - torch.pow(beta, steps)) / (1 - torch.pow(alpha, steps))
  return (1 - after) * (x - rate * m / (torch.sqrt(s) + epsilon)), m, s
)py");

std::vector<ItemPtr> translate_window(Builder& b, Call& c) {
  const std::string& op = c.node.op_type();
  const double hamming = 25.0 / 46.0;
  const double a = op == "BlackmanWindow" ? 0.42 : op == "HannWindow" ? 0.5 : hamming;
  const double cosine = op == "BlackmanWindow" ? 0.5 : op == "HannWindow" ? 0.5 : 1 - hamming;
  const auto dtype = dtype_of(static_cast<int32_t>(c.integer("output_datatype", pb::FLOAT)));
  TENON_CHECK(dtype, NotImplementedError, "output_datatype");
  Value* y = b.call_text("_window", {b.integer(c.input(0)), b.constant(c.integer("periodic", 1)),
                                     b.constant(a), b.constant(cosine),
                                     b.constant(op == "BlackmanWindow" ? 0.08 : 0.0),
                                     b.constant(*dtype), b.device()})
                 .at(0);
  return {Builder::item(y, dtype)};
}

// Inputs: rate, step, then each kind of tensor for all that is optimized.
std::vector<ItemPtr> translate_optimizer(Builder& b, Call& c) {
  const std::string& op = c.node.op_type();
  const std::size_t kinds = op == "Adam" ? 4 : 3;
  TENON_CHECK(c.inputs.size() > 2 && (c.inputs.size() - 2) % kinds == 0, ValueError, "it has ",
              c.inputs.size(), " inputs");
  const std::size_t n = (c.inputs.size() - 2) / kinds;
  const auto real = [&](const char* name, double or_else) {
    return b.constant(c.real(name, or_else));
  };
  std::vector<ItemPtr> out(n * (kinds - 1));
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<Value*> arguments = {b.tensor(c.input(0)), b.tensor(c.input(1))};
    for (std::size_t k = 0; k < kinds; ++k) arguments.push_back(b.tensor(c.input(2 + k * n + i)));
    std::vector<Value*> more;
    if (op == "Adagrad")
      more = {real("decay_factor", 0), real("epsilon", 1e-6), real("norm_coefficient", 0)};
    else if (op == "Momentum")
      more = {real("alpha", 0), real("beta", 1), real("norm_coefficient", 0),
              b.constant(c.text("mode", "standard") == "nesterov")};
    else
      more = {real("alpha", 0.9), real("beta", 0.999), real("epsilon", 1e-6),
              real("norm_coefficient", 0), real("norm_coefficient_post", 0)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const char* function = op == "Adagrad" ? "_adagrad" : op == "Momentum" ? "_momentum" : "_adam";
    const std::vector<Value*> made = b.call_text(function, arguments);
    for (std::size_t k = 0; k < made.size(); ++k) out[k * n + i] = Builder::item(made[k]);
  }
  return out;
}

constexpr Gives kSame = Gives::Same;
const Entry kSignal[] = {
    {"DFT", 20, 0, kSame},
    {"DFT", 17, 19, kSame, "DFT_19"},
    {"STFT", 17, 0, kSame},
    {"BlackmanWindow", 17, 0, Gives::Unknown, nullptr, translate_window},
    {"HammingWindow", 17, 0, Gives::Unknown, nullptr, translate_window},
    {"HannWindow", 17, 0, Gives::Unknown, nullptr, translate_window},
    {"MelWeightMatrix", 17, 0},
    {"Bernoulli", 15, 0},
    {"RandomUniformLike", 1, 0},
    {"RandomNormalLike", 1, 0},
    {"RandomUniform", 1, 0},
    {"RandomNormal", 1, 0},
    {"Multinomial", 7, 0},
};
const Entries kRegistered("", kSignal, std::size(kSignal));

const Entry kTraining[] = {
    {"Adagrad", 1, 0, kSame, nullptr, translate_optimizer},
    {"Adam", 1, 0, kSame, nullptr, translate_optimizer},
    {"Momentum", 1, 0, kSame, nullptr, translate_optimizer},
};
const Entries kTrainingRegistered("ai.onnx.preview.training", kTraining, std::size(kTraining));

}  // namespace
}  // namespace tenon::onnx
