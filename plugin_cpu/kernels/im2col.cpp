// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Overwritten: the output. Sums of col2im run over the taps in order; 16-bit floats are summed in
// float.
#include "tenon/sdk/ops/im2col.h"
#include "tenon/sdk/ops/col2im.h"

#include <vector>

#include "plugin_cpu/conv/unfold.h"

namespace {

using namespace tenon::sdk;
using tenon::cpu::Conv;

Conv geometry(Tensor image, Ints kernel, Ints dilation, Ints padding, Ints stride) {
  Conv c{};
  c.batch = image.ndim() == 4 ? image.size(0) : 1;
  c.channels = image.size(-3);
  c.filters = c.groups = 1;
  for (int i = 0; i < 3; ++i) {
    const auto item = [&](Ints v, int64_t none) {
      return i == 0 ? none : v[v.size() == 1 ? 0 : i - 1];
    };
    c.in[i] = i == 0 ? 1 : image.size(i - 3);
    c.kernel[i] = item(kernel, 1);
    c.dilation[i] = item(dilation, 1);
    c.pad[i] = item(padding, 0);
    c.stride[i] = item(stride, 1);
    c.out[i] = (c.in[i] + 2 * c.pad[i] - (c.kernel[i] - 1) * c.dilation[i] - 1) / c.stride[i] + 1;
  }
  return c;
}

tn_status im2col(Call&, Tensor out, Tensor self, Ints kernel, Ints dilation, Ints padding,
                 Ints stride) {
  if (out.numel() == 0) return TN_OK;
  const Conv c = geometry(self, kernel, dilation, padding, stride);
  const int64_t image = c.channels * c.in_plane(), columns = c.channels * c.taps() * c.out_plane();
  dispatch_any_size(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    parallel_for(c.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        tenon::cpu::unfold_into(c, c.channels, self.data<T>() + n * image,
                                out.data<T>() + n * columns);
      }
    });
  });
  return TN_OK;
}

template <class T>
void fold(const Conv& c, const T* columns, T* image) {
  if constexpr (!is_half_v<T>) {
    tenon::cpu::fold_into(c, c.channels, columns, image);
  } else {
    const int64_t n = c.channels * c.taps() * c.out_plane(), m = c.channels * c.in_plane();
    std::vector<float> wide(columns, columns + n), sum(static_cast<std::size_t>(m));
    tenon::cpu::fold_into(c, c.channels, wide.data(), sum.data());
    std::transform(sum.begin(), sum.end(), image, [](float v) { return T(v); });
  }
}

tn_status col2im(Call&, Tensor out, Tensor self, Ints, Ints kernel, Ints dilation, Ints padding,
                 Ints stride) {
  if (out.numel() == 0) return TN_OK;
  const Conv c = geometry(out, kernel, dilation, padding, stride);
  const int64_t image = c.channels * c.in_plane(), columns = c.channels * c.taps() * c.out_plane();
  dispatch_number(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    parallel_for(c.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        fold<T>(c, self.data<T>() + n * columns, out.data<T>() + n * image);
    });
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(im2col, im2col, dtypes("all"));
TN_KERNEL(col2im, col2im, dtypes("number"));
