// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Optimizer steps: one launch for up to 56 tensors, whose addresses are kernel arguments. A block
// updates 4096 elements of one tensor; each is read and written once. 16-bit floats are computed in
// float. If the device counts the steps, as replays of a graph need it, a first launch counts and
// computes what depends on the count.
#include <algorithm>
#include <cmath>

#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "tenon/sdk/ops/_adam_step_.h"
#include "tenon/sdk/ops/_adamw_step_.h"
#include "tenon/sdk/ops/_fused_sgd_.h"
#include "tenon/sdk/scalar_math.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

constexpr int kMaxTensors = 56;
constexpr int kRuns = 5;  // parameter, gradient, states
constexpr int kGrad = 1;
constexpr int kThreads = 256;
constexpr int64_t kChunk = 4096;  // elements of a block

struct Tensors {
  char* at[kRuns][kMaxTensors];  // null: the optimizer has no such state
  int64_t n[kMaxTensors];
  double factor[2][kMaxTensors];    // what depends on the step count,
  const double* factors;            // or, if not null, a pair per tensor
  uint32_t chunk[kMaxTensors + 1];  // the first one of each tensor
  int32_t count;
  uint64_t aligned;  // bit k: packs of tensor k lie at multiples of their size
};

// The coefficients of a tensor's step, and the step of one element: v[k] is its value in run k.
template <class C>
struct Adam {
  C beta1, beta2, rest1, rest2, eps, decay, shrink, root, size;
  bool maximize, maxima;
  TN_DEVICE void operator()(C* v) const {
    C g = maximize ? -v[1] : v[1], p = v[0];
    if (shrink != C(1)) p = p * shrink;
    if (decay != C(0)) g = std::fma(decay, p, g);
    v[2] = std::fma(rest1, g, v[2] * beta1);
    v[3] = std::fma(rest2 * g, g, v[3] * beta2);
    if (maxima) v[4] = sdk::math::maximum(v[4], v[3]);
    const C root_of = sdk::math::sqrt(maxima ? v[4] : v[3]);
    v[0] = p + size * v[2] / (root_of / root + eps);  // in the order of addcdiv
  }
};
template <class C>
struct Sgd {
  C lr, momentum, rest, decay;
  bool nesterov, maximize, first, buffered;
  TN_DEVICE void operator()(C* v) const {
    C g = maximize ? -v[1] : v[1];
    if (decay != C(0)) g = std::fma(decay, v[0], g);
    if (buffered) {
      v[2] = first ? g : std::fma(rest, g, v[2] * momentum);
      g = nesterov ? std::fma(momentum, v[2], g) : v[2];
    }
    v[0] = std::fma(-lr, g, v[0]);
  }
};
template <class C>
TN_DEVICE Adam<C> step_of(Adam<C> s, const Tensors& t, int k) {
  s.root = static_cast<C>(t.factors ? t.factors[2 * k] : t.factor[0][k]);
  s.size = static_cast<C>(t.factors ? t.factors[2 * k + 1] : t.factor[1][k]);
  return s;
}
template <class C>
TN_DEVICE Sgd<C> step_of(const Sgd<C>& s, const Tensors&, int) {
  return s;
}

// W elements from element i on.
template <class S, class C, int W, class Step>
TN_DEVICE void step_at(char* const* at, int64_t i, const Step& step) {
  C v[W][kRuns];
  TN_UNROLL(5)
  for (int k = 0; k < kRuns; ++k) {
    if (at[k] == nullptr) continue;
    const Pack<S, W> pack =
        *reinterpret_cast<const Pack<S, W>*>(at[k] + i * static_cast<int64_t>(sizeof(S)));
    for (int j = 0; j < W; ++j) v[j][k] = static_cast<C>(pack.v[j]);
  }
  for (int j = 0; j < W; ++j) step(v[j]);
  TN_UNROLL(5)
  for (int k = 0; k < kRuns; ++k) {
    if (k == kGrad || at[k] == nullptr) continue;
    Pack<S, W> pack;
    for (int j = 0; j < W; ++j) pack.v[j] = static_cast<S>(v[j][k]);
    *reinterpret_cast<Pack<S, W>*>(at[k] + i * static_cast<int64_t>(sizeof(S))) = pack;
  }
}

