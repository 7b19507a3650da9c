// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Resampling and boxes. Resize works along one axis after the other, for every number of
// dimensions.
#include "onnx/import/builder.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _length(n: int, scale: float) -> float:  # scales are float32
  if scale == math.floor(scale):
    return scale * n
  return float(torch.tensor(scale * n, dtype=torch.float32))
def _coordinates(n: int, out: int, scale: float, mode: str, start: float, end: float, device: Device, dtype: int) -> Tensor:
  i = torch.arange(out, device=device).to(dtype)
  if mode == "asymmetric":
    return i / scale
  if mode == "align_corners":
    return i * 0.0 if out == 1 else i * (n - 1) / (_length(n, scale) - 1)
  if mode == "pytorch_half_pixel":
    return i * 0.0 if out == 1 else (i + 0.5) / scale - 0.5
  if mode == "tf_half_pixel_for_nn":
    return (i + 0.5) / scale
  if mode == "half_pixel_symmetric":
    return n / 2 * (1 - out / _length(n, scale)) + (i + 0.5) / scale - 0.5
  if mode == "tf_crop_and_resize":
    if out == 1:
      return i * 0.0 + 0.5 * (start + end) * (n - 1)
    return start * (n - 1) + i * ((end - start) * (n - 1) / (out - 1))
  assert mode == "half_pixel", "unknown coordinate_transformation_mode"
  return (i + 0.5) / scale - 0.5
def _kernel(d: Tensor, mode: str, a: float) -> Tensor:
  t = torch.abs(d)
  if mode == "linear":
    return torch.clamp_min(1 - t, 0.0)
  near = ((a + 2) * t - (a + 3)) * t * t + 1
  far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
  return torch.where(t <= 1, near, torch.where(t < 2, far, torch.zeros_like(t)))
def _resize_axis(x: Tensor, axis: int, out: int, scale: float, mode: str, transform: str, nearest: str, a: float, exclude: bool, antialias: bool, start: float, end: float, crop: bool, outside: float) -> Tensor:
  n = x.size(axis)
  # Where elements are taken, not mixed, rounding decides: scales are numbers of float32.
  exact = torch.float32 if mode == "nearest" else torch.float64
  c = _coordinates(n, out, scale, transform, start, end, x.device, exact).to(torch.float64)
  shape = [1 for i in range(x.dim())]
  shape[axis] = out
  if mode == "nearest":
    if nearest == "round_prefer_ceil":
      i = torch.floor(c + 0.5)
    elif nearest == "floor":
      i = torch.floor(c)
    elif nearest == "ceil":
      i = torch.ceil(c)
    else:
      i = torch.ceil(c - 0.5)
    y = x.index_select(axis, torch.clamp(i, 0, n - 1).to(torch.int64))
  else:
    shrink = min(scale, 1.0) if antialias else 1.0
    reach = 1 if mode == "linear" else 2
    first = int(math.floor(-reach / shrink)) + 1
    base = torch.floor(c)
    taps = 2 - 2 * first
    offsets = torch.arange(taps, device=x.device).to(torch.float64) + first
    at = base.unsqueeze(1) + offsets.unsqueeze(0)
    w = _kernel((at - c.unsqueeze(1)) * shrink, mode, a)
    if exclude:
      w = torch.where((at >= 0) & (at < n), w, torch.zeros_like(w))
    if exclude or antialias:
      w = w / w.sum(1, True)
    w = w.to(x.dtype)
    i = torch.clamp(at, 0, n - 1).to(torch.int64)
    y = x.index_select(axis, i.select(1, 0)) * w.select(1, 0).reshape(shape)
    for k in range(1, taps):
      y = y + x.index_select(axis, i.select(1, k)) * w.select(1, k).reshape(shape)
  if crop:
    inside = ((c >= 0) & (c <= n - 1)).reshape(shape)
    y = torch.where(inside, y, torch.full([], outside, dtype=y.dtype, device=y.device))
  return y
