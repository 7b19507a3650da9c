// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft on images and lists.
#include "onnx/import/builder.h"

namespace tenon::onnx {
namespace {

// CropAndResize: boxes are in parts of the image, y1, x1, y2, x2, and their corners are in the
// middle of the first and the last element.
const Texts kTexts(R"py(
def NhwcMaxPool(x: Tensor, *, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Optional[List[int]] = None, kernel_shape: List[int], pads: Optional[List[int]] = None, strides: Optional[List[int]] = None) -> Tensor:
  y, at = MaxPool(x.movedim(-1, 1), auto_pad=auto_pad, ceil_mode=ceil_mode, dilations=dilations, kernel_shape=kernel_shape, pads=pads, strides=strides, n_outputs=1)
  return y.movedim(1, -1)
def Unique_contrib(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
  y, first, inverse, counts = Unique(x, sorted=0)
  return y, inverse, counts
def _crop_places(begin: Tensor, end: Tensor, out: int, n: int) -> Tensor:
  if out == 1:
    return (0.5 * (begin + end) * (n - 1)).unsqueeze(1)
  i = torch.arange(out, device=begin.device).to(begin.dtype)
  return begin.unsqueeze(1) * (n - 1) + i * ((end - begin) * (n - 1) / (out - 1)).unsqueeze(1)
def _crop_part(x: Tensor, of: Tensor, y: Tensor, x_at: Tensor) -> Tensor:
  h, w = x.size(2), x.size(3)
  i = torch.clamp(y, 0, h - 1).to(torch.int64).unsqueeze(2)
  j = torch.clamp(x_at, 0, w - 1).to(torch.int64).unsqueeze(1)
  flat = x.index_select(0, of).flatten(2)
  at = (i * w + j).reshape([of.size(0), 1, -1]).expand([-1, x.size(1), -1])
  return flat.gather(2, at).reshape([of.size(0), x.size(1), y.size(1), x_at.size(1)])
def CropAndResize(x: Tensor, rois: Tensor, of: Tensor, size: List[int], *, mode: str = "bilinear", extrapolation_value: float = 0.0) -> Tensor:
  n = of.to(torch.int64)
  r = rois.to(torch.float32)
  y = _crop_places(r.select(1, 0), r.select(1, 2), size[0], x.size(2))
  z = _crop_places(r.select(1, 1), r.select(1, 3), size[1], x.size(3))
  if mode == "nearest":
    out = _crop_part(x, n, torch.floor(y + 0.5), torch.floor(z + 0.5))
  else:
    assert mode == "bilinear", "mode is '{}'".format(mode)
    top, left, bottom, right = torch.floor(y), torch.floor(z), torch.ceil(y), torch.ceil(z)
    a, b = (y - top).unsqueeze(1).unsqueeze(3), (z - left).unsqueeze(1).unsqueeze(2)
    above = _crop_part(x, n, top, left) * (1 - b) + _crop_part(x, n, top, right) * b
    below = _crop_part(x, n, bottom, left) * (1 - b) + _crop_part(x, n, bottom, right) * b
    out = above * (1 - a) + below * a
  rows, columns = (y >= 0) & (y <= x.size(2) - 1), (z >= 0) & (z <= x.size(3) - 1)
  inside = (rows.unsqueeze(2) & columns.unsqueeze(1)).unsqueeze(1)
  return torch.where(inside, out, torch.full_like(out, extrapolation_value)).to(x.dtype)
)py");

const Entry kVision[] = {
    {"NhwcMaxPool", 1, 0, Gives::Same},
    {"Unique", 1, 0, Gives::Same, "Unique_contrib"},
    {"CropAndResize", 1, 0, Gives::Same},
};
const Entries kRegistered("com.microsoft", kVision, std::size(kVision));

}  // namespace
}  // namespace tenon::onnx
