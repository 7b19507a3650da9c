// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions of few images, in parts of the filters or of the groups, and of one image with few
// filters in parts of its rows. The parts depend on the shape alone: on one thread and on two the
// bits are the same.
#include <algorithm>

#include "plugin_cpu/conv/onednn_primitive.h"
#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/onednn/onednn.h"

namespace tenon::cpu {
namespace {

namespace dn = onednn;
using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

Conv part_of(Conv c, int64_t parts) {
  c.filters /= parts;
  if (c.groups > 1) c.groups /= parts, c.channels /= parts;
  return c;
}

// The channels that lie together in a blocked layout; 0 for other layouts.
int64_t channel_block(const Desc& d, const Dims& dims, Type type) {
  const bool volume = dims.size() == 5;
  if (d == Desc(dims, type, volume ? Tag::aBcde16b : Tag::aBcd16b)) return 16;
  if (d == Desc(dims, type, volume ? Tag::aBcde8b : Tag::aBcd8b)) return 8;
  return 0;
}

// Images in the layout of the primitive, which all parts read. Blocks of channels are contiguous in
// both layouts, so that threads share the work.
void reorder_images(const ConvPrimitive& p, Type type, const Conv& c, const char* x, char* to) {
  const Dims dims = image_dims(c, c.channels);
  const int64_t block = channel_block(p.x, dims, type), plane = c.in_plane(),
                item = bytes(p.user_x) / (c.channels * plane), whole = bytes(p.x);
  const int64_t step = block ? std::max(block, 65536 / plane / block * block) : c.channels,
                slabs = (c.channels + step - 1) / step;
  sdk::parallel_for(c.batch * slabs, 1, [&](int64_t begin, int64_t end) {
    dn::engine();  // prepares the thread
    for (int64_t q = begin; q < end; ++q) {
      const int64_t first = q % slabs * step, count = std::min(step, c.channels - first);
      const char* from = x + (q / slabs * c.channels + first) * plane * item;
      char* slab = to + q / slabs * whole + first * plane * item;
      if (slabs == 1) {
        dn::reorder(p.user_x, from, p.x, slab);
        continue;
      }
      const bool volume = dims.size() == 5;
      const Tag blocked = block == 16 ? (volume ? Tag::aBcde16b : Tag::aBcd16b)
                                      : (volume ? Tag::aBcde8b : Tag::aBcd8b);
      const Dims part = image_dims(c, count);
      dn::reorder(Desc(part, type, volume ? Tag::abcde : Tag::abcd), from,
                  Desc(part, type, blocked), slab);
    }
  });
}

}  // namespace

int64_t conv_parts(const Conv& c) {
  constexpr int64_t kEnough = 2'000'000, kMaxParts = 8, kLanes = 16;
  const int64_t each = c.groups > 1 ? c.filters / c.groups : 1,  // filters that stay together
      most = std::min({kMaxParts, 16 / c.batch, c.work() / kEnough});
  for (int64_t parts = most; parts > 1; --parts) {
    const int64_t filters = c.filters / parts;
    if (c.filters % parts == 0 && filters % kLanes == 0 && filters % each == 0) return parts;
  }
  return 1;
}

void conv_forward_parts(Type type, const Conv& c, int64_t parts, const void* x, const void* w,
                        const packed::Origin& from, const void* bias, void* y) {
  struct Images;
  const Conv part = part_of(c, parts);
  ConvPrimitive& first = conv_primitive(kForward, type, part, 1, bias != nullptr);
  const ConvWeights weights(first, w, from, conv_key(kForward, type, part, 1, bias != nullptr),
                            parts);
  const bool shared = c.groups == 1 && !dn::same(first.x, first.user_x);
  const int64_t item = bytes(first.user_y) / (part.filters * c.out_plane());
  int64_t x_image = c.channels * c.in_plane() * item, x_part = c.groups > 1 ? x_image / parts : 0,
          y_part = bytes(first.user_y);
  const char* in = static_cast<const char*>(x);
  if (shared) {
    x_image = bytes(first.x);
    char* made = static_cast<char*>(ThreadBuffer<Images>::get(c.batch * x_image));
    reorder_images(first, type, c, in, made);
    in = made;
  }
  sdk::parallel_for(c.batch * parts, 1, [&](int64_t begin, int64_t end) {
    ConvPrimitive& p = conv_primitive(kForward, type, part, 1, bias != nullptr);
    for (int64_t q = begin; q < end; ++q) {
      const int64_t i = q % parts;
      const char* b = static_cast<const char*>(bias);
      execute(kForward, p, in + q / parts * x_image + i * x_part, weights.of(i),
              b ? b + i * part.filters * item : nullptr, static_cast<char*>(y) + q * y_part,
              shared);
    }
  });
}

namespace {

// Rows [begin, end) of the output, and the first row of the image that they need.
struct Rows {
  Conv conv;
  int64_t begin, from;
};

Rows rows_of(const Conv& c, int64_t begin, int64_t end) {
  Rows r{c, begin, 0};
  const int64_t first = begin * c.stride[1] - c.pad[1],
                last = (end - 1) * c.stride[1] - c.pad[1] + (c.kernel[1] - 1) * c.dilation[1];
  r.from = std::max<int64_t>(0, first);
  r.conv.in[1] = std::min(c.in[1], last + 1) - r.from;
  r.conv.pad[1] = r.from - first;
  r.conv.out[1] = end - begin;
  return r;
}

// Some rows of an image whose planes lie `plane` elements apart.
Desc rows_desc(const Dims& d, Type type, int64_t plane) {
  return Desc(d, type, Dims{d[1] * plane, plane, d[3], 1});
}

}  // namespace

int64_t conv_row_parts(const Conv& c) {
  constexpr int64_t kEnough = 2'000'000, kMaxParts = 8;
  if (c.batch != 1 || c.in[0] != 1 || c.out[0] != 1 || c.kernel[0] != 1 || c.pad[0] != 0) return 1;
  // Rows that two parts need are few beside their own, and none has padding alone.
  const int64_t window = (c.kernel[1] - 1) * c.dilation[1] + 1,
                least = std::max({int64_t{4}, 2 * window, window + c.pad[1]});
  const int64_t most = std::min({kMaxParts, c.work() / kEnough, c.out[1] / least});
  return std::max<int64_t>(1, most / 2 * 2);  // even, for two threads
}

void conv_forward_rows(Type type, const Conv& c, int64_t parts, const void* x, const void* w,
                       const packed::Origin& from, const void* bias, void* y) {
  const int64_t each = (c.out[1] + parts - 1) / parts;
  const auto part = [&](int64_t q) {
    return rows_of(c, q * each, std::min(c.out[1], (q + 1) * each));
  };
  const Conv first = part(0).conv;
  const ConvPrimitive& model = conv_primitive(kForward, type, first, 1, bias != nullptr);
  const ConvWeights weights(model, w, from, conv_key(kForward, type, first, 1, bias != nullptr));
  const Desc layout = model.w;
  const int64_t item = bytes(model.user_w) / first.weights();
  sdk::parallel_for((c.out[1] + each - 1) / each, 1, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      const Rows r = part(q);
      ConvPrimitive p = conv_primitive(kForward, type, r.conv, 1, bias != nullptr);
      const ConvShape s = conv_shape(r.conv, 1);
      p.user_x = rows_desc(s.x, type, c.in_plane());
      p.user_y = rows_desc(s.y, type, c.out_plane());
      Buffer other(dn::same(p.w, layout) ? 0 : bytes(p.w));
      const void* own = in_layout(layout, weights.of(0), p.w, other.as<>());
      execute(kForward, p, static_cast<const char*>(x) + r.from * c.in[2] * item, own, bias,
              static_cast<char*>(y) + r.begin * c.out[2] * item);
    }
  });
}

}  // namespace tenon::cpu
