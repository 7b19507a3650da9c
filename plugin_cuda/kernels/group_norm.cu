// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Group normalization and its gradient. Forward, the sums are per group of an image; backward, per
// channel of an image, since weights differ within a group.
#include <cmath>

#include "plugin_cuda/device/planes.cuh"
#include "tenon/sdk/ops/native_group_norm.h"
#include "tenon/sdk/ops/native_group_norm_backward.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

struct Groups {
  int64_t batch, channels, plane, groups;
  TN_HD int64_t rows() const { return batch * groups; }
  TN_HD int64_t per_group() const { return channels / groups; }
  Planes by_group() const { return {1, rows(), per_group() * plane}; }
  Planes by_channel() const { return {1, batch * channels, plane}; }
  bool fits() const { return by_group().fits() && by_channel().fits(); }
};

struct Forward {
  Groups s;
  Dense mean, rstd, weight, bias;
  int64_t parts;
  double eps;
};

// One block per group.
template <class C>
__global__ void finish(Forward f, const Moments<C>* parts, Affine<C>* by) {
  const int64_t per_group = f.s.per_group();
  for (int64_t row = blockIdx.x; row < f.s.rows(); row += gridDim.x) {
    const Moments<double> m = channel_moments(parts + row * f.parts, f.parts);
    const double nan = static_cast<double>(NAN), mean = m.count == 0 ? nan : m.mean;
    const double rstd = m.count == 0 ? nan : 1 / std::sqrt(m.squares / m.count + f.eps);
    for (int64_t k = threadIdx.x; k < per_group; k += blockDim.x) {
      const int64_t c = row % f.s.groups * per_group + k;
      by[row * per_group + k] = {static_cast<C>(mean),
                                 static_cast<C>(rstd * f.weight.get_or(c, 1.0)),
                                 static_cast<C>(f.bias.get_or(c, 0.0))};
    }
    if (threadIdx.x != 0) continue;
    f.mean.put(row, mean);
    f.rstd.put(row, rstd);
  }
}

struct Backward {
  Groups s;
  Dense grad_weight, grad_bias, mean, rstd, weight;
  int64_t parts;  // of a channel of an image
};

template <class C>
TN_DEVICE Two<double> sums_of(const Backward& b, const Two<C>* parts, int64_t channel) {
  Two<double> sums{0, 0};
  for (int64_t p = 0; p < b.parts; ++p) {
    const Two<C> one = parts[channel * b.parts + p];
    sums.a += static_cast<double>(one.a);
    sums.b += static_cast<double>(one.b);
  }
  return sums;
}

// One block per group. dx = rstd * (g - mean(g) - xhat * mean(g * xhat)) with g = dy * weight.
template <class C>
__global__ void finish_input(Backward b, const Two<C>* parts, Slopes<C>* by) {
  const int64_t per_group = b.s.per_group();
  const double count = static_cast<double>(per_group * b.s.plane);
  for (int64_t row = blockIdx.x; row < b.s.rows(); row += gridDim.x) {
    const double rstd = b.rstd.get<double>(row);
    const int64_t first = row % b.s.groups * per_group;
    Two<double> sums{0, 0};
    for (int64_t k = threadIdx.x; k < per_group; k += blockDim.x) {
      const double w = b.weight.get_or(first + k, 1.0);
      const Two<double> one = sums_of(b, parts, row * per_group + k);
      sums.a += w * one.a;
      sums.b += w * one.b;
    }
    sums = block_reduce(sums, Two<double>{0, 0}, AddTwo());
    for (int64_t k = threadIdx.x; k < per_group; k += blockDim.x) {
      by[row * per_group + k] = {b.mean.get<C>(row),
                                 static_cast<C>(rstd * b.weight.get_or(first + k, 1.0)),
                                 static_cast<C>(-rstd * rstd * rstd * sums.b / count),
                                 static_cast<C>(-rstd * sums.a / count)};
    }
  }
}