template <class S, class C, class Step>
__global__ void step_of_tensors(Tensors t, Step coefficients) {
  int low = 0, high = t.count;  // the tensor of this chunk lies in [low, high)
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (t.chunk[middle] <= blockIdx.x)
      low = middle;
    else
      high = middle;
  }
  const Step step = step_of(coefficients, t, low);
  char* at[kRuns];
  TN_UNROLL(5)
  for (int k = 0; k < kRuns; ++k) at[k] = t.at[k][low];
  const int64_t begin = static_cast<int64_t>(blockIdx.x - t.chunk[low]) * kChunk;
  const int64_t end = begin + kChunk < t.n[low] ? begin + kChunk : t.n[low];
  constexpr int kWidth = kPackWidth<S> < 4 ? kPackWidth<S> : 4;
  int64_t scalar = begin;
  if (t.aligned >> low & 1) {
    for (int64_t i = begin + static_cast<int64_t>(threadIdx.x) * kWidth; i + kWidth <= end;
         i += int64_t{blockDim.x} * kWidth) {
      step_at<S, C, kWidth>(at, i, step);
    }
    scalar = end - (end - begin) % kWidth;
  }
  for (int64_t i = scalar + threadIdx.x; i < end; i += blockDim.x) step_at<S, C, 1>(at, i, step);
}

// Increments the step count of each tensor.
struct Counts {
  int64_t* at[kMaxTensors];
  int32_t count;
  double lr, beta1, beta2;
  double* factors;
};
__global__ void count_steps(Counts c) {
  const int k = static_cast<int>(threadIdx.x);
  if (k >= c.count) return;
  const double steps = static_cast<double>(++*c.at[k]);
  c.factors[2 * k] = std::sqrt(1 - std::pow(c.beta2, steps));
  c.factors[2 * k + 1] = -c.lr / (1 - std::pow(c.beta1, steps));
}

constexpr uint32_t kCountsArgument = 5;  // of Adam
tn_status counted_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = call->in[kCountsArgument].len * 2 * sizeof(double);
  return TN_OK;
}

// Launches for all tensors, as many as a table holds at a time. factors(k, root, size) sets those
// of tensor k.
template <class Start, class Factors>
void for_each_table(const TensorList (&lists)[kRuns], const double* counted, const Factors& factors,
                    Start&& start) {
  const int64_t count = lists[0].size();
  for (int64_t first = 0; first < count; first += kMaxTensors) {
    Tensors t{};
    if (counted) t.factors = counted + 2 * first;
    for (int64_t k = first; k < count && k < first + kMaxTensors; ++k) {
      uintptr_t addresses = 0;
      for (int i = 0; i < kRuns; ++i) {
        if (lists[i].size() == 0) continue;
        t.at[i][t.count] = lists[i][k].data<char>();
        addresses |= reinterpret_cast<uintptr_t>(t.at[i][t.count]);
      }
      t.n[t.count] = lists[0][k].numel();
      if (!counted) factors(k, t.factor[0][t.count], t.factor[1][t.count]);
      if (addresses % 16 == 0) t.aligned |= uint64_t{1} << t.count;
      t.chunk[t.count + 1] =
          t.chunk[t.count] + static_cast<uint32_t>(ceil_div(t.n[t.count], kChunk));
      ++t.count;
    }
    if (t.chunk[t.count] > 0) start(t, Shape{static_cast<int64_t>(t.chunk[t.count]), kThreads});
  }
}

template <template <class> class Step, class Factors, class Make>
tn_status run(const Call& call, const TensorList (&lists)[kRuns], const double* counted,
              const Factors& factors, const Make& make) {
  dispatch_floating(lists[0][0].dtype(), [&](auto tag) {
    using S = tn_type(tag);
    using C = compute_t<S>;
    static_assert(sizeof(Tensors) + sizeof(Step<C>) <= 4096, "kernel arguments exceed 4096 bytes");
    const Step<C> step = make(Type<C>{});
    for_each_table(lists, counted, factors, [&](const Tensors& t, const Shape& shape) {
      launch<step_of_tensors<S, C, Step<C>>>(call, shape, t, step);
    });
  });
  return TN_OK;
}

