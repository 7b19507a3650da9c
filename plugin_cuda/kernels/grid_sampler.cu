// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// grid_sampler of images and volumes, and its gradients. Positions and weights are computed in
// double. A thread handles a position and some channels; the gradient of the input is summed by
// atomics, or, for deterministic results, with the neighbors of all positions sorted by their
// element.
#include <algorithm>

#include "plugin_cuda/device/copy.cuh"
#include "plugin_cuda/device/dense.cuh"
#include "plugin_cuda/device/order.cuh"
#include "plugin_cuda/device/volume.cuh"
#include "tenon/sdk/grid.h"
#include "tenon/sdk/ops/grid_sampler_2d.h"
#include "tenon/sdk/ops/grid_sampler_2d_backward.h"
#include "tenon/sdk/ops/grid_sampler_3d.h"
#include "tenon/sdk/ops/grid_sampler_3d_backward.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

struct Sampler {
  Volume input, samples;  // samples: the output or its gradient
  Extents extents;        // of the loop: [N, groups of channels, positions of the grid]
  int32_t size[3];        // of the input's spatial dimensions
  int32_t channels, group;
  char* grid;
  int64_t grid_stride[kVolumeDims];  // bytes; entry 1 is that of the coordinates
  GridRules rules;
};

// The neighbors of a position along each dimension.
template <int nd, int kTaps>
struct Neighbors {
  static constexpr int kCount = nd == 2 ? kTaps * kTaps : kTaps * kTaps * kTaps;
  GridTaps along[nd];

  // Which tap of dimension d neighbor k is; the last dimension's taps come first.
  static TN_DEVICE constexpr int tap(int k, int d) {
    for (int e = nd - 1; e > d; --e) k /= kTaps;
    return k % kTaps;
  }
  TN_DEVICE bool inside(int k) const {
    bool all = true;
    for (int d = 0; d < nd; ++d) all = all && along[d].index[tap(k, d)] >= 0;
    return all;
  }
  // As bytes in the plane of v.
  TN_DEVICE int64_t offset(int k, const Volume& v) const {
    int64_t at = 0;
    for (int d = 0; d < nd; ++d) at += along[d].index[tap(k, d)] * v.stride[first_spatial(nd) + d];
    return at;
  }
  TN_DEVICE double weight(int k) const {
    double w = 1;
    for (int d = 0; d < nd; ++d) w *= along[d].weight[tap(k, d)];
    return w;
  }
  // The derivative of the weight by the position along dimension e.
  TN_DEVICE double slope(int k, int e) const {
    double w = 1;
    for (int d = 0; d < nd; ++d)
      w *= d == e ? along[d].slope[tap(k, d)] : along[d].weight[tap(k, d)];
    return w;
  }
};

// The coordinates of a position run from the last dimension to the first.
template <class T, int nd, int kTaps>
TN_DEVICE Neighbors<nd, kTaps> find_neighbors(const Sampler& s, const Place& at) {
  Neighbors<nd, kTaps> n;
  const char* p = s.grid + at.at[0] * s.grid_stride[0];
  for (int k = 2; k < kVolumeDims; ++k) p += at.at[k] * s.grid_stride[k];
  GridRules rules = s.rules;
  rules.mode = kTaps == 1 ? 1 : kTaps == 2 ? 0 : 2;
  for (int d = 0; d < nd; ++d) {
    const double v =
        static_cast<double>(FloatElements<T>().get(p + (nd - 1 - d) * s.grid_stride[1]));
    n.along[d] = grid_taps(v, s.size[3 - nd + d], rules);
  }
  return n;
}

// One past the last channel of a thread.
TN_DEVICE int32_t end_channel(const Sampler& s, int32_t first) {
  return first + s.group < s.channels ? first + s.group : s.channels;
}

