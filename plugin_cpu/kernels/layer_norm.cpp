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
#include "plugin_cpu/rowwise/norm_rows.h"

namespace {

using namespace tenon::sdk;
using namespace tenon::cpu;

tn_status layer_norm(Call&, Tensor out, Tensor mean, Tensor rstd, Tensor input, Ints shape,
                     OptTensor weight, OptTensor bias, double eps) {
  const int64_t n = product(shape), rows = mean.numel();
  dispatch_floating(input.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = Wide<T>;
    const auto w = parameter<T>(weight, weight.defined() ? n : 0, C(1));
    const auto b = parameter<T>(bias, bias.defined() ? n : 0, C(0));
    const bool non_temporal = passes_caches<T>(rows * n);
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

tn_status layer_norm_backward(Call&, Tensor grad_input, Tensor grad_weight, Tensor grad_bias,
                              Tensor grad, Tensor input, Ints shape, Tensor mean, Tensor rstd,
                              OptTensor weight, OptTensor, Bools) {
  const int64_t n = product(shape), rows = mean.numel();
  dispatch_floating(input.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = Wide<T>;
    const auto w = parameter<T>(weight, weight.defined() ? n : 0, C(1));
    const bool parameters = grad_weight.defined() || grad_bias.defined();
    const auto [block, blocks] = blocks_of_rows(rows, n);  // runs of sums for weight and for bias
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
    if (grad_weight.defined()) add_blocks(grad_weight.data<T>(), parts, blocks, 2 * n, n);
    if (grad_bias.defined()) add_blocks(grad_bias.data<T>(), parts + n, blocks, 2 * n, n);
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(native_layer_norm, layer_norm, dtypes("floating"));
TN_KERNEL(native_layer_norm_backward, layer_norm_backward, dtypes("floating"));
