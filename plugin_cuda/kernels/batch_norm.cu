// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Batch normalization and its gradient: sums over parts of the channels, one block per channel that
// combines them in double, and a pass over the elements.
#include <cmath>

#include "plugin_cuda/device/planes.cuh"
#include "tenon/sdk/ops/_batch_norm_eval.h"
#include "tenon/sdk/ops/_batch_norm_train.h"
#include "tenon/sdk/ops/native_batch_norm_backward.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

Planes planes_of(const Tensor& t) {
  Planes s{1, 0, 1};
  if (t.ndim() < 2) return s;
  s.batch = t.size(0);
  s.channels = t.size(1);
  for (int d = 2; d < t.ndim(); ++d) s.plane *= t.size(d);
  return s;
}

struct Train {
  Dense mean, rstd, weight, bias, running_mean, running_var;
  int64_t channels, parts;
  double momentum, eps;
};

TN_DEVICE void update_running(const Dense& running, int64_t c, double value, double momentum) {
  if (running.p != nullptr)
    running.put(c, (1 - momentum) * running.get<double>(c) + momentum * value);
}

template <class C>
TN_DEVICE Affine<C> affine_of(double mean, double rstd, const Dense& weight, const Dense& bias,
                              int64_t c) {
  return {static_cast<C>(mean), static_cast<C>(rstd * weight.get_or(c, 1.0)),
          static_cast<C>(bias.get_or(c, 0.0))};
}

template <class C>
__global__ void finish_training(Train t, const Moments<C>* parts, Affine<C>* by) {
  for (int64_t c = blockIdx.x; c < t.channels; c += gridDim.x) {
    const Moments<double> m = channel_moments(parts + c * t.parts, t.parts);
    if (threadIdx.x != 0) continue;
    const bool empty = m.count == 0;
    const double mean = empty ? static_cast<double>(NAN) : m.mean,
                 variance = empty ? 0 : m.squares / m.count;
    const double rstd = 1 / std::sqrt(variance + t.eps);
    t.mean.put(c, mean);
    t.rstd.put(c, rstd);
    if (empty) continue;  // the running statistics stay
    update_running(t.running_mean, c, mean, t.momentum);
    update_running(t.running_var, c, m.squares / (m.count - 1), t.momentum);
    by[c] = affine_of<C>(mean, rstd, t.weight, t.bias, c);
  }
}

template <class C>
__global__ void given_statistics(Dense mean, Dense var, Dense weight, Dense bias, int64_t channels,
                                 double eps, Affine<C>* by) {
  for (int64_t c = global_thread(); c < channels; c += global_threads()) {
    by[c] =
        affine_of<C>(mean.get<double>(c), 1 / std::sqrt(var.get<double>(c) + eps), weight, bias, c);
  }
}

struct Backward {
  Dense grad_weight, grad_bias, weight, mean, var, rstd;  // either var or rstd
  int64_t channels, parts;
  double count, eps;
  bool training;
};

// dx = weight * rstd * (dy - mean(dy) - xhat * mean(dy * xhat)); with given statistics the means
// are zero.
template <class C>
__global__ void finish_gradient(Backward b, const Two<C>* parts, Slopes<C>* by) {
  for (int64_t c = blockIdx.x; c < b.channels; c += gridDim.x) {
    Two<double> sums{0, 0};
    for (int64_t p = threadIdx.x; p < b.parts; p += blockDim.x) {
      const Two<C> one = parts[c * b.parts + p];
      sums.a += static_cast<double>(one.a);
      sums.b += static_cast<double>(one.b);
    }
    sums = block_reduce(sums, Two<double>{0, 0}, AddTwo());
    if (threadIdx.x != 0) continue;
    const double rstd =
        b.training ? b.rstd.get<double>(c) : 1 / std::sqrt(b.var.get<double>(c) + b.eps);
    const double dot = sums.b * rstd, a = b.weight.get_or(c, 1.0) * rstd;
    if (b.grad_weight.p != nullptr) b.grad_weight.put(c, dot);
    if (b.grad_bias.p != nullptr) b.grad_bias.put(c, sums.a);
    by[c] = {b.mean.get<C>(c), static_cast<C>(a),
             static_cast<C>(b.training ? -a * rstd * dot / b.count : 0),
             static_cast<C>(b.training ? -a * sums.a / b.count : 0)};
  }
}

