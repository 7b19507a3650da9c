// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The passes over a tensor's channels that batch and group normalization share. A block reads a
// part twice (the second time from a cache); a thread does so if a channel is short or its elements
// are not contiguous.
#include "plugin_cuda/device/planes.cuh"

#include "plugin_cuda/device/index.cuh"

namespace tenon::cuda {

using namespace sdk;

namespace {

constexpr int64_t kMinPart = 1024, kMaxPart = 8192;

bool by_threads(const Planes& s) { return s.plane == 1 || s.count() < 64; }

struct Cut {
  int64_t channels, parts;
  uint32_t part, count;
  Divider plane;

  explicit Cut(const Planes& s)
      : channels(s.channels),
        parts(s.parts()),
        part(static_cast<uint32_t>(s.part())),
        count(static_cast<uint32_t>(s.count())),
        plane(static_cast<uint32_t>(std::max<int64_t>(1, s.plane))) {}
  // Element i of a channel.
  TN_DEVICE int64_t at(int64_t channel, uint32_t i) const {
    const uint32_t image = plane.divide(i);
    return (image * channels + channel) * plane.divisor + (i - image * plane.divisor);
  }
  TN_DEVICE uint32_t begin(int64_t p) const { return static_cast<uint32_t>(p) * part; }
  TN_DEVICE uint32_t end(int64_t p) const {
    return begin(p) + part < count ? begin(p) + part : count;
  }
};

template <class T, class C>
__global__ void moments_of_blocks(Cut s, const T* x, Moments<C>* out) {
  for (int64_t b = blockIdx.x; b < s.channels * s.parts; b += gridDim.x) {
    const int64_t c = b / s.parts, p = b % s.parts;
    const uint32_t begin = s.begin(p), end = s.end(p);
    C sum = 0, squares = 0;
    TN_UNROLL(4)
    for (uint32_t i = begin + threadIdx.x; i < end; i += blockDim.x)
      sum += static_cast<C>(x[s.at(c, i)]);
    const C n = static_cast<C>(end - begin), mean = block_reduce(sum, C(0), Add()) / n;
    TN_UNROLL(4)
    for (uint32_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
      const C d = static_cast<C>(x[s.at(c, i)]) - mean;
      squares += d * d;
    }
    squares = block_reduce(squares, C(0), Add());
    if (threadIdx.x == 0) out[b] = {n, mean, squares};
  }
}

// Neighbors have neighboring channels.
template <class T, class C>
__global__ void moments_of_threads(Cut s, const T* x, Moments<C>* out) {
  for (int64_t t = global_thread(); t < s.channels * s.parts; t += global_threads()) {
    const int64_t c = t % s.channels, p = t / s.channels;
    const uint32_t begin = s.begin(p), end = s.end(p);
    C sum = 0, squares = 0;
    TN_UNROLL(4)
    for (uint32_t i = begin; i < end; ++i) sum += static_cast<C>(x[s.at(c, i)]);
    const C n = static_cast<C>(end - begin), mean = sum / n;
    TN_UNROLL(4)
    for (uint32_t i = begin; i < end; ++i) {
      const C d = static_cast<C>(x[s.at(c, i)]) - mean;
      squares += d * d;
    }
    out[c * s.parts + p] = {n, mean, squares};
  }
}

template <class T, class C>
__global__ void gradient_sums_of_blocks(Cut s, const T* dy, const T* x, const T* means,
                                        int64_t sharing, Two<C>* out) {
  for (int64_t b = blockIdx.x; b < s.channels * s.parts; b += gridDim.x) {
    const int64_t c = b / s.parts, p = b % s.parts;
    const uint32_t end = s.end(p);
    const C mean = static_cast<C>(means[c / sharing]);
    Two<C> sums{C(0), C(0)};
    TN_UNROLL(4)
    for (uint32_t i = s.begin(p) + threadIdx.x; i < end; i += blockDim.x) {
      const int64_t at = s.at(c, i);
      const C g = static_cast<C>(dy[at]);
      sums.a += g;
      sums.b += g * (static_cast<C>(x[at]) - mean);
    }
    sums = block_reduce(sums, Two<C>{C(0), C(0)}, AddTwo());
    if (threadIdx.x == 0) out[b] = sums;
  }
}

template <class T, class C>
__global__ void gradient_sums_of_threads(Cut s, const T* dy, const T* x, const T* means,
                                         int64_t sharing, Two<C>* out) {
  for (int64_t t = global_thread(); t < s.channels * s.parts; t += global_threads()) {
    const int64_t c = t % s.channels, p = t / s.channels;
    const uint32_t end = s.end(p);
    const C mean = static_cast<C>(means[c / sharing]);
    Two<C> sums{C(0), C(0)};
    TN_UNROLL(4)
    for (uint32_t i = s.begin(p); i < end; ++i) {
      const int64_t at = s.at(c, i);
      const C g = static_cast<C>(dy[at]);
      sums.a += g;
      sums.b += g * (static_cast<C>(x[at]) - mean);
    }
    out[c * s.parts + p] = sums;
  }
}

// Consecutive planes in packs of W elements.
struct Run {
  uint32_t packs, first;  // first: the channel of its first plane
  Divider plane, channels;