def _resize(x: Tensor, roi: List[float], scales: List[float], sizes: List[int], axes: Optional[List[int]], mode: str, transform: str, nearest: str, a: float, exclude: int, antialias: int, outside: float, policy: str) -> Tensor:
  at = [i for i in range(x.dim())] if axes is None else axes
  s = [0.0 for i in at]
  out = [0 for i in at]
  for k in range(len(at)):
    n = x.size(at[k])
    if len(sizes) > 0:
      out[k] = sizes[k]
      s[k] = sizes[k] / n
    else:
      s[k] = scales[k]
      out[k] = int(math.floor(_length(n, scales[k])))
  if len(sizes) > 0 and policy != "stretch":
    one = s[0]
    for v in s:
      one = min(one, v) if policy == "not_larger" else max(one, v)
    for k in range(len(at)):
      s[k] = one
      out[k] = int(math.floor(one * x.size(at[k]) + 0.5))
  crop = transform == "tf_crop_and_resize"
  h = len(at) - 2
  images = x.dim() == 4 and not crop and antialias == 0 and exclude == 0
  if h == 2:
    images = images and x.size(0) == out[0] and x.size(1) == out[1]
  else:
    images = images and h == 0 and at == [2, 3]
  if images:
    size = out[h:]
    whole = x.size(2) * s[h] == size[0] and x.size(3) * s[h + 1] == size[1]
    if mode == "linear" and (transform == "half_pixel" or (transform == "align_corners" and whole)):
      return torch.upsample_bilinear2d(x, size, transform == "align_corners", s[h], s[h + 1])
    if mode == "nearest" and transform == "asymmetric" and nearest == "floor" and (x.is_floating_point() or x.dtype == torch.uint8):
      return torch.upsample_nearest2d(x, size, s[h], s[h + 1])
  y = x
  for k in range(len(at)):
    start = roi[k] if crop else 0.0
    end = roi[len(at) + k] if crop else 1.0
    if out[k] != x.size(at[k]) or s[k] != 1.0 or crop:
      y = _resize_axis(y, at[k], out[k], s[k], mode, transform, nearest, a, exclude == 1, antialias == 1, start, end, crop, outside)
  return y
def _to_integers(y: Tensor, dtype: int, rounds: bool) -> Tensor:
  y = torch.round(y) if rounds else torch.trunc(y)
  if dtype == torch.uint8:
    y = torch.clamp(y, 0, 255)
  elif dtype == torch.int8:
    y = torch.clamp(y, -128, 127)
  return y.to(dtype)
