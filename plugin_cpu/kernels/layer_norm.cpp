// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Layer and group normalization and their gradients. Overwritten: all outputs. Gradients of
// parameters are summed over fixed blocks of rows, then over the blocks in order.
#include "tenon/sdk/ops/native_group_norm.h"
#include "tenon/sdk/ops/native_group_norm_backward.h"
#include "tenon/sdk/ops/native_layer_norm.h"
#include "tenon/sdk/ops/native_layer_norm_backward.h"

#include <cmath>

#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/memory/floats.h"
#include "plugin_cpu/rowwise/moments.h"

namespace {

using namespace tenon::sdk;
using namespace tenon::cpu;

template <class C>
struct Statistics {
  C mean, rstd;
};

template <class C>
Statistics<C> statistics(const C* x, int64_t n, double eps) {
  const C mean = row_sum(x, n) / static_cast<C>(n);
  const C variance = row_squares(x, n, mean) / static_cast<C>(n);
  return {mean, static_cast<C>(1 / std::sqrt(static_cast<double>(variance) + eps))};
}

// Bytes; a larger result leaves the caches before it is read, so fetching its lines for writing is
// wasted.
constexpr int64_t kNonTemporalBytes = 32 << 20;

int64_t row_grain(int64_t n) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n)); }

int64_t product(Ints v) {
  int64_t n = 1;
  for (int64_t i : v) n *= i;
  return n;
}

tn_status layer_norm(Call&, Tensor out, Tensor mean, Tensor rstd, Tensor input, Ints shape,
                     OptTensor weight, OptTensor bias, double eps) {
  const int64_t n = product(shape), rows = mean.numel();
  dispatch_floating(input.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = Wide<T>;
    const auto w = parameter<T>(weight, weight.defined() ? n : 0, C(1));
    const auto b = parameter<T>(bias, bias.defined() ? n : 0, C(0));
    const bool non_temporal =
        std::is_same_v<T, C> && rows * n * static_cast<int64_t>(sizeof(T)) >= kNonTemporalBytes;
    parallel_for(rows, row_grain(n), [&](int64_t begin, int64_t end) {
      ReadRun<T> in(n);
      WriteRun<T> to(n);
      for (int64_t i = begin; i < end; ++i) {
        const C* x = in(input.data<T>() + i * n, n);
        const Statistics<C> s = n > 0 ? statistics(x, n, eps) : Statistics<C>{C(NAN), C(NAN)};
        T* y = out.data<T>() + i * n;
        row_normalize(x, w.empty() ? nullptr : w.data(), b.empty() ? nullptr : b.data(), to.at(y),
                      n, s.mean, s.rstd, non_temporal);
        to.store(y, n);
        mean.data<T>()[i] = T(s.mean);
        rstd.data<T>()[i] = T(s.rstd);
      }
    });
  });
  return TN_OK;
}

// dx = rstd * (g - mean(g) - xhat * mean(g * xhat)) with g = dy * w
template <class C>
void gradient_row(const C* dy, const C* x, const C* w, C* dx, int64_t n, C mean, C rstd) {
  const Pair<C> sums = row_weighted_sums(dy, x, w, n, mean);
  const C count = static_cast<C>(n);
  row_gradient(dy, x, w, dx, n, mean, rstd, -rstd * rstd * sums.second / count,
               -sums.first / count);
}

// Adds `blocks` runs of n sums, one after the other, and rounds once.
template <class T>
void add_blocks(Tensor out, const Wide<T>* parts, int64_t blocks, int64_t step, int64_t n) {
  if (!out.defined()) return;
  parallel_for(n, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      Wide<T> sum = 0;
      for (int64_t q = 0; q < blocks; ++q) sum += parts[q * step + j];
      out.data<T>()[j] = T(sum);
    }
  });
}

tn_status layer_norm_backward(Call&, Tensor grad_input, Tensor grad_weight, Tensor grad_bias,
                              Tensor grad, Tensor input, Ints shape, Tensor mean, Tensor rstd,
                              OptTensor weight, OptTensor, Bools) {
  const int64_t n = product(shape), rows = mean.numel();
  dispatch_floating(input.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = Wide<T>;
    const auto w = parameter<T>(weight, weight.defined() ? n : 0, C(1));
    const bool parameters = grad_weight.defined() || grad_bias.defined();
    // At most 16 blocks: each has a run of sums for weight and one for bias.
    const int64_t block = std::max(row_grain(n), (rows + 15) / 16),
                  blocks = (rows + block - 1) / block;
    Buffer memory(
        parameters ? std::max<int64_t>(1, blocks) * 2 * n * static_cast<int64_t>(sizeof(C)) : 0);
    C* parts = memory.as<C>();
    parallel_for(rows, block, [&](int64_t begin, int64_t end) {
      ReadRun<T> dys(n), xs(n);
      WriteRun<T> to(n);
      C* part = parameters ? parts + begin / block * 2 * n : nullptr;
      if (part) std::fill(part, part + 2 * n, C(0));
      for (int64_t i = begin; i < end; ++i) {
        const C *dy = dys(grad.data<T>() + i * n, n), *x = xs(input.data<T>() + i * n, n);
        const C m = static_cast<C>(mean.data<T>()[i]), r = static_cast<C>(rstd.data<T>()[i]);
        if (grad_input.defined()) {
          T* dx = grad_input.data<T>() + i * n;
          gradient_row<C>(dy, x, w.empty() ? nullptr : w.data(), to.at(dx), n, m, r);
          to.store(dx, n);
        }
        if (part) row_add_parameters(dy, x, part, part + n, n, m, r);
      }
    });
    add_blocks<T>(grad_weight, parts, blocks, 2 * n, n);
    add_blocks<T>(grad_bias, parameters ? parts + n : nullptr, blocks, 2 * n, n);
  });
  return TN_OK;
}

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
        const Statistics<C> s = n > 0 ? statistics(x, n, eps) : Statistics<C>{C(NAN), C(NAN)};
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

TN_KERNEL(native_layer_norm, layer_norm, dtypes("floating"));
TN_KERNEL(native_layer_norm_backward, layer_norm_backward, dtypes("floating"));
TN_KERNEL(native_group_norm, group_norm, dtypes("floating"));
TN_KERNEL(native_group_norm_backward, group_norm_backward, dtypes("floating"));