// Null if the host counts.
const double* count_on_device(const Call& call, TensorList counts, double lr, double beta1,
                              double beta2) {
  double* const factors = counts.size() != 0 ? call.workspace<double>() : nullptr;
  for (int64_t first = 0; first < counts.size(); first += kMaxTensors) {
    Counts c{{}, 0, lr, beta1, beta2, factors + 2 * first};
    for (int64_t k = first; k < counts.size() && c.count < kMaxTensors; ++k)
      c.at[c.count++] = counts[k].data<int64_t>();
    launch<count_steps>(call, exactly(1, 64), c);
  }
  return factors;
}

struct AdamCall {
  Ints steps;
  TensorList counts;
  double lr, beta1, beta2, decay, shrink, eps;
  bool maximize;
};

tn_status adam(const Call& call, const TensorList (&lists)[kRuns], const AdamCall& o) {
  const auto factors = [&](int64_t k, double& root, double& size) {
    const double count = static_cast<double>(o.steps[k]);
    root = std::sqrt(1 - std::pow(o.beta2, count));
    size = -o.lr / (1 - std::pow(o.beta1, count));
  };
  const bool maxima = lists[4].size() != 0;
  return run<Adam>(call, lists, count_on_device(call, o.counts, o.lr, o.beta1, o.beta2), factors,
                   [&](auto tag) {
                     using C = tn_type(tag);
                     const auto c = [](double v) { return static_cast<C>(v); };
                     return Adam<C>{c(o.beta1), c(o.beta2), c(1 - o.beta1), c(1 - o.beta2),
                                    c(o.eps),   c(o.decay), c(o.shrink),    C(1),
                                    C(0),       o.maximize, maxima};
                   });
}

tn_status fused_adam(Call& call, TensorList self, TensorList grads, TensorList means,
                     TensorList squares, TensorList maxima, TensorList counts, Ints steps,
                     double lr, double beta1, double beta2, double weight_decay, double eps, bool,
                     bool maximize) {
  return adam(call, {self, grads, means, squares, maxima},
              {steps, counts, lr, beta1, beta2, weight_decay, 1, eps, maximize});
}

tn_status fused_adamw(Call& call, TensorList self, TensorList grads, TensorList means,
                      TensorList squares, TensorList maxima, TensorList counts, Ints steps,
                      double lr, double beta1, double beta2, double weight_decay, double eps, bool,
                      bool maximize) {
  const double shrink = weight_decay == 0 ? 1 : 1 - lr * weight_decay;
  return adam(call, {self, grads, means, squares, maxima},
              {steps, counts, lr, beta1, beta2, 0, shrink, eps, maximize});
}

tn_status fused_sgd(Call& call, TensorList self, TensorList grads, TensorList buffers,
                    double weight_decay, double momentum, double lr, double dampening,
                    bool nesterov, bool maximize, bool first) {
  const auto none = [](int64_t, double&, double&) {};
  const bool buffered = buffers.size() != 0;
  return run<Sgd>(call, {self, grads, buffers, {}, {}}, nullptr, none, [&](auto tag) {
    using C = tn_type(tag);
    const auto c = [](double v) { return static_cast<C>(v); };
    return Sgd<C>{c(lr),    c(momentum), c(1 - dampening), c(weight_decay), nesterov,
                  maximize, first,       buffered};
  });
}

}  // namespace

TN_KERNEL(_fused_sgd_, fused_sgd, dtypes("floating").capture_safe());
TN_KERNEL(_adam_step_, fused_adam, dtypes("floating").workspace(counted_workspace).capture_safe());
TN_KERNEL(_adamw_step_, fused_adamw,
          dtypes("floating").workspace(counted_workspace).capture_safe());

}  // namespace tenon::cuda
