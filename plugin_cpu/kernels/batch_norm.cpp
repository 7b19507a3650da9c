// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Batch normalization with statistics of the batch or given ones, and its gradient. Overwritten:
// all outputs; the running statistics move. A channel belongs to one task; its sums run over the
// images in order, in double.
#include "tenon/sdk/ops/_batch_norm_eval.h"
#include "tenon/sdk/ops/_batch_norm_train.h"
#include "tenon/sdk/ops/native_batch_norm_backward.h"

#include <cmath>

#include "plugin_cpu/memory/along_dim.h"
#include "plugin_cpu/memory/floats.h"
#include "plugin_cpu/rowwise/moments.h"

namespace {

using namespace tenon::sdk;
using namespace tenon::cpu;

struct Shape {
  int64_t batch = 1, channels = 0, plane = 1;
  explicit Shape(Tensor t) {
    if (t.ndim() < 2) return;
    batch = t.size(0);
    channels = t.size(1);
    for (int d = 2; d < t.ndim(); ++d) plane *= t.size(d);
  }
  int64_t count() const { return batch * plane; }
  int64_t at(int64_t n, int64_t c) const { return (n * channels + c) * plane; }
  int64_t grain() const { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, count())); }
};

struct Moments {
  double mean, variance;  // biased
};

// Two passes: the second is about the mean, which avoids cancellation.
template <class T>
Moments moments(const Shape& s, const T* x, int64_t c) {
  ReadRun<T> run(s.plane);
  double sum = 0, squares = 0;
  for (int64_t n = 0; n < s.batch; ++n) sum += row_sum(run(x + s.at(n, c), s.plane), s.plane);
  const double mean = sum / static_cast<double>(s.count());
  const auto shift = static_cast<Wide<T>>(mean);
  for (int64_t n = 0; n < s.batch; ++n)
    squares += row_squares(run(x + s.at(n, c), s.plane), s.plane, shift);
  const double off = mean - static_cast<double>(shift);
  const double variance = squares / static_cast<double>(s.count()) - off * off;
  return {mean, variance < 0 ? 0 : variance};  // NaN stays
}

template <class T>
void normalize_channel(const Shape& s, const T* x, T* y, int64_t c, double mean, double rstd,
                       double weight, double bias) {
  ReadRun<T> in(s.plane);
  WriteRun<T> out(s.plane);
  const double a = rstd * weight;
  for (int64_t n = 0; n < s.batch; ++n) {
    const int64_t at = s.at(n, c);
    row_affine(in(x + at, s.plane), out.at(y + at), s.plane, static_cast<Wide<T>>(a),
               static_cast<Wide<T>>(bias - mean * a));
    out.store(y + at, s.plane);
  }
}

template <class T>
void move(T& running, double value, double momentum) {
  running = T(static_cast<Wide<T>>(
      (1 - momentum) * static_cast<double>(static_cast<Wide<T>>(running)) + momentum * value));
}

template <class T>
double item(Tensor t, int64_t c, double fallback) {
  return t.defined() ? static_cast<double>(static_cast<Wide<T>>(t.data<T>()[c * t.stride(0)]))
                     : fallback;
}

tn_status train(Call&, Tensor out, Tensor mean, Tensor rstd, Tensor input, OptTensor weight,
                OptTensor bias, OptTensor running_mean, OptTensor running_var, double momentum,
                double eps) {
  const Shape s(input);
  dispatch_floating(input.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    parallel_for(s.channels, s.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const Moments m = moments(s, input.data<T>(), c);
        const double r = 1 / std::sqrt(m.variance + eps), count = static_cast<double>(s.count());
        mean.data<T>()[c] = T(static_cast<Wide<T>>(m.mean));
        rstd.data<T>()[c] = T(static_cast<Wide<T>>(r));
        if (s.count() == 0) continue;  // an empty batch does not change the running statistics
        if (running_mean.defined()) move(running_mean.data<T>()[c], m.mean, momentum);
        if (running_var.defined())
          move(running_var.data<T>()[c], m.variance * count / (count - 1), momentum);
        normalize_channel(s, input.data<T>(), out.data<T>(), c, m.mean, r, item<T>(weight, c, 1),
                          item<T>(bias, c, 0));
      }
    });
  });
  return TN_OK;
}