// One block per channel, over the images.
template <class C>
__global__ void finish_parameters(Backward b, const Two<C>* parts) {
  for (int64_t c = blockIdx.x; c < b.s.channels; c += gridDim.x) {
    Two<double> sums{0, 0};
    for (int64_t n = threadIdx.x; n < b.s.batch; n += blockDim.x) {
      const Two<double> one = sums_of(b, parts, n * b.s.channels + c);
      sums.a += one.a;
      sums.b += one.b * b.rstd.get<double>(n * b.s.groups + c / b.s.per_group());
    }
    sums = block_reduce(sums, Two<double>{0, 0}, AddTwo());
    if (threadIdx.x != 0) continue;
    if (b.grad_bias.p != nullptr) b.grad_bias.put(c, sums.a);
    if (b.grad_weight.p != nullptr) b.grad_weight.put(c, sums.b);
  }
}

// The parts, then the coefficients of the elements.
uint64_t bytes_of(const Groups& s, const Planes& parts) {
  return parts.part_bytes() + static_cast<uint64_t>(s.batch * s.channels) * sizeof(Slopes<double>);
}
Groups groups_at(const tn_value* v) { return {v[0].u.i64, v[1].u.i64, v[2].u.i64, v[3].u.i64}; }

tn_status forward_workspace(tn_call* call, uint64_t* bytes) {
  const Groups s = groups_at(call->in + 3);
  *bytes = s.fits() ? bytes_of(s, s.by_group()) : 0;
  return TN_OK;
}
tn_status backward_workspace(tn_call* call, uint64_t* bytes) {
  const Groups s = groups_at(call->in + 5);
  *bytes = s.fits() ? bytes_of(s, s.by_channel()) : 0;
  return TN_OK;
}

tn_status group_norm(Call& call, Tensor out, Tensor mean, Tensor rstd, Tensor input,
                     OptTensor weight, OptTensor bias, int64_t batch, int64_t channels,
                     int64_t plane, int64_t groups, double eps) {
  const Groups s{batch, channels, plane, groups};
  if (!s.fits()) return TN_DECLINED;
  if (s.rows() == 0) return TN_OK;
  const Planes rows = s.by_group();
  part_moments(call, rows, input, call.workspace());
  const Forward f{s, Dense(mean), Dense(rstd), Dense(weight), Dense(bias), rows.parts(), eps};
  void* const by = call.workspace<char>() + rows.part_bytes();
  with_real(input.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    launch<finish<C>>(call, combine_shape(call, s.rows(), f.parts), f, call.workspace<Moments<C>>(),
                      static_cast<Affine<C>*>(by));
  });
  apply_affine(call, s.by_channel(), input, out, by);
  return TN_OK;
}

template <class C>
void finish_gradients(const Call& call, const Backward& b, bool input, bool parameters, void* by) {
  const Two<C>* const parts = call.workspace<Two<C>>();
  if (input) {
    launch<finish_input<C>>(call, combine_shape(call, b.s.rows(), b.s.per_group()), b, parts,
                            static_cast<Slopes<C>*>(by));
  }
  if (parameters)
    launch<finish_parameters<C>>(call, combine_shape(call, b.s.channels, b.s.batch), b, parts);
}

tn_status group_norm_backward(Call& call, Tensor grad_input, Tensor grad_weight, Tensor grad_bias,
                              Tensor grad, Tensor input, Tensor mean, Tensor rstd, OptTensor weight,
                              int64_t batch, int64_t channels, int64_t plane, int64_t groups,
                              Bools) {
  const Groups s{batch, channels, plane, groups};
  if (!s.fits()) return TN_DECLINED;
  if (channels == 0) return TN_OK;
  const Planes planes = s.by_channel();
  part_gradient_sums(call, planes, grad, input, mean, s.per_group(), call.workspace());
  const Backward b{s,           Dense(grad_weight), Dense(grad_bias), Dense(mean),
                   Dense(rstd), Dense(weight),      planes.parts()};
  void* const by = call.workspace<char>() + planes.part_bytes();
  const bool elements = grad_input.defined() && input.numel() > 0,
             sums = grad_weight.defined() || grad_bias.defined();
  if (input.dtype() == kFloat64)
    finish_gradients<double>(call, b, elements, sums, by);
  else
    finish_gradients<float>(call, b, elements, sums, by);
  if (elements) apply_gradient(call, planes, grad, input, grad_input, by);
  return TN_OK;
}

}  // namespace

TN_KERNEL(native_group_norm, group_norm,
          dtypes("floating").workspace(forward_workspace).capture_safe());
TN_KERNEL(native_group_norm_backward, group_norm_backward,
          dtypes("floating").workspace(backward_workspace).capture_safe());

}  // namespace tenon::cuda
