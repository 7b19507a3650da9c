// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// convolution and convolution_backward for all numeric dtypes: implicit GEMM. They are used where
// cuDNN has no plan, as for integers. A transposed convolution is the gradient of a plain one by
// its input.
#include <algorithm>

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/dense.cuh"
#include "plugin_cuda/device/index.cuh"
#include "plugin_cuda/device/product.cuh"
#include "tenon/sdk/ops/convolution.h"
#include "tenon/sdk/ops/convolution_backward.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// Sizes of up to three dimensions, row-major.
struct Extent {
  int32_t size[3] = {1, 1, 1};
  Divider h, w, all;

  void finish() {
    w = Divider(static_cast<uint32_t>(std::max(1, size[2])));
    h = Divider(static_cast<uint32_t>(std::max(1, size[1])));
    all = Divider(static_cast<uint32_t>(std::max<int64_t>(1, count())));
  }
  TN_HD int64_t count() const { return int64_t{size[0]} * size[1] * size[2]; }
  TN_DEVICE void split(uint32_t i, int32_t (&at)[3]) const {
    const uint32_t lines = w.divide(i), slices = h.divide(lines);
    at[0] = static_cast<int32_t>(slices);
    at[1] = static_cast<int32_t>(lines - slices * h.divisor);
    at[2] = static_cast<int32_t>(i - lines * w.divisor);
  }
  // k = channel * count() + position: returns the channel, sets `i` to the position.
  TN_DEVICE uint32_t channel(uint32_t k, uint32_t* i) const {
    const uint32_t c = all.divide(k);
    *i = k - c * all.divisor;
    return c;
  }
};