template <class T, int nd, int kTaps>
__global__ void sample(Sampler s) {
  using E = FloatElements<T>;
  using N = Neighbors<nd, kTaps>;
  const E elements{};
  for (int64_t i = global_thread(); i < s.extents.numel; i += global_threads()) {
    Place at = s.extents.place(i);
    const N n = find_neighbors<T, nd, kTaps>(s, at);
    typename E::C weight[N::kCount];
    int64_t offset[N::kCount];
    bool inside[N::kCount];
    TN_UNROLL(16)
    for (int k = 0; k < N::kCount; ++k) {
      weight[k] = static_cast<typename E::C>(n.weight(k));
      offset[k] = n.offset(k, s.input);
      inside[k] = n.inside(k);
    }
    const int32_t first = at.at[1] * s.group, last = end_channel(s, first);
    for (at.at[1] = first; at.at[1] < last; ++at.at[1]) {
      const char* plane = s.input.plane(at);
      typename E::C sum = 0;
      TN_UNROLL(16)
      for (int k = 0; k < N::kCount; ++k) {
        if (inside[k]) sum += weight[k] * elements.get(plane + offset[k]);
      }
      elements.put(s.samples.element(at), sum);
    }
  }
}

// Adds to `sums`, whose elements have the compute type.
template <class T, int nd, int kTaps>
__global__ void scatter_gradient(Sampler s, Volume sums) {
  using C = typename FloatElements<T>::C;
  using N = Neighbors<nd, kTaps>;
  for (int64_t i = global_thread(); i < s.extents.numel; i += global_threads()) {
    Place at = s.extents.place(i);
    const N n = find_neighbors<T, nd, kTaps>(s, at);
    const int32_t first = at.at[1] * s.group, last = end_channel(s, first);
    for (at.at[1] = first; at.at[1] < last; ++at.at[1]) {
      char* plane = sums.plane(at);
      const C v = FloatElements<T>().get(s.samples.element(at));
      TN_UNROLL(16)
      for (int k = 0; k < N::kCount; ++k) {
        if (n.inside(k))
          atomicAdd(reinterpret_cast<C*>(plane + n.offset(k, sums)),
                    static_cast<C>(n.weight(k)) * v);
      }
    }
  }
}

// All channels of a position.
template <class T, int nd, int kTaps>
__global__ void grid_gradient(Sampler s, char* grad_grid, int64_t coordinate) {
  using E = FloatElements<T>;
  using C = typename E::C;
  using N = Neighbors<nd, kTaps>;
  const E elements{};
  for (int64_t i = global_thread(); i < s.extents.numel; i += global_threads()) {
    Place at = s.extents.place(i);
    const N n = find_neighbors<T, nd, kTaps>(s, at);
    C dot[N::kCount] = {};
    for (at.at[1] = 0; at.at[1] < s.channels; ++at.at[1]) {
      const char* plane = s.input.plane(at);
      const C v = elements.get(s.samples.element(at));
      TN_UNROLL(16)
      for (int k = 0; k < N::kCount; ++k) {
        if (n.inside(k)) dot[k] += v * elements.get(plane + n.offset(k, s.input));
      }
    }
    for (int d = 0; d < nd; ++d) {
      C sum = 0;
      TN_UNROLL(16)
      for (int k = 0; k < N::kCount; ++k)
        sum += n.inside(k) ? dot[k] * static_cast<C>(n.slope(k, d)) : C(0);
      elements.put(grad_grid + i * nd * coordinate + (nd - 1 - d) * coordinate, sum);
    }
  }
}

template <class T>
__global__ void cast_sums(Volume out, Extents extents, const float* sums) {
  for (int64_t i = global_thread(); i < extents.numel; i += global_threads()) {
    write(out.element(extents.place(i)), T(sums[i]));
  }
}

// Row-major tensors, and the pairs of some of their images: pair {image, position, tap} has the key
// {image, element of its plane}; a neighbor outside has a key after all others.
struct Ordered {
  Dense out, grad, grid;
  GridRules rules;
  int64_t batch, channels, points, plane, size[3];
  int32_t nd, along, taps;  // along: taps of a dimension
  int64_t first, images;
  Pairs pairs;
  double* weights;

