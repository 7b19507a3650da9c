// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Normalization over the channels of a row-major tensor [batch, channels, plane]: sums over parts
// of a channel, whose bounds depend on sizes alone, and passes over all elements. The caller
// combines the parts.
#pragma once

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/dense.cuh"
#include "plugin_cuda/device/launch.cuh"

namespace tenon::cuda {

struct Planes {
  int64_t batch, channels, plane;
  int64_t count() const { return batch * plane; }  // of a channel
  // Whether the kernels' 32-bit counters suffice; otherwise the call must be declined.
  bool fits() const;
  // Elements per part (the last may have fewer), and parts per channel.
  int64_t part() const;
  int64_t parts() const { return part() > 0 ? ceil_div(count(), part()) : 0; }
  // Bytes that part_moments() or part_gradient_sums() write.
  uint64_t part_bytes() const {
    return static_cast<uint64_t>(channels * parts()) * 3 * sizeof(double);
  }
};

// `squares` are about the part's own mean, to avoid cancellation.
template <class C>
struct Moments {
  C count, mean, squares;
};
struct CombineMoments {
  TN_DEVICE Moments<double> operator()(const Moments<double>& a, const Moments<double>& b) const {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    const double n = a.count + b.count, apart = b.mean - a.mean, share = b.count / n;
    return {n, a.mean + apart * share, a.squares + b.squares + apart * apart * a.count * share};
  }
};

// A channel's output: (x - mean) * a + b.
template <class C>
struct Affine {
  C mean, a, b;
};
// And its gradient: by_grad * dy + by_x * (x - mean) + constant.
template <class C>
struct Slopes {
  C mean, by_grad, by_x, constant;
};

// C is compute_t of the tensors' dtype. To parts[channel * parts + part]:
// Moments<C>
void part_moments(const sdk::Call& call, const Planes& s, const sdk::Tensor& x, void* parts);
// Two<C>: the sums of dy and of dy * (x - mean); `sharing` channels share a mean.
void part_gradient_sums(const sdk::Call& call, const Planes& s, const sdk::Tensor& dy,
                        const sdk::Tensor& x, const sdk::Tensor& mean, int64_t sharing,
                        void* parts);
// With a channel's Affine<C> or Slopes<C> at `by`.
void apply_affine(const sdk::Call& call, const Planes& s, const sdk::Tensor& x,
                  const sdk::Tensor& out, const void* by);
void apply_gradient(const sdk::Call& call, const Planes& s, const sdk::Tensor& dy,
                    const sdk::Tensor& x, const sdk::Tensor& out, const void* by);

// A block's threads combine the parts of a channel.
template <class C>
TN_DEVICE Moments<double> channel_moments(const Moments<C>* parts, int64_t n) {
  Moments<double> m{0, 0, 0};
  for (int64_t p = threadIdx.x; p < n; p += blockDim.x) {
    const Moments<C> one = parts[p];
    m = CombineMoments()(m,
                         Moments<double>{double(one.count), double(one.mean), double(one.squares)});
  }
  return block_reduce(m, Moments<double>{0, 0, 0}, CombineMoments());
}
inline Shape combine_shape(const sdk::Call& call, int64_t channels, int64_t parts) {
  return {std::min(channels, 8 * max_blocks(call)), parts > 256 ? 256 : 32};
}

}  // namespace tenon::cuda