// x is the wide side: [batch, groups * channels, in], weights [groups * filters, channels, kernel],
// y [batch, groups * filters, out].
struct Conv {
  Dense x, w, y, bias;
  int64_t images = 0, groups = 1, channels = 0, filters = 0;
  Extent in, out, kernel;
  int32_t stride[3] = {1, 1, 1}, pad[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  Divider by_stride[3];

  // The element of x's plane that tap `tap` of window `window` reads; -1: none.
  TN_DEVICE int64_t input_of(uint32_t window, uint32_t tap) const {
    int32_t o[3], t[3];
    out.split(window, o);
    kernel.split(tap, t);
    int64_t at = 0;
    for (int a = 0; a < 3; ++a) {
      const int64_t i = int64_t{o[a]} * stride[a] - pad[a] + int64_t{t[a]} * dilation[a];
      if (i < 0 || i >= in.size[a]) return -1;
      at = at * in.size[a] + i;
    }
    return at;
  }
  // The window whose tap `tap` reads element `i`; -1: none.
  TN_DEVICE int64_t window_of(uint32_t i, uint32_t tap) const {
    int32_t place[3], t[3];
    in.split(i, place);
    kernel.split(tap, t);
    int64_t at = 0;
    for (int a = 0; a < 3; ++a) {
      const int64_t from = int64_t{place[a]} + pad[a] - int64_t{t[a]} * dilation[a];
      if (from < 0 || from >= int64_t{out.size[a]} * stride[a]) return -1;
      const uint32_t o = by_stride[a].divide(static_cast<uint32_t>(from));
      if (o * by_stride[a].divisor != from) return -1;
      at = at * out.size[a] + o;
    }
    return at;
  }
  template <class U>
  TN_DEVICE U x_at(int64_t plane, int64_t at) const {
    return at < 0 ? U(0) : x.get<U>(plane * in.count() + at);
  }
  template <class U>
  TN_DEVICE U y_at(int64_t plane, int64_t at) const {
    return at < 0 ? U(0) : y.get<U>(plane * out.count() + at);
  }
  // Element j of plane i of an image's group b, with the plane's bias; m planes per group, n
  // elements per plane.
  template <class U>
  TN_DEVICE void put_biased(const Dense& to, int64_t b, int64_t i, int64_t j, int64_t m, int64_t n,
                            U sum) const {
    sum += bias.get_or(b % groups * m + i, U(0));
    store_sum(to.p + ((b * m + i) * n + j) * to.item, to.code, sum);
  }
};

// Of an image's group: filters by windows.
struct Forward : Conv {
  int64_t batch, m, n, k;
  explicit Forward(const Conv& c)
      : Conv(c), batch(images * groups), m(filters), n(out.count()), k(channels * kernel.count()) {}
  TN_DEVICE bool left_along_k() const { return true; }
  TN_DEVICE bool right_along_k() const { return false; }
  template <class U>
  TN_DEVICE U left(int64_t b, int64_t i, int64_t l) const {
    return w.get<U>((b % groups * m + i) * k + l);
  }
  template <class U>
  TN_DEVICE U right(int64_t b, int64_t l, int64_t j) const {
    uint32_t tap;
    const uint32_t c = kernel.channel(static_cast<uint32_t>(l), &tap);
    return x_at<U>(b * channels + c, input_of(static_cast<uint32_t>(j), tap));
  }
  template <class U>
  TN_DEVICE void put(int64_t b, int64_t i, int64_t j, U sum) const {
    put_biased(y, b, i, j, m, n, sum);
  }
};

// Of an image's group: channels by elements of a plane of x.
struct BackwardData : Conv {
  int64_t batch, m, n, k;
  explicit BackwardData(const Conv& c)
      : Conv(c), batch(images * groups), m(channels), n(in.count()), k(filters * kernel.count()) {}
  TN_DEVICE bool left_along_k() const { return true; }
  TN_DEVICE bool right_along_k() const { return false; }
  template <class U>
  TN_DEVICE U left(int64_t b, int64_t i, int64_t l) const {
    uint32_t tap;
    const uint32_t f = kernel.channel(static_cast<uint32_t>(l), &tap);
    return w.get<U>(((b % groups * filters + f) * channels + i) * kernel.count() + tap);
  }
  template <class U>
  TN_DEVICE U right(int64_t b, int64_t l, int64_t j) const {
    uint32_t tap;
    const uint32_t f = kernel.channel(static_cast<uint32_t>(l), &tap);
    return y_at<U>(b * filters + f, window_of(static_cast<uint32_t>(j), tap));
  }
  template <class U>
  TN_DEVICE void put(int64_t b, int64_t i, int64_t j, U sum) const {
    put_biased(x, b, i, j, m, n, sum);
  }
};

// Of a group: filters by channels and taps, summed over images and windows.
struct BackwardWeights : Conv {
  int64_t batch, m, n, k;
  explicit BackwardWeights(const Conv& c)
      : Conv(c), batch(groups), m(filters), n(channels * kernel.count()), k(images * out.count()) {}
  TN_DEVICE bool left_along_k() const { return true; }
  TN_DEVICE bool right_along_k() const { return true; }
  template <class U>
  TN_DEVICE U left(int64_t b, int64_t i, int64_t l) const {
    uint32_t window;
    const uint32_t image = out.channel(static_cast<uint32_t>(l), &window);
    return y_at<U>((image * groups + b) * filters + i, window);
  }
  template <class U>
  TN_DEVICE U right(int64_t b, int64_t l, int64_t j) const {
    uint32_t window, tap;
    const uint32_t image = out.channel(static_cast<uint32_t>(l), &window);
    const uint32_t c = kernel.channel(static_cast<uint32_t>(j), &tap);
    return x_at<U>((image * groups + b) * channels + c, input_of(window, tap));
  }
  template <class U>
  TN_DEVICE void put(int64_t b, int64_t i, int64_t j, U sum) const {
    store_sum(w.p + ((b * m + i) * n + j) * w.item, w.code, sum);
  }
};

// One block per channel of the convolution's output.
template <class U>
__global__ void bias_sums(Dense grad, Dense out, int64_t images, int64_t channels, int64_t plane) {
  for (int64_t c = blockIdx.x; c < channels; c += gridDim.x) {
    U sum = 0;
    for (int64_t n = 0; n < images; ++n) {
      TN_UNROLL(4)
      for (int64_t i = threadIdx.x; i < plane; i += blockDim.x)
        sum += grad.get<U>((n * channels + c) * plane + i);
    }
    sum = block_reduce(sum, U(0), Add());
    if (threadIdx.x == 0) store_sum(out.p + c * out.item, out.code, sum);
  }
}

Conv geometry(const Tensor& x, const Tensor& w, const Tensor& y, const Ints& stride,
              const Ints& padding, const Ints& dilation, int64_t groups) {
  Conv c;
  c.x = Dense(x);
  c.w = Dense(w);
  c.y = Dense(y);
  c.images = y.size(0);
  c.groups = groups;
  c.channels = x.size(1) / groups;
  c.filters = y.size(1) / groups;
  const int nd = x.ndim() - 2, lead = 3 - nd;
  const auto item = [](const Ints& v, int d) {
    return static_cast<int32_t>(v[v.size() == 1 ? 0 : d]);
  };
  for (int d = 0; d < nd; ++d) {
    const int a = lead + d;
    c.in.size[a] = static_cast<int32_t>(x.size(d + 2));
    c.out.size[a] = static_cast<int32_t>(y.size(d + 2));
    c.kernel.size[a] = static_cast<int32_t>(w.size(d + 2));
    c.stride[a] = item(stride, d);
    c.pad[a] = item(padding, d);
    c.dilation[a] = item(dilation, d);
  }
  for (Extent* e : {&c.in, &c.out, &c.kernel}) e->finish();
  for (int a = 0; a < 3; ++a) c.by_stride[a] = Divider(static_cast<uint32_t>(c.stride[a]));
  return c;
}

// Whether the kernels' 32-bit counters suffice; otherwise the call is declined.
bool fits(const Tensor& x, const Tensor& w, const Tensor& y, const Ints& stride,
          const Ints& padding, const Ints& dilation) {
  for (const Ints* v : {&stride, &padding, &dilation}) {
    for (int64_t i : *v) {
      if (i > kPieceElements / 4) return false;
    }
  }
  int64_t in = 1, out = std::max<int64_t>(1, y.size(0)), taps = std::max(w.size(0), w.size(1));
  for (int d = 2; d < x.ndim(); ++d) {
    in *= x.size(d);
    out *= y.size(d);
    taps *= w.size(d);
    if (x.size(d) > kPieceElements / 4) return false;
  }
  return in <= kPieceElements && out <= kPieceElements && taps <= kPieceElements;
}

template <class P>
void run(const Call& call, const Conv& c) {
  const P p(c);
  with_sum(c.x.code, [&](auto tag) { launch_product<tn_type(tag)>(call, p); });
}

tn_status convolution(Call& call, Tensor out, Tensor input, Tensor weight, OptTensor bias,
                      Ints stride, Ints padding, Ints dilation, bool transposed, Ints,
                      int64_t groups) {
  if (out.numel() == 0) return TN_OK;
  const Tensor x = transposed ? out : input, y = transposed ? input : out;
  if (!fits(x, weight, y, stride, padding, dilation)) return TN_DECLINED;
  Conv c = geometry(x, weight, y, stride, padding, dilation, groups);
  c.bias = Dense(bias);
  transposed ? run<BackwardData>(call, c) : run<Forward>(call, c);
  return TN_OK;
}

tn_status convolution_backward(Call& call, Tensor grad_input, Tensor grad_weight, Tensor grad_bias,
                               Tensor grad, Tensor input, Tensor weight, std::optional<Ints>,
                               Ints stride, Ints padding, Ints dilation, bool transposed, Ints,
                               int64_t groups, Bools) {
  const Tensor x = transposed ? grad : input, y = transposed ? input : grad;
  if (!fits(x, weight, y, stride, padding, dilation)) return TN_DECLINED;
  const Conv c = geometry(x, weight, y, stride, padding, dilation, groups);
  if (grad_input.defined()) {
    Conv by_input = c;
    (transposed ? by_input.y : by_input.x) = Dense(grad_input);
    transposed ? run<Forward>(call, by_input) : run<BackwardData>(call, by_input);
  }
  if (grad_weight.defined()) {
    Conv by_weight = c;
    by_weight.w = Dense(grad_weight);
    run<BackwardWeights>(call, by_weight);
  }
  if (grad_bias.defined() && grad_bias.numel() > 0) {
    const int64_t channels = grad_bias.numel(), plane = (transposed ? c.in : c.out).count();
    with_sum(code_of(grad.dtype()), [&](auto tag) {
      launch<bias_sums<tn_type(tag)>>(
          call, {std::min(channels, 8 * max_blocks(call)), plane >= 256 ? 256 : 32}, Dense(grad),
          Dense(grad_bias), grad.size(0), channels, plane);
    });
  }
  return TN_OK;
}

}  // namespace

// Tried after cuDNN's.
TN_KERNEL(convolution, convolution, dtypes("number").priority(-1).capture_safe());
TN_KERNEL(convolution_backward, convolution_backward, dtypes("number").priority(-1).capture_safe());

}  // namespace tenon::cuda