  Ordered(const Tensor& o, const Tensor& g, const Tensor& positions, const GridRules& r)
      : out(o),
        grad(g),
        grid(positions),
        rules(r),
        batch(o.size(0)),
        channels(o.size(1)),
        points(1),
        plane(1) {
    nd = o.ndim() - 2;
    along = r.mode == 1 ? 1 : r.mode == 0 ? 2 : 4;
    taps = 1;
    for (int d = 0; d < nd; ++d) {
      size[d] = o.size(d + 2);
      plane *= size[d];
      points *= positions.size(d + 1);
      taps *= along;
    }
    images =
        std::max<int64_t>(1, std::min(batch, kPairsAtOnce / std::max<int64_t>(1, points * taps)));
    first = 0;
  }
  static constexpr int64_t kPairsAtOnce = 1 << 22;
  bool fits() const { return points * taps <= INT32_MAX; }
  int64_t all_pairs() const { return images * points * taps; }
  // The weights follow the memory of the sort.
  int64_t sort_bytes() const {
    return ceil_div(static_cast<int64_t>(sort_workspace_bytes(all_pairs())), 64) * 64;
  }
  int64_t bytes() const {
    return sort_bytes() + all_pairs() * static_cast<int64_t>(sizeof(double));
  }
};

__global__ void find_pairs(Ordered o) {
  for (int64_t i = global_thread(); i < o.images * o.points; i += global_threads()) {
    GridTaps of[3];
    for (int d = 0; d < o.nd; ++d) {
      of[d] = grid_taps(o.grid.get<double>((o.first * o.points + i) * o.nd + o.nd - 1 - d),
                        o.size[d], o.rules);
    }
    for (int k = 0; k < o.taps; ++k) {
      int64_t at = 0;
      double weight = 1;
      for (int d = 0, each = o.taps; d < o.nd; ++d) {
        each /= o.along;
        const int tap = k / each % o.along;
        at = at < 0 || of[d].index[tap] < 0 ? -1 : at * o.size[d] + of[d].index[tap];
        weight *= of[d].weight[tap];
      }
      const int64_t pair = i * o.taps + k,
                    key = at < 0 ? o.images * o.plane : i / o.points * o.plane + at;
      o.pairs.keys[pair] = static_cast<uint64_t>(key);
      o.pairs.values[pair] = static_cast<uint32_t>(pair);
      o.weights[pair] = weight;
    }
  }
}

// The thread at the first pair of an element sums it in one channel.
template <class C>
__global__ void sum_pairs(Ordered o) {
  const Pairs& p = o.pairs;
  for (int64_t t = global_thread(); t < p.n * o.channels; t += global_threads()) {
    const int64_t first = t % p.n;
    const uint64_t key = p.keys_out[first];
    if (static_cast<int64_t>(key) >= o.images * o.plane ||
        (first > 0 && p.keys_out[first - 1] == key))
      continue;
    const int64_t image = o.first + static_cast<int64_t>(key) / o.plane,
                  plane = image * o.channels + t / p.n;
    C sum = 0;
    for (int64_t i = first; i < p.n && p.keys_out[i] == key; ++i) {
      const uint32_t pair = p.values_out[i];
      const int64_t position = pair / static_cast<uint32_t>(o.taps) % o.points;
      sum += static_cast<C>(o.weights[pair]) * o.grad.get<C>(plane * o.points + position);
    }
    o.out.put(plane * o.plane + static_cast<int64_t>(key) % o.plane, sum);
  }
}

// Threads wanted: with fewer positions, several threads share the channels of one.
constexpr int64_t kThreads = int64_t{1} << 17;

