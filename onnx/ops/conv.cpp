// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions and pooling, of any number of dimensions that the operators have.
#include "onnx/ops/conv.h"

#include "onnx/import/builder.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _or(x: Optional[List[int]], n: int, value: int) -> List[int]:
  return x if x is not None else [value for i in range(n)]
def _auto_pads(mode: str, sizes: List[int], kernel: List[int], strides: List[int], dilations: List[int], pads: Optional[List[int]]) -> List[int]:
  n = len(kernel)
  if mode == "NOTSET" or mode == "":
    return _or(pads, 2 * n, 0)
  out = [0 for i in range(2 * n)]
  if mode == "VALID":
    return out
  for i in range(n):
    steps = (sizes[i] + strides[i] - 1) // strides[i]
    total = max(0, (steps - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - sizes[i])
    small = total // 2
    out[i] = small if mode == "SAME_UPPER" else total - small
    out[n + i] = total - out[i]
  return out
def _is_symmetric(pads: List[int]) -> bool:
  n = len(pads) // 2
  return pads[:n] == pads[n:]
def _pad_flat(pads: List[int]) -> List[int]:
  n = len(pads) // 2
  flat: List[int] = []
  for i in range(n):
    flat.append(pads[n - 1 - i])
    flat.append(pads[2 * n - 1 - i])
  return flat
def Conv(x: Tensor, w: Tensor, b: Optional[Tensor], *, auto_pad: str = "NOTSET", dilations: Optional[List[int]] = None, group: int = 1, kernel_shape: Optional[List[int]] = None, pads: Optional[List[int]] = None, strides: Optional[List[int]] = None) -> Tensor:
  n = w.dim() - 2
  s = _or(strides, n, 1)
  d = _or(dilations, n, 1)
  p = _auto_pads(auto_pad, x.shape[2:], w.shape[2:], s, d, pads)
  if not _is_symmetric(p):
    x = torch.constant_pad_nd(x, _pad_flat(p), 0)
    p = [0 for i in range(2 * n)]
  return torch.convolution(x, w, b, s, p[:n], d, False, [0 for i in range(n)], group)
def ConvTranspose(x: Tensor, w: Tensor, b: Optional[Tensor], *, auto_pad: str = "NOTSET", dilations: Optional[List[int]] = None, group: int = 1, kernel_shape: Optional[List[int]] = None, output_padding: Optional[List[int]] = None, output_shape: Optional[List[int]] = None, pads: Optional[List[int]] = None, strides: Optional[List[int]] = None) -> Tensor:
  n = w.dim() - 2
  s = _or(strides, n, 1)
  d = _or(dilations, n, 1)
  o = _or(output_padding, n, 0)
  p = _or(pads, 2 * n, 0)
  if output_shape is not None or auto_pad == "SAME_UPPER" or auto_pad == "SAME_LOWER":
    for i in range(n):
      wanted = output_shape[len(output_shape) - n + i] if output_shape is not None else x.size(2 + i) * s[i]
      total = s[i] * (x.size(2 + i) - 1) + o[i] + (w.size(2 + i) - 1) * d[i] + 1 - wanted
      half = total // 2
      p[i] = total - half if auto_pad == "SAME_LOWER" or (auto_pad != "SAME_UPPER" and total < 0) else half
      p[n + i] = total - p[i]
  y = torch.convolution(x, w, None, s, [0 for i in range(n)], d, True, [0 for i in range(n)], group)
  for i in range(n):
    full = y.size(2 + i) + o[i]
    if o[i] > 0 or p[i] < 0 or p[n + i] < 0:
      flat = [0 for k in range(2 * (n - i))]
      flat[2 * (n - 1 - i)] = max(0, -p[i])
      flat[2 * (n - 1 - i) + 1] = o[i] + max(0, -p[n + i])
      y = torch.constant_pad_nd(y, flat, 0)
    y = y.narrow(2 + i, max(0, p[i]), full - p[i] - p[n + i])
  if b is not None:
    y = y + b.reshape([-1] + [1 for i in range(n)])
  return y
def _pool_sizes(sizes: List[int], kernel: List[int], strides: List[int], dilations: List[int], pads: List[int], ceil_mode: int) -> List[int]:
  out: List[int] = []
  n = len(kernel)
  for i in range(n):
    span = sizes[i] + pads[i] + pads[n + i] - ((kernel[i] - 1) * dilations[i] + 1)
    steps = (span + strides[i] - 1) // strides[i] + 1 if ceil_mode == 1 else span // strides[i] + 1
    # No window begins in the padding after the end.
    if ceil_mode == 1 and (steps - 1) * strides[i] >= sizes[i] + pads[i]:
      steps -= 1
    out.append(steps)
  return out
def _window_pads(sizes: List[int], kernel: List[int], strides: List[int], dilations: List[int], pads: List[int], out: List[int]) -> List[int]:
  n = len(kernel)
  flat: List[int] = []
  for i in range(n):
    k = n - 1 - i
    need = (out[k] - 1) * strides[k] + (kernel[k] - 1) * dilations[k] + 1
    flat.append(pads[k])
    flat.append(max(0, need - sizes[k] - pads[k]))
  return flat
def _windows(x: Tensor, kernel: List[int], strides: List[int], dilations: List[int], pads: List[int], out: List[int], value: number) -> Tensor:
  n = len(kernel)
  x = torch.constant_pad_nd(x, _window_pads(x.shape[2:], kernel, strides, dilations, pads, out), value)
  for i in range(n):
    x = x.narrow(2 + i, 0, (out[i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1)
    x = x.unfold(2 + i, (kernel[i] - 1) * dilations[i] + 1, strides[i])
    if dilations[i] > 1:
      x = torch.slice(x, -1, 0, 9223372036854775807, dilations[i])
  return x.flatten(2 + n)
def MaxPool(x: Tensor, *, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Optional[List[int]] = None, kernel_shape: List[int], pads: Optional[List[int]] = None, storage_order: int = 0, strides: Optional[List[int]] = None, n_outputs: int) -> Tuple[Tensor, Tensor]:
  n = len(kernel_shape)
  s = _or(strides, n, 1)
  d = _or(dilations, n, 1)
  p = _auto_pads(auto_pad, x.shape[2:], kernel_shape, s, d, pads)
  out = _pool_sizes(x.shape[2:], kernel_shape, s, d, p, ceil_mode)
  if x.is_floating_point():
    w = _windows(x, kernel_shape, s, d, p, out, float("-inf"))
    y, at = torch.max(w, -1)
    if n_outputs == 1:
      return y, at
    return y, _pool_index(at, x.shape, kernel_shape, s, d, p, out, storage_order)
  low = -128 if x.dtype == torch.int8 else 0
  w = _windows(x, kernel_shape, s, d, p, out, low)
  y, at = torch.max(w, -1)
  return y, at
def _pool_index(at: Tensor, sizes: List[int], kernel: List[int], strides: List[int], dilations: List[int], pads: List[int], out: List[int], storage_order: int) -> Tensor:
  n = len(kernel)
  index = torch.zeros_like(at)
  step = 1
  rest = at
  for j in range(n):
    i = n - 1 - j
    shape = [1 for k in range(at.dim())]
    shape[2 + i] = out[i]
    begin = torch.arange(out[i], device=at.device).reshape(shape) * strides[i] - pads[i]
    place = begin + torch.remainder(rest, kernel[i]) * dilations[i]
    rest = torch.div(rest, kernel[i], rounding_mode="floor")
    if storage_order == 1:
      before = 1
      for k in range(i):
        before *= sizes[2 + k]
      index = index + place * before
    else:
      index = index + place * step
    step *= sizes[2 + i]
  planes = torch.arange(sizes[0] * sizes[1], device=at.device).reshape([sizes[0], sizes[1]] + [1 for k in range(n)])
  return index + planes * step
def _max_pool(x: Tensor, kernel: List[int], strides: List[int], pads: List[int], dilations: List[int], ceil: bool) -> Tensor:
  if len(kernel) == 1:
    return torch.max_pool1d(x, kernel, strides, pads, dilations, ceil)
  if len(kernel) == 2:
    return torch.max_pool2d(x, kernel, strides, pads, dilations, ceil)
  return torch.max_pool3d(x, kernel, strides, pads, dilations, ceil)
def MaxPoolEven(x: Tensor, *, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Optional[List[int]] = None, kernel_shape: List[int], pads: Optional[List[int]] = None, storage_order: int = 0, strides: Optional[List[int]] = None) -> Tensor:
  n = len(kernel_shape)
  return _max_pool(x, kernel_shape, _or(strides, n, 1), _or(pads, n, 0)[:n], _or(dilations, n, 1), ceil_mode == 1)
def MaxPoolPadded(x: Tensor, *, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Optional[List[int]] = None, kernel_shape: List[int], pads: Optional[List[int]] = None, storage_order: int = 0, strides: Optional[List[int]] = None) -> Tensor:
  n = len(kernel_shape)
  s = _or(strides, n, 1)
  d = _or(dilations, n, 1)
  p = _auto_pads(auto_pad, x.shape[2:], kernel_shape, s, d, pads)
  out = _pool_sizes(x.shape[2:], kernel_shape, s, d, p, ceil_mode)
  low = float("-inf") if x.is_floating_point() else (-128.0 if x.dtype == torch.int8 else 0.0)
  x = torch.constant_pad_nd(x, _window_pads(x.shape[2:], kernel_shape, s, d, p, out), low)
  return _max_pool(x, kernel_shape, s, _or(None, n, 0), d, False)
def AveragePool(x: Tensor, *, auto_pad: str = "NOTSET", ceil_mode: int = 0, count_include_pad: int = 0, dilations: Optional[List[int]] = None, kernel_shape: List[int], pads: Optional[List[int]] = None, strides: Optional[List[int]] = None) -> Tensor:
  n = len(kernel_shape)
  s = _or(strides, n, 1)
  d = _or(dilations, n, 1)
  p = _auto_pads(auto_pad, x.shape[2:], kernel_shape, s, d, pads)
  out = _pool_sizes(x.shape[2:], kernel_shape, s, d, p, ceil_mode)
  if n == 2 and max(d) == 1:
    size = kernel_shape[0] * kernel_shape[1]
    total = torch.avg_pool2d(torch.constant_pad_nd(x, _window_pads(x.shape[2:], kernel_shape, s, d, p, out), 0), kernel_shape, s) * size
  else:
    total = _windows(x, kernel_shape, s, d, p, out, 0).sum(-1)
  one = torch.ones_like(x[:1, :1])
  if count_include_pad == 1:
    one = torch.constant_pad_nd(one, _pad_flat(p), 1)
    p = [0 for i in range(2 * n)]
  return total / _windows(one, kernel_shape, s, d, p, out, 0).sum(-1)
def AveragePool2d(x: Tensor, *, auto_pad: str = "NOTSET", ceil_mode: int = 0, count_include_pad: int = 0, dilations: Optional[List[int]] = None, kernel_shape: List[int], pads: Optional[List[int]] = None, strides: Optional[List[int]] = None) -> Tensor:
  p = _or(pads, 4, 0)
  return torch.avg_pool2d(x, kernel_shape, _or(strides, 2, 1), p[:2], ceil_mode == 1, count_include_pad == 1)
def LpPool(x: Tensor, *, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Optional[List[int]] = None, kernel_shape: List[int], p: float = 2.0, pads: Optional[List[int]] = None, strides: Optional[List[int]] = None) -> Tensor:
  n = len(kernel_shape)
  s = _or(strides, n, 1)
  d = _or(dilations, n, 1)
  q = _auto_pads(auto_pad, x.shape[2:], kernel_shape, s, d, pads)
  out = _pool_sizes(x.shape[2:], kernel_shape, s, d, q, ceil_mode)
  w = _windows(x, kernel_shape, s, d, q, out, 0)
  return torch.pow(torch.pow(torch.abs(w), p).sum(-1), 1.0 / p)
def _spatial(x: Tensor) -> List[int]:
  return [i for i in range(2, x.dim())]
def GlobalAveragePool(x: Tensor) -> Tensor:
  return torch.mean(x, _spatial(x), True)
def GlobalMaxPool(x: Tensor) -> Tensor:
  return torch.amax(x, _spatial(x), True)
def GlobalLpPool(x: Tensor, *, p: float = 2.0) -> Tensor:
  return torch.pow(torch.pow(torch.abs(x), p).sum(_spatial(x), True), 1.0 / p)
def MaxUnpool(x: Tensor, index: Tensor, shape: Optional[List[int]], *, kernel_shape: List[int], pads: Optional[List[int]] = None, strides: Optional[List[int]] = None) -> Tensor:
  n = len(kernel_shape)
  s = _or(strides, n, 1)
  p = _or(pads, 2 * n, 0)
  natural = [x.size(0), x.size(1)]
  total = x.size(0) * x.size(1)
  for i in range(n):
    natural.append((x.size(2 + i) - 1) * s[i] + kernel_shape[i] - p[i] - p[n + i])
    total *= natural[2 + i]
  y = torch.zeros([total], dtype=x.dtype, device=x.device)
  y = torch.scatter(y, 0, index.reshape([-1]), x.reshape([-1])).reshape(natural)
  if shape is not None:
    flat: List[int] = []
    for i in range(len(shape)):
      k = len(shape) - 1 - i
      flat.append(0)
      flat.append(shape[k] - natural[k])
    y = torch.constant_pad_nd(y, flat, 0)
  return y
def _wide_less_zero(x: Tensor, zero: Optional[Tensor]) -> Tensor:
  y = x.to(torch.float64)
  return y if zero is None else y - zero.to(torch.float64)
def _less_filter_zeros(w: Tensor, zero: Optional[Tensor]) -> Tensor:
  if zero is not None and zero.dim() == 1:
    zero = zero.reshape([-1] + [1 for i in range(w.dim() - 1)])
  return _wide_less_zero(w, zero)
def _as_int32(x: Tensor) -> Tensor:
  return x.to(torch.int32)
def ConvInteger(x: Tensor, w: Tensor, x_zero: Optional[Tensor], w_zero: Optional[Tensor], *, auto_pad: str = "NOTSET", dilations: Optional[List[int]] = None, group: int = 1, kernel_shape: Optional[List[int]] = None, pads: Optional[List[int]] = None, strides: Optional[List[int]] = None) -> Tensor:
  a = _wide_less_zero(x, x_zero)
  b = _less_filter_zeros(w, w_zero)
  return Conv(a, b, None, auto_pad=auto_pad, dilations=dilations, group=group, pads=pads, strides=strides).to(torch.int32)
def CausalConvWithState(x: Tensor, w: Tensor, b: Optional[Tensor], past: Optional[Tensor], *, activation: str = "none", ndim: int = 1) -> Tuple[Tensor, Tensor]:
  k = w.size(-1) - 1
  state = torch.zeros([x.size(0), x.size(1), k], dtype=x.dtype, device=x.device) if past is None else past.to(x.dtype)
  full = torch.cat([state, x], -1)
  y = torch.convolution(full, w, b, [1], [0], [1], False, [0], w.size(0))
  if activation == "silu" or activation == "swish":
    y = torch.silu(y)
  return y, full.narrow(-1, full.size(-1) - k, k)
)py");

bool is_symmetric(const std::vector<int64_t>& pads) {
  const std::size_t n = pads.size() / 2;
  for (std::size_t i = 0; i < n; ++i)
    if (pads[i] != pads[n + i]) return false;
  return true;
}

bool no_auto_pad(const Call& c) {
  const std::string mode = c.text("auto_pad", "NOTSET");
  TENON_CHECK(mode == "NOTSET" || mode.empty() || mode == "VALID" || mode == "SAME_UPPER" ||
                  mode == "SAME_LOWER",
              ValueError, "auto_pad is '", mode, "'");
  return mode == "NOTSET" || mode.empty();
}

// The number of spatial dimensions; 0 if it is not known.
std::size_t spatial_dims(const Call& c, const ItemPtr& weight) {
  const int64_t rank = weight->constant.defined() ? weight->constant.dim() : weight->rank;
  if (rank > 2) return static_cast<std::size_t>(rank - 2);
  for (const char* name : {"kernel_shape", "strides", "dilations"})
    if (c.has(name)) return c.integers(name).size();
  return 0;
}

std::vector<int64_t> numbers_of(const Call& c, const char* name, std::size_t size, int64_t none) {
  return c.has(name) ? c.integers(name) : std::vector<int64_t>(size, none);
}

// The pads of n dimensions where no size decides them: SAME does so only with strides. Empty if
// they are not known.
std::vector<int64_t> pads_of(const Call& c, const ItemPtr& weight, std::size_t n) {
  if (no_auto_pad(c)) return numbers_of(c, "pads", 2 * n, 0);
  std::vector<int64_t> pads(2 * n);
  const std::string mode = c.text("auto_pad", "");
  if (mode == "VALID") return pads;
  const std::vector<int64_t> strides = numbers_of(c, "strides", n, 1),
                             dilations = numbers_of(c, "dilations", n, 1);
  std::vector<int64_t> kernel = c.integers("kernel_shape");
  if (kernel.empty() && weight->constant.defined())
    for (std::size_t i = 0; i < n; ++i)
      kernel.push_back(weight->constant.size(static_cast<int64_t>(i + 2)));
  if (kernel.size() != n || strides.size() != n || dilations.size() != n) return {};
  for (std::size_t i = 0; i < n; ++i) {
    if (strides[i] != 1) return {};
    const int64_t total = (kernel[i] - 1) * dilations[i], small = total / 2;
    pads[i] = mode == "SAME_UPPER" ? small : total - small;
    pads[n + i] = total - pads[i];
  }
  return pads;
}

}  // namespace

Value* plain_convolution(Builder& b, const Call& c, const ItemPtr& weight, Value* x, Value* w,
                         Value* bias) {
  const std::size_t n = spatial_dims(c, weight);
  std::vector<int64_t> pads = pads_of(c, weight, n);
  if (n == 0 || pads.size() != 2 * n || !is_symmetric(pads)) return nullptr;
  pads.resize(n);
  return b.emit1("aten::convolution",
                 {x, w, bias, b.constant(numbers_of(c, "strides", n, 1)), b.constant(pads),
                  b.constant(numbers_of(c, "dilations", n, 1)), b.constant(false),
                  b.constant(std::vector<int64_t>(n, 0)), b.constant(c.integer("group", 1))});
}

namespace {

std::vector<ItemPtr> translate_conv(Builder& b, Call& c) {
  const ItemPtr bias = c.optional_input(2);
  Value *x = b.tensor(c.input(0)), *w = b.tensor(c.input(1));
  Value* y =
      plain_convolution(b, c, c.input(1), x, w, bias ? b.tensor(bias) : b.constant(IValue()));
  if (y) return {Builder::item(y, c.input(0)->dtype)};
  return b.call_function(c, "Conv", Gives::Same);
}

// In float64, whose sums are exact: the convolution itself as one operator where it can be, which
// optimization makes one of integers (jit/passes/fuse_integers.cpp).
std::vector<ItemPtr> translate_conv_integer(Builder& b, Call& c) {
  const Tensor& weight = c.input(1)->constant;
  if (weight.defined() && weight.dim() > 2) {
    const auto zero = [&](std::size_t i) {
      const ItemPtr z = c.optional_input(i);
      return z ? b.tensor(z) : b.constant(IValue());
    };
    Value *x = b.tensor(c.input(0)), *w = b.tensor(c.input(1)), *w_zero = zero(3);
    x = b.call_text("_wide_less_zero", {x, zero(2)}).at(0);
    const ItemPtr zeros = c.optional_input(3);
    const bool known = !zeros || zeros->constant.defined();
    if (known && zeros && zeros->constant.dim() == 1) {
      std::vector<int64_t> sizes(static_cast<std::size_t>(weight.dim()), 1);
      sizes[0] = -1;
      w_zero = b.emit1("aten::reshape", {w_zero, b.constant(sizes)});
    }
    w = b.call_text(known ? "_wide_less_zero" : "_less_filter_zeros", {w, w_zero}).at(0);
    if (Value* y = plain_convolution(b, c, c.input(1), x, w, b.constant(IValue())))
      return {Builder::item(b.call_text("_as_int32", {y}).at(0), kInt)};
  }
  return b.call_function(c, "ConvInteger", Gives::Unknown);
}

bool is_pooled(ScalarType t) { return isFloatingType(t) || t == kByte || t == kChar; }

// Whether the padding is one that the pools of torch take: even, and up to half of the window.
bool pads_evenly(const Call& c) {
  const std::vector<int64_t> pads = c.integers("pads"), kernel = c.integers("kernel_shape");
  bool fits = no_auto_pad(c) && is_symmetric(pads);
  for (std::size_t i = 0; fits && i < pads.size() / 2; ++i) fits = 2 * pads[i] <= kernel.at(i);
  return fits || c.text("auto_pad", "") == "VALID";
}

std::vector<ItemPtr> translate_max_pool(Builder& b, Call& c) {
  const std::size_t n = c.integers("kernel_shape").size();
  const std::optional<ScalarType> dtype = c.input(0)->dtype;
  const bool pools = c.n_outputs() == 1 && dtype && n > 0 && n < 4 &&
                     (n == 2 ? is_pooled(*dtype) : isFloatingType(*dtype));
  const char* function = !pools ? "MaxPool" : pads_evenly(c) ? "MaxPoolEven" : "MaxPoolPadded";
  std::vector<ItemPtr> out = b.call_function(c, function, Gives::Same);
  if (out.size() > 1) out[1]->dtype = kLong;
  return out;
}

std::vector<ItemPtr> translate_average_pool(Builder& b, Call& c) {
  bool fits = c.integers("kernel_shape").size() == 2 && pads_evenly(c);
  for (const int64_t d : c.integers("dilations")) fits = fits && d == 1;
  return b.call_function(c, fits ? "AveragePool2d" : "AveragePool", Gives::Same);
}

constexpr Gives kSame = Gives::Same;
const Entry kConv[] = {
    {"Conv", 1, 0, kSame, nullptr, translate_conv},
    {"ConvTranspose", 1, 0, kSame},
    {"ConvInteger", 10, 0, Gives::Unknown, nullptr, translate_conv_integer},
    {"MaxPool", 1, 0, kSame, nullptr, translate_max_pool},
    {"AveragePool", 1, 0, kSame, nullptr, translate_average_pool},
    {"LpPool", 2, 0, kSame},
    {"GlobalAveragePool", 1, 0, kSame},
    {"GlobalMaxPool", 1, 0, kSame},
    {"GlobalLpPool", 2, 0, kSame},
    {"MaxUnpool", 9, 0, kSame},
    {"CausalConvWithState", 1, 0, kSame},
};
const Entries kRegistered("", kConv, std::size(kConv));

}  // namespace
}  // namespace tenon::onnx
