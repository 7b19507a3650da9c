// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Layer normalization and its gradient. Overwritten: all outputs. Gradients of parameters are
// summed over fixed blocks of rows, then over the blocks in order.
#include "tenon/sdk/ops/native_layer_norm.h"
#include "tenon/sdk/ops/native_layer_norm_backward.h"

#include <cmath>

#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/memory/floats.h"
#include "plugin_cpu/rowwise/moments.h"

namespace {

using namespace tenon::sdk;
using namespace tenon::cpu;

// Bytes; a larger result leaves the caches before it is read, so fetching its lines for writing is
// wasted.
constexpr int64_t kNonTemporalBytes = 32 << 20;

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
        const Statistics<C> s = n > 0 ? row_statistics(x, n, eps) : Statistics<C>{C(NAN), C(NAN)};
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

}  // namespace

TN_KERNEL(native_layer_norm, layer_norm, dtypes("floating"));
TN_KERNEL(native_layer_norm_backward, layer_norm_backward, dtypes("floating"));
