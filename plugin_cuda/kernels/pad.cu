// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reflection and replication padding; an element's gradient is the sum over the outputs that repeat
// it, in order.
#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "plugin_cuda/device/volume.cuh"
#include "tenon/sdk/ops/reflection_pad1d.h"
#include "tenon/sdk/ops/reflection_pad1d_backward.h"
#include "tenon/sdk/ops/reflection_pad2d.h"
#include "tenon/sdk/ops/reflection_pad2d_backward.h"
#include "tenon/sdk/ops/reflection_pad3d.h"
#include "tenon/sdk/ops/reflection_pad3d_backward.h"
#include "tenon/sdk/ops/replication_pad1d.h"
#include "tenon/sdk/ops/replication_pad1d_backward.h"
#include "tenon/sdk/ops/replication_pad2d.h"
#include "tenon/sdk/ops/replication_pad2d_backward.h"
#include "tenon/sdk/ops/replication_pad3d.h"
#include "tenon/sdk/ops/replication_pad3d_backward.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

template <bool kReflect>
struct Axis {
  int32_t in = 1, out = 1, before = 0;

  // The element that output o repeats.
  TN_DEVICE int32_t source(int32_t o) const {
    const int32_t i = o - before;
    if (i < 0) return kReflect ? -i : 0;
    if (i >= in) return kReflect ? 2 * (in - 1) - i : in - 1;
    return i;
  }
  // Candidates for outputs that repeat element x, in order; some may lie outside of [0, out).
  TN_DEVICE int32_t first(int32_t x) const {
    if (kReflect) return x > 0 ? before - x : before;
    return x > 0 || before < 0 ? x + before : 0;
  }
  TN_DEVICE int32_t next(int32_t x, int32_t o) const {
    const int32_t plain = x + before, mirrored = 2 * (in - 1) - x + before;
    if (kReflect) return o < plain ? plain : o < mirrored ? mirrored : out;
    return o < plain || x == in - 1 ? o + 1 : out;
  }
  TN_DEVICE bool has(int32_t o) const { return o >= 0 && o < out; }
};

template <bool kReflect>
struct Padding {
  Axis<kReflect> axis[3];
  Volume in, out;
  Extents extents;  // of the loop: the outputs, or for gradients the inputs
};

template <class U, bool kReflect>
__global__ void repeat(Padding<kReflect> p) {
  for (int64_t i = global_thread(); i < p.extents.numel; i += global_threads()) {
    const Place o = p.extents.place(i);
    Place x = o;
    for (int d = 0; d < 3; ++d) x.at[d + 2] = p.axis[d].source(o.at[d + 2]);
    write(p.out.element(o), read<U>(p.in.element(x)));
  }
}

template <class E, bool kReflect>
__global__ void gather(Padding<kReflect> p, E elements) {
  const Axis<kReflect>&depth = p.axis[0], &height = p.axis[1], &width = p.axis[2];
  for (int64_t i = global_thread(); i < p.extents.numel; i += global_threads()) {
    const Place x = p.extents.place(i);
    const char* plane = p.out.plane(x);
    typename E::C sum = 0;
    for (int32_t d = depth.first(x.at[2]); d < depth.out; d = depth.next(x.at[2], d)) {
      if (!depth.has(d)) continue;
      for (int32_t h = height.first(x.at[3]); h < height.out; h = height.next(x.at[3], h)) {
        if (!height.has(h)) continue;
        const char* line = plane + d * p.out.stride[2] + h * p.out.stride[3];
        for (int32_t w = width.first(x.at[4]); w < width.out; w = width.next(x.at[4], w)) {
          if (width.has(w)) sum += elements.get(line + w * p.out.stride[4]);
        }
      }
    }
    elements.put(p.in.element(x), sum);
  }
}

template <bool kReflect>
Padding<kReflect> padding_of(const Tensor& in, const Tensor& out, const Ints& pad,
                             const Tensor& loop) {
  const int nd = static_cast<int>(pad.size()) / 2;
  Padding<kReflect> p{{}, Volume(in, nd), Volume(out, nd), Extents(loop, nd)};
  for (int k = 0; k < nd; ++k) {
    p.axis[2 - k] = {static_cast<int32_t>(in.size(-1 - k)), static_cast<int32_t>(out.size(-1 - k)),
                     static_cast<int32_t>(pad[2 * k])};
  }
  return p;
}

bool fits(const Tensor& in, const Tensor& out, const Ints& pad) {
  for (int64_t p : pad) {
    if (p > INT32_MAX / 4 || p < -(INT32_MAX / 4)) return false;
  }
  return fits_volume(in) && fits_volume(out);
}

template <bool kReflect>
tn_status pad(Call& call, Tensor out, Tensor self, Ints padding) {
  if (out.numel() == 0) return TN_OK;
  if (!fits(self, out, padding)) return TN_DECLINED;
  const auto p = padding_of<kReflect>(self, out, padding, out);
  dispatch_size(out.dtype(), [&](auto tag) {
    launch<repeat<tn_type(tag), kReflect>>(call, shape_for(call, p.extents.numel, 256, 2), p);
  });
  return TN_OK;
}

template <bool kReflect>
tn_status pad_backward(Call& call, Tensor out, Tensor grad, Tensor, Ints padding) {
  if (grad.numel() == 0) fill_elements(call, out, 0);
  if (grad.numel() == 0 || out.numel() == 0) return TN_OK;
  if (!fits(out, grad, padding)) return TN_DECLINED;
  const auto p = padding_of<kReflect>(out, grad, padding, out);
  dispatch_floating(out.dtype(), [&](auto tag) {
    using E = FloatElements<tn_type(tag)>;
    launch<gather<E, kReflect>>(call, shape_for(call, p.extents.numel), p, E());
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(reflection_pad1d, pad<true>, dtypes("all").any_strides().capture_safe());
TN_KERNEL(reflection_pad2d, pad<true>, dtypes("all").any_strides().capture_safe());
TN_KERNEL(reflection_pad3d, pad<true>, dtypes("all").any_strides().capture_safe());
TN_KERNEL(reflection_pad1d_backward, pad_backward<true>,
          dtypes("floating").any_strides().capture_safe());
TN_KERNEL(reflection_pad2d_backward, pad_backward<true>,
          dtypes("floating").any_strides().capture_safe());
TN_KERNEL(reflection_pad3d_backward, pad_backward<true>,
          dtypes("floating").any_strides().capture_safe());
TN_KERNEL(replication_pad1d, pad<false>, dtypes("all").any_strides().capture_safe());
TN_KERNEL(replication_pad2d, pad<false>, dtypes("all").any_strides().capture_safe());
TN_KERNEL(replication_pad3d, pad<false>, dtypes("all").any_strides().capture_safe());
TN_KERNEL(replication_pad1d_backward, pad_backward<false>,
          dtypes("floating").any_strides().capture_safe());
TN_KERNEL(replication_pad2d_backward, pad_backward<false>,
          dtypes("floating").any_strides().capture_safe());
TN_KERNEL(replication_pad3d_backward, pad_backward<false>,
          dtypes("floating").any_strides().capture_safe());

}  // namespace tenon::cuda
