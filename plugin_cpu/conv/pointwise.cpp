// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// float32 convolutions with one tap: the product of the weights [filters, channels] and an image
// [channels, pixels]. With a stride the pixels that count are copied first.
#include "plugin_cpu/conv/conv.h"
#include "plugin_cpu/gemm/gemm.h"
#include "plugin_cpu/memory/buffer.h"

namespace tenon::cpu {
namespace {

// The pixels of an image that the outputs are computed from.
void pick_pixels(const Conv& c, const float* x, float* to) {
  const int64_t plane = c.out_plane();
  sdk::parallel_for(
      c.channels, std::max<int64_t>(1, 16384 / plane), [&](int64_t begin, int64_t end) {
        for (int64_t channel = begin; channel < end; ++channel) {
          float* out = to + channel * plane;
          for (int64_t d = 0; d < c.out[0]; ++d) {
            for (int64_t h = 0; h < c.out[1]; ++h, out += c.out[2]) {
              const float* line = x + channel * c.in_plane() +
                                  (d * c.stride[0] * c.in[1] + h * c.stride[1]) * c.in[2];
              for (int64_t i = 0; i < c.out[2]; ++i) out[i] = line[i * c.stride[2]];
            }
          }
        }
      });
}

struct Pixels;

}  // namespace

bool conv_forward_pointwise(const Conv& c, const float* x, const float* w,
                            const packed::Origin& from, const Finish& finish) {
  if (!c.pointwise()) return false;
  const int64_t plane = c.out_plane(), filters = c.filters, channels = c.channels;
  const bool plain = c.plain();
  if (plain && plane == 1) {  // images are the rows of one product
    const Finish rows{finish.epilogue, nullptr, finish.row_bias, finish.other, finish.y, filters};
    gemm(c.batch, filters, channels, 1.0f, Mat<const float>{x, channels, 1},
         Mat<const float>{w, 1, channels}, 0.0f, Mat<float>{rows.y, filters, 1}, from, {}, &rows);
    return true;
  }
  each_product(c.batch, c.work(), [&](int64_t begin, int64_t end) {
    const CallBuffer<Pixels> picked(plain ? 0 : channels * plane * 4);
    for (int64_t n = begin; n < end; ++n) {
      const float* image = x + n * channels * c.in_plane();
      if (!plain) {
        pick_pixels(c, image, picked.as<float>());
        image = picked.as<float>();
      }
      const Finish f = finish.from(n * filters * plane);
      gemm(filters, plane, channels, 1.0f, Mat<const float>{w, channels, 1},
           Mat<const float>{image, plane, 1}, 0.0f, Mat<float>{f.y, plane, 1}, {}, {}, &f);
    }
  });
  return true;
}

}  // namespace tenon::cpu