// The coefficients of the channels follow the parts.
void* coefficients_of(const Call& call, const Planes& s) {
  return call.workspace<char>() + s.part_bytes();
}
template <int kInput>
tn_status workspace(tn_call* call, uint64_t* bytes) {
  const Planes s = planes_of(Tensor(call->in[kInput].u.tensor));
  *bytes =
      s.fits() ? s.part_bytes() + static_cast<uint64_t>(s.channels) * sizeof(Slopes<double>) : 0;
  return TN_OK;
}

tn_status train(Call& call, Tensor out, Tensor mean, Tensor rstd, Tensor input, OptTensor weight,
                OptTensor bias, OptTensor running_mean, OptTensor running_var, double momentum,
                double eps) {
  const Planes s = planes_of(input);
  if (!s.fits()) return TN_DECLINED;
  if (s.channels == 0) return TN_OK;
  part_moments(call, s, input, call.workspace());
  const Train t{Dense(mean),        Dense(rstd), Dense(weight), Dense(bias), Dense(running_mean),
                Dense(running_var), s.channels,  s.parts(),     momentum,    eps};
  void* const by = coefficients_of(call, s);
  with_real(input.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    launch<finish_training<C>>(call, combine_shape(call, s.channels, t.parts), t,
                               call.workspace<Moments<C>>(), static_cast<Affine<C>*>(by));
  });
  apply_affine(call, s, input, out, by);
  return TN_OK;
}

tn_status eval(Call& call, Tensor out, Tensor input, OptTensor weight, OptTensor bias,
               Tensor running_mean, Tensor running_var, double eps) {
  const Planes s = planes_of(input);
  if (!s.fits()) return TN_DECLINED;
  if (input.numel() == 0) return TN_OK;
  void* const by = coefficients_of(call, s);
  with_real(input.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    launch<given_statistics<C>>(call, shape_for(call, s.channels, 128), Dense(running_mean),
                                Dense(running_var), Dense(weight), Dense(bias), s.channels, eps,
                                static_cast<Affine<C>*>(by));
  });
  apply_affine(call, s, input, out, by);
  return TN_OK;
}

tn_status backward(Call& call, Tensor grad_input, Tensor grad_weight, Tensor grad_bias, Tensor grad,
                   Tensor input, OptTensor weight, OptTensor running_mean, OptTensor running_var,
                   OptTensor save_mean, OptTensor save_rstd, bool training, double eps, Bools) {
  const Planes s = planes_of(input);
  if (!s.fits()) return TN_DECLINED;
  if (s.channels == 0) return TN_OK;
  const Tensor mean = training ? save_mean : running_mean;
  part_gradient_sums(call, s, grad, input, mean, 1, call.workspace());
  const Backward b{Dense(grad_weight),
                   Dense(grad_bias),
                   Dense(weight),
                   Dense(mean),
                   Dense(running_var),
                   Dense(save_rstd),
                   s.channels,
                   s.parts(),
                   static_cast<double>(s.count()),
                   eps,
                   training};
  void* const by = coefficients_of(call, s);
  with_real(input.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    launch<finish_gradient<C>>(call, combine_shape(call, s.channels, b.parts), b,
                               call.workspace<Two<C>>(), static_cast<Slopes<C>*>(by));
  });
  if (grad_input.defined()) apply_gradient(call, s, grad, input, grad_input, by);
  return TN_OK;
}

}  // namespace

TN_KERNEL(_batch_norm_train, train, dtypes("floating").workspace(workspace<0>).capture_safe());
TN_KERNEL(_batch_norm_eval, eval, dtypes("floating").workspace(workspace<0>).capture_safe());
TN_KERNEL(native_batch_norm_backward, backward,
          dtypes("floating").workspace(workspace<1>).capture_safe());

}  // namespace tenon::cuda
