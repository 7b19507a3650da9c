// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// float32 and bfloat16 convolutions by oneDNN, in chunks of whole images, forward ones of few
// images in parts (onednn_parts.cpp). The chunks depend on the shape alone: on one thread and on
// two the bits are the same. Gradients of weights are summed over the chunks in their order.
#include <algorithm>
#include <cstring>

#include "plugin_cpu/conv/onednn_primitive.h"
#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/onednn/onednn.h"

namespace tenon::cpu {
namespace {

namespace dn = onednn;
using Desc = dnnl::memory::desc;
using Type = dnnl::memory::data_type;

// At least 2 million multiply-adds per chunk, at most 16 chunks.
int64_t images_per_chunk(const Conv& c) {
  const int64_t enough = (2'000'000 + c.work() - 1) / std::max<int64_t>(1, c.work());
  return std::min(c.batch, std::max((c.batch + 15) / 16, enough));
}

// Forward and backward by data: the same loop, with the other side as output.
void walk_images(Direction direction, sdk::DType t, const Conv& c, const void* x, const void* w,
                 const packed::Origin& from, const void* bias, const void* y) {
  const Type type = dn::data_type(t.code, t.bits);
  const int64_t chunk = images_per_chunk(c), chunks = (c.batch + chunk - 1) / chunk;
  ConvPrimitive& first = conv_primitive(direction, type, c, chunk, bias != nullptr);
  const ConvWeights weights(first, w, from, conv_key(direction, type, c, chunk, bias != nullptr));
  const Desc layout = first.w;
  const int64_t item = sdk::item_size(t);
  const int64_t x_image = c.channels * c.in_plane() * item,
                y_image = c.filters * c.out_plane() * item;
  sdk::parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      const int64_t at = q * chunk;
      ConvPrimitive& p =
          conv_primitive(direction, type, c, std::min(chunk, c.batch - at), bias != nullptr);
      Buffer other(dn::same(p.w, layout) ? 0 : bytes(p.w));
      const void* own = in_layout(layout, weights.of(0), p.w, other.as<>());
      execute(direction, p, static_cast<const char*>(x) + at * x_image, own, bias,
              static_cast<const char*>(y) + at * y_image);
    }
  });
}

// A case that oneDNN does not implement is not an error here: the caller falls back to Tenon's own
// kernel.
template <class F>
bool attempt(F&& f) {
  try {
    f();
    return true;
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_unimplemented || e.status == dnnl_invalid_arguments) return false;
    throw sdk::Error(TN_ERROR_BACKEND, "oneDNN: ", e.what());
  }
}

}  // namespace

bool conv_forward_onednn(sdk::DType t, const Conv& c, const void* x, const void* w,
                         const packed::Origin& from, const void* bias, void* y) {
  return attempt([&] {
    const Type type = dn::data_type(t.code, t.bits);
    const int64_t parts = conv_parts(c), row_parts = parts > 1 ? 1 : conv_row_parts(c);
    if (parts > 1)
      conv_forward_parts(type, c, parts, x, w, from, bias, y);
    else if (row_parts > 1)
      conv_forward_rows(type, c, row_parts, x, w, from, bias, y);
    else
      walk_images(kForward, t, c, x, w, from, bias, y);
  });
}

bool conv_backward_data_onednn(sdk::DType t, const Conv& c, const void* dy, const void* w,
                               const packed::Origin& from, void* dx) {
  return attempt([&] { walk_images(kData, t, c, dx, w, from, nullptr, dy); });
}

bool conv_backward_weights_onednn(sdk::DType t, const Conv& c, const void* x, const void* dy,
                                  float* dw) {
  return attempt([&] {
    const Type type = dn::data_type(t.code, t.bits);
    const int64_t chunk = images_per_chunk(c), chunks = (c.batch + chunk - 1) / chunk,
                  n = c.weights();
    const int64_t item = sdk::item_size(t);
    const int64_t x_image = c.channels * c.in_plane() * item,
                  y_image = c.filters * c.out_plane() * item;
    conv_primitive(kWeights, type, c, chunk);  // throws before anything is written
    Buffer parts(chunks > 1 ? chunks * n * 4 : 0);
    sdk::parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t q = begin; q < end; ++q) {
        const int64_t at = q * chunk;
        ConvPrimitive& p = conv_primitive(kWeights, type, c, std::min(chunk, c.batch - at));
        float* part = chunks > 1 ? parts.as<float>() + q * n : dw;
        Buffer blocked(dn::same(p.w, p.user_w) ? 0 : bytes(p.w));
        void* out = blocked.as<>() ? blocked.as<>() : part;
        execute(kWeights, p, static_cast<const char*>(x) + at * x_image, out, nullptr,
                static_cast<const char*>(dy) + at * y_image);
        if (out != part) dn::reorder(p.w, out, p.user_w, part);
      }
    });
    if (chunks == 1) return;
    sdk::parallel_for(n, 16384, [&](int64_t begin, int64_t end) {
      std::memcpy(dw + begin, parts.as<float>() + begin, static_cast<std::size_t>(end - begin) * 4);
      for (int64_t q = 1; q < chunks; ++q) {
        const float* part = parts.as<float>() + q * n;
        for (int64_t i = begin; i < end; ++i) dw[i] += part[i];
      }
    });
  });
}

}  // namespace tenon::cpu