  TN_DEVICE uint32_t channel(uint32_t pack) const {
    const uint32_t c = first + plane.divide(pack);
    return c - channels.divide(c) * channels.divisor;
  }
};

template <class T, class C, int W>
__global__ void affine(Run r, const T* x, T* out, const Affine<C>* by) {
  for (int64_t i = global_thread(); i < r.packs; i += global_threads()) {
    const Affine<C> k = by[r.channel(static_cast<uint32_t>(i))];
    Pack<T, W> v = reinterpret_cast<const Pack<T, W>*>(x)[i];
    for (int j = 0; j < W; ++j) v.v[j] = T((static_cast<C>(v.v[j]) - k.mean) * k.a + k.b);
    reinterpret_cast<Pack<T, W>*>(out)[i] = v;
  }
}

template <class T, class C, int W>
__global__ void gradient(Run r, const T* dy, const T* x, T* out, const Slopes<C>* by) {
  for (int64_t i = global_thread(); i < r.packs; i += global_threads()) {
    const Slopes<C> k = by[r.channel(static_cast<uint32_t>(i))];
    Pack<T, W> v = reinterpret_cast<const Pack<T, W>*>(x)[i];
    const Pack<T, W> g = reinterpret_cast<const Pack<T, W>*>(dy)[i];
    for (int j = 0; j < W; ++j) {
      const C d = static_cast<C>(v.v[j]) - k.mean;
      v.v[j] = T(k.by_grad * static_cast<C>(g.v[j]) + (k.by_x * d + k.constant));
    }
    reinterpret_cast<Pack<T, W>*>(out)[i] = v;
  }
}

// A result for each part of each channel, by one thread or by a block.
template <auto OfThreads, auto OfBlocks, class... A>
void launch_parts(const Call& call, const Planes& s, const A&... args) {
  const Cut cut(s);
  const int64_t n = cut.channels * cut.parts;
  if (n == 0) return;
  if (by_threads(s)) {
    launch<OfThreads>(call, shape_for(call, n, 128), cut, args...);
  } else {
    const int size = s.count() >= 1024 ? 256 : s.count() >= 256 ? 128 : 32;
    launch<OfBlocks>(call, {std::min(n, 8 * max_blocks(call)), size}, cut, args...);
  }
}

bool aligned(const Tensor& t) { return reinterpret_cast<uintptr_t>(t.data()) % 16 == 0; }

// f(run, offset of its first element) for runs that 32 bits can count.
template <class F>
void for_each_run(const Planes& s, int64_t width, F&& f) {
  const int64_t all = s.batch * s.channels,
                max_planes = std::max<int64_t>(1, kPieceElements / std::max<int64_t>(1, s.plane));
  if (s.plane == 0) return;
  for (int64_t first = 0; first < all; first += max_planes) {
    const int64_t planes = std::min(max_planes, all - first);
    f(Run{static_cast<uint32_t>(planes * s.plane / width),
          static_cast<uint32_t>(first % s.channels),
          Divider(static_cast<uint32_t>(s.plane / width)),
          Divider(static_cast<uint32_t>(s.channels))},
      first * s.plane);
  }
}

}  // namespace

bool Planes::fits() const {
  return count() <= kPieceElements && plane <= kPieceElements && batch * channels <= kPieceElements;
}

int64_t Planes::part() const {
  if (count() == 0) return 0;
  if (by_threads(*this)) {
    return std::max<int64_t>(64,
                             ceil_div(count(), ceil_div(32768, std::max<int64_t>(1, channels))));
  }
  const int64_t wanted = ceil_div(kWantedParts, std::max<int64_t>(1, channels));
  return std::min(std::max(ceil_div(count(), wanted), kMinPart), kMaxPart);
}

void part_moments(const Call& call, const Planes& s, const Tensor& x, void* parts) {
  dispatch_floating(x.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = compute_t<T>;
    launch_parts<moments_of_threads<T, C>, moments_of_blocks<T, C>>(
        call, s, x.data<T>(), static_cast<Moments<C>*>(parts));
  });
}

void part_gradient_sums(const Call& call, const Planes& s, const Tensor& dy, const Tensor& x,
                        const Tensor& mean, int64_t sharing, void* parts) {
  dispatch_floating(x.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = compute_t<T>;
    launch_parts<gradient_sums_of_threads<T, C>, gradient_sums_of_blocks<T, C>>(
        call, s, dy.data<T>(), x.data<T>(), mean.data<T>(), sharing, static_cast<Two<C>*>(parts));
  });
}

void apply_affine(const Call& call, const Planes& s, const Tensor& x, const Tensor& out,
                  const void* by) {
  dispatch_floating(x.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = compute_t<T>;
    const auto* const k = static_cast<const Affine<C>*>(by);
    constexpr int W = kPackWidth<T>;
    const bool packed = s.plane % W == 0 && aligned(x) && aligned(out);
    for_each_run(s, packed ? W : 1, [&](const Run& r, int64_t at) {
      const T* const from = x.data<T>() + at;
      T* const to = out.data<T>() + at;
      if (packed)
        launch<affine<T, C, W>>(call, shape_for(call, r.packs), r, from, to, k);
      else
        launch<affine<T, C, 1>>(call, shape_for(call, r.packs, 256, 2), r, from, to, k);
    });
  });
}

void apply_gradient(const Call& call, const Planes& s, const Tensor& dy, const Tensor& x,
                    const Tensor& out, const void* by) {
  dispatch_floating(x.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = compute_t<T>;
    const auto* const k = static_cast<const Slopes<C>*>(by);
    constexpr int W = kPackWidth<T>;
    const bool packed = s.plane % W == 0 && aligned(dy) && aligned(x) && aligned(out);
    for_each_run(s, packed ? W : 1, [&](const Run& r, int64_t at) {
      const T *const g = dy.data<T>() + at, *const from = x.data<T>() + at;
      T* const to = out.data<T>() + at;
      if (packed)
        launch<gradient<T, C, W>>(call, shape_for(call, r.packs), r, g, from, to, k);
      else
        launch<gradient<T, C, 1>>(call, shape_for(call, r.packs, 256, 2), r, g, from, to, k);
    });
  });
}

}  // namespace tenon::cuda