bool make_sampler(Sampler* s, const Tensor& samples, const Tensor& input, const Tensor& grid,
                  int64_t mode, int64_t border, bool align_corners) {
  const int nd = input.ndim() - 2;
  if (nd == 3 && mode == 2) return false;  // 64 neighbors of a thread are too many registers
  if (!fits_volume(input) || !fits_volume(grid)) return false;
  *s = Sampler();
  s->input = Volume(input, nd);
  s->samples = Volume(samples, nd);
  s->channels = static_cast<int32_t>(input.size(1));
  s->rules = {mode, border, align_corners};
  s->grid = grid.data<char>();
  const int64_t item = item_size(grid.dtype());
  int64_t sizes[kVolumeDims] = {grid.size(0), 1, 1, 1, 1}, positions = grid.size(0);
  s->grid_stride[0] = grid.stride(0) * item;
  s->grid_stride[1] = grid.stride(nd + 1) * item;
  s->size[0] = 1;
  for (int d = 0; d < nd; ++d) {
    const int k = first_spatial(nd) + d;
    sizes[k] = grid.size(d + 1);
    positions *= sizes[k];
    s->grid_stride[k] = grid.stride(d + 1) * item;
    s->size[3 - nd + d] = static_cast<int32_t>(input.size(d + 2));
  }
  const int64_t groups =
      std::min<int64_t>(input.size(1), ceil_div(kThreads, std::max<int64_t>(1, positions)));
  s->group = static_cast<int32_t>(ceil_div(input.size(1), std::max<int64_t>(1, groups)));
  sizes[1] = s->group > 0 ? ceil_div(input.size(1), s->group) : 1;
  s->extents = Extents(sizes);
  return true;
}

// f(type, number of spatial dimensions, taps along each)
template <class F>
void with_kernel(DType dtype, int nd, int64_t mode, F&& f) {
  dispatch_floating(dtype, [&](auto tag) {
    const auto dims = [&](auto taps) {
      if (nd == 2) return f(tag, std::integral_constant<int, 2>(), taps);
      constexpr int kTaps = decltype(taps)::value;
      if constexpr (kTaps < 4) f(tag, std::integral_constant<int, 3>(), taps);
    };
    if (mode == 1) return dims(std::integral_constant<int, 1>());
    if (mode == 0) return dims(std::integral_constant<int, 2>());
    dims(std::integral_constant<int, 4>());
  });
}

tn_status forward(Call& call, Tensor out, Tensor input, Tensor grid, int64_t mode, int64_t border,
                  bool align_corners) {
  if (out.numel() == 0) return TN_OK;
  Sampler s;
  if (!make_sampler(&s, out, input, grid, mode, border, align_corners)) return TN_DECLINED;
  with_kernel(input.dtype(), input.ndim() - 2, mode, [&](auto tag, auto nd, auto taps) {
    launch<sample<tn_type(tag), decltype(nd)::value, decltype(taps)::value>>(
        call, shape_for(call, s.extents.numel, 128), s);
  });
  return TN_OK;
}

void input_gradient(const Call& call, const Sampler& s, const Tensor& out, int64_t mode) {
  const int nd = out.ndim() - 2;
  const bool half = out.dtype() == kFloat16 || out.dtype() == kBFloat16;
  Volume sums(out, nd);
  const Extents all(out, nd);
  if (half) {
    sums.p = call.workspace<char>();
    int64_t step = sizeof(float);
    for (int k = kVolumeDims - 1; k >= 0; --k) {
      sums.stride[k] = step;
      step *= all.size[k];
    }
    fill_bytes(call, sums.p, step, 0);
  } else {
    fill_elements(call, out, 0);
  }
  if (s.extents.numel > 0) {
    with_kernel(out.dtype(), nd, mode, [&](auto tag, auto dims, auto taps) {
      launch<scatter_gradient<tn_type(tag), decltype(dims)::value, decltype(taps)::value>>(
          call, shape_for(call, s.extents.numel, 128), s, sums);
    });
  }
  if (!half) return;
  const float* from = reinterpret_cast<const float*>(sums.p);
  if (out.dtype() == kFloat16)
    launch<cast_sums<Half>>(call, shape_for(call, all.numel), Volume(out, nd), all, from);
  else
    launch<cast_sums<BFloat16>>(call, shape_for(call, all.numel), Volume(out, nd), all, from);
}

