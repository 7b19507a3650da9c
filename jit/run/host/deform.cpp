// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// torchvision's deformable convolution: each weight looks at a pixel moved by an offset of its own.
#include <array>

#include "jit/run/unboxed.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

struct Window {
  int64_t kernel, stride, pad, dilation, size, out;
};

// Where the weights of each output look without offsets: [kernel, out] in one direction.
Tensor positions(const Window& w, const Tensor& like) {
  const TensorOptions options = like.options().requires_grad(false);
  const Tensor inside = tenon::arange(w.kernel, options) * w.dilation,
               begins = tenon::arange(w.out, options) * w.stride - w.pad;
  return inside.unsqueeze(1) + begins.unsqueeze(0);
}

// Images [n, channels, height, width] at y, x [n, points], interpolated; zero outside.
Tensor sample(const Tensor& images, const Tensor& y, const Tensor& x) {
  const int64_t n = images.size(0), channels = images.size(1), height = images.size(2),
                width = images.size(3), points = y.size(1);
  const Tensor flat = images.reshape({n, channels, height * width});
  const Tensor top = y.detach().floor(), left = x.detach().floor();
  const Tensor down = y - top, right = x - left;
  Tensor sum;
  for (const int corner : {0, 1, 2, 3}) {
    const Tensor row = top + corner / 2, column = left + corner % 2;
    const Tensor inside = row.ge(0) * row.lt(height) * column.ge(0) * column.lt(width);
    const Tensor index = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).to(kLong);
    const Tensor share = (corner / 2 ? down : 1 - down) * (corner % 2 ? right : 1 - right) * inside;
    const Tensor part =
        flat.gather(2, index.unsqueeze(1).expand({n, channels, points})) * share.unsqueeze(1);
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

int64_t outputs(const Window& w) {
  return (w.size + 2 * w.pad - (w.dilation * (w.kernel - 1) + 1)) / w.stride + 1;
}

// What deform_conv2d takes of each image for each weight: [batch, channels * kernel, outputs].
Tensor columns(const Tensor& input, const Tensor& offset, const std::optional<Tensor>& mask,
               const Window& h, const Window& w, int64_t groups) {
  const int64_t batch = input.size(0), channels = input.size(1), taps = h.kernel * w.kernel,
                n = batch * groups, points = taps * h.out * w.out;
  const Tensor moved = offset.reshape({n, h.kernel, w.kernel, 2, h.out, w.out});
  const Tensor y = moved.select(3, 0) + positions(h, input).reshape({1, h.kernel, 1, h.out, 1}),
               x = moved.select(3, 1) + positions(w, input).reshape({1, 1, w.kernel, 1, w.out});
  Tensor taken = sample(input.reshape({n, channels / groups, h.size, w.size}),
                        y.reshape({n, points}), x.reshape({n, points}));
  if (mask) taken = taken * mask->reshape({n, 1, points});
  return taken.reshape({batch, channels * taps, h.out * w.out});
}

Tensor deform_conv2d(const Tensor& input, const Tensor& weight, const Tensor& offset,
                     const Tensor& mask, const Tensor& bias, int64_t stride_h, int64_t stride_w,
                     int64_t pad_h, int64_t pad_w, int64_t dilation_h, int64_t dilation_w,
                     int64_t groups, int64_t offset_groups, bool use_mask) {
  TENON_CHECK(input.dim() == 4 && weight.dim() == 4, ValueError,
              "deform_conv2d: expected an input and a weight of 4 dimensions, got ", input.sizes(),
              " and ", weight.sizes());
  TENON_CHECK(
      stride_h > 0 && stride_w > 0 && dilation_h > 0 && dilation_w > 0 && pad_h >= 0 && pad_w >= 0,
      ValueError,
      "deform_conv2d: stride and dilation must be positive, padding must not "
      "be negative");
  const int64_t channels = input.size(1);
  TENON_CHECK(groups > 0 && offset_groups > 0 && channels % offset_groups == 0 &&
                  weight.size(0) % groups == 0 && weight.size(1) * groups == channels,
              ValueError, "deform_conv2d: ", channels, " channels, ", groups, " groups and ",
              offset_groups, " groups of offsets do not fit a weight ", weight.sizes());
  Window h{weight.size(2), stride_h, pad_h, dilation_h, input.size(2), 0},
      w{weight.size(3), stride_w, pad_w, dilation_w, input.size(3), 0};
  h.out = outputs(h), w.out = outputs(w);
  const int64_t taps = h.kernel * w.kernel, batch = input.size(0);
  const std::array<int64_t, 4> offsets{batch, 2 * offset_groups * taps, h.out, w.out},
      masks{batch, offset_groups * taps, h.out, w.out};
  TENON_CHECK(h.out > 0 && w.out > 0 && offset.sizes() == IntArrayRef(offsets), ValueError,
              "deform_conv2d: expected offsets of shape ", IntArrayRef(offsets), ", got ",
              offset.sizes());
  TENON_CHECK(!use_mask || mask.sizes() == IntArrayRef(masks), ValueError,
              "deform_conv2d: expected a mask of shape ", IntArrayRef(masks), ", got ",
              mask.sizes());
  const Tensor taken = columns(input, offset, use_mask ? std::optional<Tensor>(mask) : std::nullopt,
                               h, w, offset_groups)
                           .reshape({batch, groups, channels / groups * taps, h.out * w.out});
  const Tensor weights = weight.reshape({groups, weight.size(0) / groups, -1});
  return tenon::matmul(weights, taken).reshape({batch, weight.size(0), h.out, w.out}) +
         bias.reshape({1, -1, 1, 1});
}

const HostOperator list[] = {
    {"torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor "
     "bias, int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int "
     "groups, int offset_groups, bool use_mask) -> Tensor",
     unboxed<deform_conv2d>},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
