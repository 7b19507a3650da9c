// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// im2col, and col2im: a pixel is the sum over the taps that reach it, in their order.
#include "plugin_cuda/device/launch.cuh"
#include "plugin_cuda/device/volume.cuh"
#include "tenon/sdk/ops/col2im.h"
#include "tenon/sdk/ops/im2col.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

struct Axis {
  int32_t in, out, kernel, dilation, pad, stride;
  Divider by_stride;
};

// The image [N, C, 1, height, width], and its columns [N, C, taps, positions] with tap and position
// split in two.
struct Unfolding {
  Axis height, width;
  Volume image;
  Extents extents;  // of the loop: [N, C * taps, 1, positions] or the image
  Divider by_taps, by_width;
  char* columns;
  int64_t batch, row, column;  // strides of the columns in bytes

  TN_DEVICE int32_t taps() const { return height.kernel * width.kernel; }
};

template <class U>
__global__ void unfold(Unfolding f) {
  for (int64_t i = global_thread(); i < f.extents.numel; i += global_threads()) {
    const Place at = f.extents.place(i);
    const uint32_t row = static_cast<uint32_t>(at.at[1]), c = f.by_taps.divide(row),
                   tap = row - c * f.by_taps.divisor;
    const uint32_t kh = f.by_width.divide(tap), kw = tap - kh * f.by_width.divisor;
    const int32_t h =
        at.at[3] * f.height.stride - f.height.pad + static_cast<int32_t>(kh) * f.height.dilation;
    const int32_t w =
        at.at[4] * f.width.stride - f.width.pad + static_cast<int32_t>(kw) * f.width.dilation;
    const bool inside = h >= 0 && h < f.height.in && w >= 0 && w < f.width.in;
    const Place pixel{{at.at[0], static_cast<int32_t>(c), 0, h, w}};
    const int64_t position = static_cast<int64_t>(at.at[3]) * f.width.out + at.at[4];
    write(f.columns + at.at[0] * f.batch + at.at[1] * f.row + position * f.column,
          inside ? read<U>(f.image.element(pixel)) : U(0));
  }
}

// The output whose tap k lies on pixel x; -1: none.
TN_DEVICE int32_t output_over(const Axis& a, int32_t x, int32_t k) {
  const int32_t at = x + a.pad - k * a.dilation;
  if (at < 0) return -1;
  const int32_t o = static_cast<int32_t>(a.by_stride.divide(static_cast<uint32_t>(at)));
  return o < a.out && o * a.stride == at ? o : -1;
}

template <class E>
__global__ void fold(Unfolding f, E elements) {
  for (int64_t i = global_thread(); i < f.extents.numel; i += global_threads()) {
    const Place at = f.extents.place(i);
    const char* image =
        f.columns + at.at[0] * f.batch + static_cast<int64_t>(at.at[1]) * f.taps() * f.row;
    typename E::C sum = 0;
    for (int32_t kh = 0; kh < f.height.kernel; ++kh) {
      const int32_t h = output_over(f.height, at.at[3], kh);
      if (h < 0) continue;
      for (int32_t kw = 0; kw < f.width.kernel; ++kw) {
        const int32_t w = output_over(f.width, at.at[4], kw);
        if (w < 0) continue;
        const int64_t position = static_cast<int64_t>(h) * f.width.out + w;
        sum += elements.get(image + (static_cast<int64_t>(kh) * f.width.kernel + kw) * f.row +
                            position * f.column);
      }
    }
    elements.put(f.image.element(at), sum);
  }
}

// False if 32-bit positions do not suffice.
bool axis_of(Axis* a, int64_t in, int64_t kernel, int64_t dilation, int64_t pad, int64_t stride) {
  const int64_t max = INT32_MAX / 4;
  if (in > max || kernel > max || dilation > max || pad > max || kernel * dilation > max)
    return false;
  const int64_t padded = in + 2 * pad;
  // Beyond the padded image there is one output.
  const int64_t step = stride > padded ? padded + 1 : stride;
  const int64_t out = (padded - (kernel - 1) * dilation - 1) / step + 1;
  *a = {static_cast<int32_t>(in),
        static_cast<int32_t>(out),
        static_cast<int32_t>(kernel),
        static_cast<int32_t>(dilation),
        static_cast<int32_t>(pad),
        static_cast<int32_t>(step),
        Divider(static_cast<uint32_t>(step))};
  return true;
}

bool unfolding_of(Unfolding* f, const Tensor& image, const Tensor& columns, Ints kernel,
                  Ints dilation, Ints pad, Ints stride) {
  const auto item = [](const Ints& v, int d) { return v[v.size() == 1 ? 0 : d]; };
  Axis* const axes[] = {&f->height, &f->width};
  for (int d = 0; d < 2; ++d) {
    if (!axis_of(axes[d], image.size(d - 2), item(kernel, d), item(dilation, d), item(pad, d),
                 item(stride, d)))
      return false;
  }
  const int64_t taps = int64_t{f->height.kernel} * f->width.kernel,
                bytes = item_size(image.dtype());
  if (!fits_volume(image) || columns.size(-2) > INT32_MAX / 4) return false;
  f->image = Volume(image, 2);
  f->by_taps = Divider(static_cast<uint32_t>(taps));
  f->by_width = Divider(static_cast<uint32_t>(f->width.kernel));
  f->columns = columns.data<char>();
  f->batch = columns.ndim() == 3 ? columns.stride(0) * bytes : 0;
  f->row = columns.stride(-2) * bytes;
  f->column = columns.stride(-1) * bytes;
  return true;
}

tn_status im2col(Call& call, Tensor out, Tensor self, Ints kernel, Ints dilation, Ints padding,
                 Ints stride) {
  if (out.numel() == 0) return TN_OK;
  Unfolding f{};
  if (!unfolding_of(&f, self, out, kernel, dilation, padding, stride)) return TN_DECLINED;
  const int64_t sizes[] = {out.ndim() == 3 ? out.size(0) : 1, out.size(-2), 1, f.height.out,
                           f.width.out};
  f.extents = Extents(sizes);
  dispatch_size(out.dtype(), [&](auto tag) {
    launch<unfold<tn_type(tag)>>(call, shape_for(call, f.extents.numel, 256, 2), f);
  });
  return TN_OK;
}

tn_status col2im(Call& call, Tensor out, Tensor self, Ints, Ints kernel, Ints dilation,
                 Ints padding, Ints stride) {
  if (out.numel() == 0) return TN_OK;
  Unfolding f{};
  if (!unfolding_of(&f, out, self, kernel, dilation, padding, stride)) return TN_DECLINED;
  f.extents = Extents(out, 2);
  with_elements(out.dtype(), [&](auto elements) {
    launch<fold<decltype(elements)>>(call, shape_for(call, f.extents.numel), f, elements);
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(im2col, im2col, dtypes("all").any_strides().capture_safe());
TN_KERNEL(col2im, col2im, dtypes("number").any_strides().capture_safe());

}  // namespace tenon::cuda
