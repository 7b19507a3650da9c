// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Group normalization and its gradient. Overwritten: all outputs. Gradients of parameters are
// summed over the images in order.
#include "tenon/sdk/ops/native_group_norm.h"
#include "tenon/sdk/ops/native_group_norm_backward.h"

#include <cmath>

#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/memory/floats.h"
#include "plugin_cpu/rowwise/moments.h"

namespace {

using namespace tenon::sdk;
using namespace tenon::cpu;

// A row is a group: channels of `plane` elements each.
tn_status group_norm(Call&, Tensor out, Tensor mean, Tensor rstd, Tensor input, OptTensor weight,
                     OptTensor bias, int64_t batch, int64_t channels, int64_t plane, int64_t groups,
                     double eps) {
  const int64_t per_group = channels / groups, n = per_group * plane;
  dispatch_floating(input.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = Wide<T>;
    const auto w = parameter<T>(weight, channels, C(1)), b = parameter<T>(bias, channels, C(0));
    parallel_for(batch * groups, row_grain(n), [&](int64_t begin, int64_t end) {
      ReadRun<T> in(n);
      WriteRun<T> to(n);
      for (int64_t i = begin; i < end; ++i) {
        const C* x = in(input.data<T>() + i * n, n);
        const Statistics<C> s = n > 0 ? row_statistics(x, n, eps) : Statistics<C>{C(NAN), C(NAN)};
        C* y = to.at(out.data<T>() + i * n);
        for (int64_t k = 0; k < per_group; ++k) {
          const std::size_t c = static_cast<std::size_t>(i % groups * per_group + k);
          const C a = s.rstd * w[c];
          row_affine(x + k * plane, y + k * plane, plane, a, b[c] - s.mean * a);
        }
        to.store(out.data<T>() + i * n, n);
        mean.data<T>()[i] = T(s.mean);
        rstd.data<T>()[i] = T(s.rstd);
      }
    });
  });
  return TN_OK;
}

tn_status group_norm_backward(Call&, Tensor grad_input, Tensor grad_weight, Tensor grad_bias,
                              Tensor grad, Tensor input, Tensor mean, Tensor rstd, OptTensor weight,
                              int64_t batch, int64_t channels, int64_t plane, int64_t groups,
                              Bools) {
  const int64_t per_group = channels / groups, n = per_group * plane;
  dispatch_floating(input.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = Wide<T>;
    const auto w = parameter<T>(weight, channels, C(1));
    // Of every image and channel: sum of dy, sum of dy * (x - mean).
    Buffer memory(batch * channels * 2 * static_cast<int64_t>(sizeof(C)) + 1);
    C* sums = memory.as<C>();
    parallel_for(batch * groups, row_grain(n), [&](int64_t begin, int64_t end) {
      ReadRun<T> dys(n), xs(n);
      WriteRun<T> to(n);
      for (int64_t i = begin; i < end; ++i) {
        const C *dy = dys(grad.data<T>() + i * n, n), *x = xs(input.data<T>() + i * n, n);
        const C m = static_cast<C>(mean.data<T>()[i]), r = static_cast<C>(rstd.data<T>()[i]);
        C first = 0, second = 0;
        for (int64_t k = 0; k < per_group; ++k) {
          const Pair<C> p = row_weighted_sums(dy + k * plane, x + k * plane, nullptr, plane, m);
          const int64_t c = i % groups * per_group + k;
          C* at = sums + (i / groups * channels + c) * 2;
          at[0] = p.first;
          at[1] = p.second * r;
          first += p.first * w[static_cast<std::size_t>(c)];
          second += p.second * w[static_cast<std::size_t>(c)];
        }
        if (!grad_input.defined()) continue;
        const C count = static_cast<C>(n);
        C* dx = to.at(grad_input.data<T>() + i * n);
        for (int64_t k = 0; k < per_group; ++k) {
          const C weight_of = w[static_cast<std::size_t>(i % groups * per_group + k)];
          for (int64_t j = k * plane; j < (k + 1) * plane; ++j) {
            dx[j] =
                r * ((dy[j] * weight_of - first / count) - (x[j] - m) * (r * r * second / count));
          }
        }
        to.store(grad_input.data<T>() + i * n, n);
      }
    });
    for (int64_t c = 0; c < channels; ++c) {
      C db = 0, dw = 0;
      for (int64_t i = 0; i < batch; ++i)
        db += sums[(i * channels + c) * 2], dw += sums[(i * channels + c) * 2 + 1];
      if (grad_bias.defined()) grad_bias.data<T>()[c] = T(db);
      if (grad_weight.defined()) grad_weight.data<T>()[c] = T(dw);
    }
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(native_group_norm, group_norm, dtypes("floating"));
TN_KERNEL(native_group_norm_backward, group_norm_backward, dtypes("floating"));