bool ordered_input_gradient(const Call& call, const Tensor& out, const Tensor& grad,
                            const Tensor& grid, const GridRules& rules) {
  Ordered o(out, grad, grid, rules);
  if (!o.fits()) return false;
  fill_elements(call, out, 0);
  if (o.points == 0) return true;
  o.weights = reinterpret_cast<double*>(call.workspace<char>() + o.sort_bytes());
  const int64_t images = o.images;
  for (o.first = 0; o.first < o.batch; o.first += images) {
    o.images = std::min(images, o.batch - o.first);
    const SortMemory memory(call, o.all_pairs());
    o.pairs = memory.pairs;
    launch<find_pairs>(call, shape_for(call, o.images * o.points, 128), o);
    sort_pairs(call, o.pairs, bits_for(o.images * o.plane + 1), memory.scratch,
               static_cast<std::size_t>(reinterpret_cast<char*>(o.weights) - memory.scratch));
    with_real(out.dtype(), [&](auto real) {
      launch<sum_pairs<tn_type(real)>>(call, shape_for(call, o.pairs.n * o.channels), o);
    });
  }
  return true;
}

tn_status backward(Call& call, Tensor grad_input, Tensor grad_grid, Tensor grad, Tensor input,
                   Tensor grid, int64_t mode, int64_t border, bool align_corners, Bools) {
  Sampler s;
  if (!make_sampler(&s, grad, input, grid, mode, border, align_corners)) return TN_DECLINED;
  if (grad_input.defined() && grad_input.numel() > 0) {
    if (!call.deterministic())
      input_gradient(call, s, grad_input, mode);
    else if (!ordered_input_gradient(call, grad_input, grad, grid, s.rules))
      return TN_DECLINED;
  }
  if (!grad_grid.defined() || grad_grid.numel() == 0) return TN_OK;
  int64_t sizes[kVolumeDims];
  for (int k = 0; k < kVolumeDims; ++k) sizes[k] = k == 1 ? 1 : s.extents.size[k];
  s.extents = Extents(sizes);
  with_kernel(input.dtype(), input.ndim() - 2, mode, [&](auto tag, auto nd, auto taps) {
    launch<grid_gradient<tn_type(tag), decltype(nd)::value, decltype(taps)::value>>(
        call, shape_for(call, s.extents.numel, 128), s, grad_grid.data<char>(),
        item_size(grad_grid.dtype()));
  });
  return TN_OK;
}

// Sums of 16-bit floats, or sorted pairs.
tn_status sums_workspace(tn_call* call, uint64_t* bytes) {
  const Tensor input(call->in[1].u.tensor);
  if (call->flags & TN_CALL_DETERMINISTIC) {
    const Ordered o(input, Tensor(call->in[0].u.tensor), Tensor(call->in[2].u.tensor),
                    {call->in[3].u.i64, call->in[4].u.i64, false});
    *bytes = o.fits() ? static_cast<uint64_t>(o.bytes()) : 0;
    return TN_OK;
  }
  const bool half = input.dtype() == kFloat16 || input.dtype() == kBFloat16;
  *bytes = half ? static_cast<uint64_t>(input.numel()) * sizeof(float) : 0;
  return TN_OK;
}

}  // namespace

TN_KERNEL(grid_sampler_2d, forward, dtypes("floating").any_strides().capture_safe());
TN_KERNEL(grid_sampler_3d, forward, dtypes("floating").any_strides().capture_safe());
TN_KERNEL(grid_sampler_2d_backward, backward,
          dtypes("floating").workspace(sums_workspace).capture_safe());
TN_KERNEL(grid_sampler_3d_backward, backward,
          dtypes("floating").workspace(sums_workspace).capture_safe());

}  // namespace tenon::cuda