def Resize(x: Tensor, roi: Optional[List[float]], scales: Optional[List[float]], sizes: Optional[List[int]], *, antialias: int = 0, axes: Optional[List[int]] = None, coordinate_transformation_mode: str = "half_pixel", cubic_coeff_a: float = -0.75, exclude_outside: int = 0, extrapolation_value: float = 0.0, keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest", nearest_mode: str = "round_prefer_floor") -> Tensor:
  no_floats: List[float] = []
  no_ints: List[int] = []
  mixes = mode != "nearest" and not x.is_floating_point()  # integers, in floats
  y = _resize(x.to(torch.float32) if mixes else x, no_floats if roi is None else roi, no_floats if scales is None else scales, no_ints if sizes is None else sizes, axes, mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, exclude_outside, antialias, extrapolation_value, keep_aspect_ratio_policy)
  return _to_integers(y, x.dtype, antialias == 1) if mixes else y
def Resize_10(x: Tensor, scales: List[float], *, mode: str = "nearest") -> Tensor:
  no_floats: List[float] = []
  no_ints: List[int] = []
  return _resize(x, no_floats, scales, no_ints, None, mode, "asymmetric", "floor", -0.75, 0, 0, 0.0, "stretch")
def Upsample_8(x: Tensor, *, scales: List[float], mode: str = "nearest") -> Tensor:
  return Resize_10(x, scales, mode="linear" if mode == "bilinear" else mode)
def GridSample(x: Tensor, grid: Tensor, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros") -> Tensor:
  m = 1 if mode == "nearest" else (2 if mode == "cubic" or mode == "bicubic" else 0)
  p = 1 if padding_mode == "border" else (2 if padding_mode == "reflection" else 0)
  if x.dtype == grid.dtype:
    return torch.grid_sampler(x, grid, m, p, align_corners == 1)
  t = torch.promote_types(x.dtype, grid.dtype)
  return torch.grid_sampler(x.to(t), grid.to(t), m, p, align_corners == 1).to(x.dtype)
def _base(n: int, align: bool, like: Tensor) -> Tensor:
  i = torch.arange(n, device=like.device).to(like.dtype)
  if align:
    return i * (2.0 / max(1, n - 1)) - 1 if n > 1 else i
  return (i * 2 + 1) / n - 1
def AffineGrid(theta: Tensor, size: List[int], *, align_corners: int = 0) -> Tensor:
  dims = size[2:]
  n = len(dims)
  parts: List[Tensor] = []
  for k in range(n):
    d = n - 1 - k
    shape = [1 for i in range(n)]
    shape[d] = dims[d]
    parts.append(_base(dims[d], align_corners == 1, theta).reshape(shape).expand(dims))
  parts.append(torch.ones(dims, dtype=theta.dtype, device=theta.device))
  points = torch.stack(parts, -1).reshape([1, -1, n + 1])
  return torch.matmul(points, theta.transpose(1, 2)).reshape([size[0]] + dims + [n])
def Col2Im(x: Tensor, image: List[int], block: List[int], *, dilations: Optional[List[int]] = None, pads: Optional[List[int]] = None, strides: Optional[List[int]] = None) -> Tensor:
  n = len(image)
  d = _or(dilations, n, 1)
  p = _or(pads, 2 * n, 0)
  s = _or(strides, n, 1)
  index = torch.zeros([1 for i in range(2 * n)], dtype=torch.int64, device=x.device)
  total = 1
  for k in range(n):
    i = n - 1 - k
    full = image[i] + p[i] + p[n + i]
    steps = (full - (block[i] - 1) * d[i] - 1) // s[i] + 1
    kernel_shape = [1 for j in range(2 * n)]
    kernel_shape[i] = block[i]
    step_shape = [1 for j in range(2 * n)]
    step_shape[n + i] = steps
    a = torch.arange(block[i], device=x.device).reshape(kernel_shape) * d[i]
    b = torch.arange(steps, device=x.device).reshape(step_shape) * s[i]
    index = index + (a + b) * total
    total *= full
  flat = index.reshape([-1])
  channels = x.size(1) // _product(block)
  y = torch.zeros([x.size(0), channels, total], dtype=x.dtype, device=x.device)
  y = torch.index_add(y, 2, flat, x.reshape([x.size(0), channels, -1]))
  y = y.reshape([x.size(0), channels] + [image[i] + p[i] + p[n + i] for i in range(n)])
  for i in range(n):
    y = y.narrow(2 + i, p[i], image[i])
  return y
def _roi_weights(start: float, bin: float, bins: int, grid: int, n: int, like: Tensor) -> Tensor:
  i = torch.arange(bins * grid, device=like.device).to(torch.float64)
  b = torch.floor(i / grid)
  y = start + b * bin + (i - b * grid + 0.5) * (bin / grid)
  inside = (y >= -1.0) & (y <= n)
  y = torch.clamp(y, 0.0, n - 1.0)
  j = torch.arange(n, device=like.device).to(torch.float64)
  w = torch.clamp_min(1 - torch.abs(y.unsqueeze(1) - j.unsqueeze(0)), 0.0)
  return torch.where(inside.unsqueeze(1), w, torch.zeros_like(w)).to(like.dtype)
def _roi_align(x: Tensor, rois: Tensor, batch: List[int], mode: str, height: int, width: int, sampling: int, scale: float, offset: float) -> Tensor:
  out: List[Tensor] = []
  for k in range(len(batch)):
    x1, y1 = float(rois[k, 0]) * scale - offset, float(rois[k, 1]) * scale - offset
    w, h = float(rois[k, 2]) * scale - offset - x1, float(rois[k, 3]) * scale - offset - y1
    if offset == 0.0:
      w, h = max(w, 1.0), max(h, 1.0)
    gh = sampling if sampling > 0 else int(math.ceil(h / height))
    gw = sampling if sampling > 0 else int(math.ceil(w / width))
    wy = _roi_weights(y1, h / height, height, gh, x.size(2), x)
    wx = _roi_weights(x1, w / width, width, gw, x.size(3), x)
    image = x[batch[k]]
    if mode == "avg":
      s = torch.matmul(torch.matmul(wy, image), wx.t()).reshape([x.size(1), height, gh, width, gw])
      out.append(torch.mean(s, [2, 4]))
    else:
      rows = (wy.reshape([1, height, gh, x.size(2), 1, 1, 1]) * image.reshape([x.size(1), 1, 1, x.size(2), 1, 1, x.size(3)]))
      all = rows * wx.reshape([1, 1, 1, 1, width, gw, x.size(3)])
      out.append(torch.amax(torch.amax(all, [3, 6]), [2, 4]))
  if len(out) == 0:
    return torch.zeros([0, x.size(1), height, width], dtype=x.dtype, device=x.device)
  return torch.stack(out)
def RoiAlign(x: Tensor, rois: Tensor, batch: List[int], *, coordinate_transformation_mode: str = "half_pixel", mode: str = "avg", output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0) -> Tensor:
  return _roi_align(x, rois, batch, mode, output_height, output_width, sampling_ratio, spatial_scale, 0.5 if coordinate_transformation_mode == "half_pixel" else 0.0)
def RoiAlign_10(x: Tensor, rois: Tensor, batch: List[int], *, mode: str = "avg", output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0) -> Tensor:
  return _roi_align(x, rois, batch, mode, output_height, output_width, sampling_ratio, spatial_scale, 0.0)
def NonMaxSuppression(boxes: Tensor, scores: Tensor, limit: Optional[int], iou: Optional[float], score: Optional[float], *, center_point_box: int = 0) -> Tensor:
  most = 0 if limit is None else limit
  bound = 0.0 if iou is None else iou
  a, b = boxes[:, :, :2], boxes[:, :, 2:]
  low, high = torch.minimum(a, b), torch.maximum(a, b)
  if center_point_box == 1:
    low, high = a - b / 2, a + b / 2
  area = (high - low).prod(-1)
  chosen: List[int] = []
  for n in range(scores.size(0)):
    for c in range(scores.size(1)):
      s = scores[n, c]
      live = torch.ones_like(s, dtype=torch.bool) if score is None else s > score
      count = 0
      while count < most and bool(live.any()):
        best = int(torch.where(live, s, torch.full_like(s, float("-inf"))).argmax())
        chosen += [n, c, best]
        count += 1
        common = (torch.minimum(high[n], high[n, best]) - torch.maximum(low[n], low[n, best])).clamp_min(0).prod(-1)
        ratio = common / (area[n] + area[n, best] - common)
        live = live & ~(ratio > bound)  # of boxes without an area it is NaN
        live[best] = False
  return torch.tensor(chosen, dtype=torch.int64, device=boxes.device).reshape([-1, 3])
)py");

std::vector<ItemPtr> translate_deform_conv(Builder& b, Call& c) {
  const auto pair = [&](const char* name, int64_t or_else, std::size_t i) {
    const std::vector<int64_t> v = c.integers(name);
    return b.constant(i < v.size() ? v[i] : or_else);
  };
  std::vector<int64_t> pads = c.integers("pads");
  Value *x = b.tensor(c.input(0)), *w = b.tensor(c.input(1)), *offset = b.tensor(c.input(2));
  if (pads.size() == 4 && (pads[0] != pads[2] || pads[1] != pads[3])) {
    const std::vector<int64_t> flat{pads[1], pads[3], pads[0], pads[2]};
    x = b.emit1("aten::constant_pad_nd", {x, b.constant(flat), b.constant(int64_t{0})});
    pads.assign(4, 0);
  }
  const ItemPtr bias = c.optional_input(3), mask = c.optional_input(4);
  Value* zero = b.emit1("aten::new_zeros", {x, b.constant(std::vector<int64_t>{0})});
  Value* no_bias =
      bias ? b.tensor(bias)
           : b.emit1("aten::new_zeros",
                     {x, b.insert1("prim::ListConstruct",
                                   {b.emit1("aten::size.int", {w, b.constant(int64_t{0})})},
                                   jit::Type::list(jit::Type::integer()))});
  Value* y = b.emit1("torchvision::deform_conv2d",
                     {x, w, offset, mask ? b.tensor(mask) : zero, no_bias, pair("strides", 1, 0),
                      pair("strides", 1, 1), b.constant(pads.size() > 0 ? pads[0] : 0),
                      b.constant(pads.size() > 1 ? pads[1] : 0), pair("dilations", 1, 0),
                      pair("dilations", 1, 1), b.constant(c.integer("group", 1)),
                      b.constant(c.integer("offset_group", 1)), b.constant(mask != nullptr)});
  return {Builder::item(y, c.input(0)->dtype)};
}

// As torchvision pools regions: bins of pixels, at least one pixel for a region.
std::vector<ItemPtr> translate_max_roi_pool(Builder& b, Call& c) {
  const std::vector<int64_t> bins = c.integers("pooled_shape");
  TENON_CHECK(bins.size() == 2, ValueError, "pooled_shape must have two sizes");
  const std::vector<Value*> made =
      b.emit("torchvision::roi_pool",
             {b.tensor(c.input(0)), b.tensor(c.input(1)), b.constant(c.real("spatial_scale", 1.0)),
              b.constant(bins[0]), b.constant(bins[1])});
  return {Builder::item(made.at(0), c.input(0)->dtype)};
}

constexpr Gives kSame = Gives::Same;
const Entry kImage[] = {
    {"Resize", 11, 0, kSame},
    {"Resize", 10, 10, kSame, "Resize_10"},
    {"Upsample", 9, 10, kSame, "Resize_10"},
    {"Upsample", 7, 8, kSame, "Upsample_8"},
    {"GridSample", 16, 0, kSame},
    {"AffineGrid", 20, 0, kSame},
    {"Col2Im", 18, 0, kSame},
    {"RoiAlign", 16, 0, kSame},
    {"RoiAlign", 10, 15, kSame, "RoiAlign_10"},
    {"MaxRoiPool", 1, 0, kSame, nullptr, translate_max_roi_pool},
    {"NonMaxSuppression", 10, 0, Gives::Long},
    {"DeformConv", 19, 0, kSame, nullptr, translate_deform_conv},
};
const Entries kRegistered("", kImage, std::size(kImage));

}  // namespace
}  // namespace tenon::onnx