tn_status eval(Call&, Tensor out, Tensor input, OptTensor weight, OptTensor bias,
               Tensor running_mean, Tensor running_var, double eps) {
  const Shape s(input);
  dispatch_floating(input.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    parallel_for(s.channels, s.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const double r = 1 / std::sqrt(item<T>(running_var, c, 1) + eps);
        normalize_channel(s, input.data<T>(), out.data<T>(), c, item<T>(running_mean, c, 0), r,
                          item<T>(weight, c, 1), item<T>(bias, c, 0));
      }
    });
  });
  return TN_OK;
}

// dx = weight * rstd * (dy - mean(dy) - xhat * mean(dy * xhat)); with given statistics the two
// means are 0.
tn_status backward(Call&, Tensor grad_input, Tensor grad_weight, Tensor grad_bias, Tensor grad,
                   Tensor input, OptTensor weight, OptTensor running_mean, OptTensor running_var,
                   OptTensor save_mean, OptTensor save_rstd, bool training, double eps, Bools) {
  const Shape s(input);
  const Dense inputs(input);
  std::optional<Dense> grads;
  const bool one = same_everywhere(grad);  // then one plane is used for all
  std::optional<Scratch> row_major;        // of a result that is not
  if (grad_input.defined() && !grad_input.contiguous())
    row_major.emplace(grad_input.sizes(), grad_input.dtype());
  const Tensor slopes = row_major ? row_major->tensor() : grad_input;
  if (!one) grads.emplace(grad);
  dispatch_floating(input.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = Wide<T>;
    const T* const xs = inputs.tensor().data<T>();
    const std::vector<T> plane(static_cast<std::size_t>(one ? s.plane : 0),
                               one ? *grad.data<T>() : T(0));
    const auto dys = [&](int64_t at) {
      return one ? plane.data() : grads->tensor().data<T>() + at;
    };
    parallel_for(s.channels, s.grain(), [&](int64_t begin, int64_t end) {
      ReadRun<T> x(s.plane), dy(s.plane);
      WriteRun<T> dx(s.plane);
      for (int64_t c = begin; c < end; ++c) {
        const double mean = training ? item<T>(save_mean, c, 0) : item<T>(running_mean, c, 0);
        const double rstd =
            training ? item<T>(save_rstd, c, 1) : 1 / std::sqrt(item<T>(running_var, c, 1) + eps);
        const C shift = static_cast<C>(mean);
        double sum = 0, dot = 0;
        for (int64_t n = 0; n < s.batch; ++n) {
          const int64_t at = s.at(n, c);
          const auto part =
              row_weighted_sums(dy(dys(at), s.plane), x(xs + at, s.plane), nullptr, s.plane, shift);
          sum += part.first;
          dot += part.second;
        }
        dot *= rstd;
        if (grad_weight.defined()) grad_weight.data<T>()[c] = T(static_cast<C>(dot));
        if (grad_bias.defined()) grad_bias.data<T>()[c] = T(static_cast<C>(sum));
        if (!slopes.defined()) continue;
        const double a = item<T>(weight, c, 1) * rstd, count = static_cast<double>(s.count());
        const C by_x = static_cast<C>(training ? -rstd * dot / count : 0);
        const C constant = static_cast<C>(training ? -sum / count : 0);
        for (int64_t n = 0; n < s.batch; ++n) {
          const int64_t at = s.at(n, c);
          T* to = slopes.data<T>() + at;
          row_gradient(dy(dys(at), s.plane), x(xs + at, s.plane), nullptr, dx.at(to), s.plane,
                       shift, static_cast<C>(a), by_x, constant);
          dx.store(to, s.plane);
        }
      }
    });
  });
  if (row_major) copy_elements(grad_input, slopes);
  return TN_OK;
}

}  // namespace

TN_KERNEL(_batch_norm_train, train, dtypes("floating"));
TN_KERNEL(_batch_norm_eval, eval, dtypes("floating"));
TN_KERNEL(native_batch_norm_backward, backward, dtypes("floating").any_strides());
