// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The windows of images as columns, and back.
#include "sums.h"
#include "tenon/sdk/ops/col2im.h"
#include "tenon/sdk/ops/im2col.h"

namespace {

using namespace tenon::ref;

int64_t of(Ints list, int64_t d) { return list[list.size() == 1 ? 0 : d]; }

struct Windows {
  Ints kernel, dilation, padding, stride;

  // f(position in the columns, position in the image) for each tap that lies inside. `lead`: 1 with
  // a batch.
  template <class F>
  void each_tap(Ints columns, Ints image, F f) const {
    const int64_t lead = image.size() - 3, across = positions(1, image[lead + 2]);
    each(columns, [&](const Index& c) {
      const int64_t row = c[at(lead)], place = c[at(lead + 1)];
      const int64_t tap[] = {row / of(kernel, 1) % of(kernel, 0), row % of(kernel, 1)};
      const int64_t window[] = {place / across, place % across};
      Index i(c.begin(), c.begin() + lead);
      i.push_back(row / (of(kernel, 0) * of(kernel, 1)));
      for (int64_t d = 0; d < 2; ++d) {
        i.push_back(window[d] * of(stride, d) - of(padding, d) + tap[d] * of(dilation, d));
        if (i.back() < 0 || i.back() >= image[lead + 1 + d]) return;
      }
      f(c, i);
    });
  }
  int64_t positions(int64_t d, int64_t size) const {
    return (size + 2 * of(padding, d) - of(dilation, d) * (of(kernel, d) - 1) - 1) / of(stride, d) +
           1;
  }
};

tn_status im2col(Call&, Tensor out, Tensor self, Ints kernel, Ints dilation, Ints padding,
                 Ints stride) {
  each(out.sizes(), [&](const Index& c) { put(out, c, 0); });
  Windows{kernel, dilation, padding, stride}.each_tap(
      out.sizes(), self.sizes(),
      [&](const Index& c, const Index& i) { put(out, c, get(self, i)); });
  return TN_OK;
}

tn_status col2im(Call&, Tensor out, Tensor self, Ints, Ints kernel, Ints dilation, Ints padding,
                 Ints stride) {
  Sums sums(out.sizes());
  Windows{kernel, dilation, padding, stride}.each_tap(
      self.sizes(), out.sizes(), [&](const Index& c, const Index& i) { sums[i] += get(self, c); });
  sums.store(out);
  return TN_OK;
}

}  // namespace

TN_KERNEL(im2col, im2col, any_strides());
TN_KERNEL(col2im, col2im, dtypes("number").any_strides());
