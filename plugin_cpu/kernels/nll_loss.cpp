// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// nll_loss and nll_loss2d and their gradients. Overwritten: all outputs. Sums run in double over
// the targets in order.
#include "tenon/sdk/ops/nll_loss2d_backward.h"
#include "tenon/sdk/ops/nll_loss2d_forward.h"
#include "tenon/sdk/ops/nll_loss_backward.h"
#include "tenon/sdk/ops/nll_loss_forward.h"

#include <algorithm>
#include <cmath>

#include "tenon/sdk/kernel.h"

namespace {

using namespace tenon::sdk;

enum Reduction : int64_t { kNone, kMean, kSum };

// [batch, classes, plane]
struct Shape {
  int64_t batch = 1, classes, plane = 1;
  explicit Shape(Tensor t) {
    classes = t.size(t.ndim() == 1 ? 0 : 1);
    if (t.ndim() > 1) batch = t.size(0);
    for (int d = 2; d < t.ndim(); ++d) plane *= t.size(d);
  }
  int64_t at(int64_t i, int64_t c) const { return (i / plane * classes + c) * plane + i % plane; }
};

// f(position of the target, its class) for those that are not ignored. Before anything is written,
// all are checked.
template <class F>
void each_target(const Shape& s, Tensor target, int64_t ignore, F&& f) {
  dispatch_integral(target.dtype(), [&](auto tag) {
    const auto* classes = target.data<tn_type(tag)>();
    const int64_t n = s.batch * s.plane;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t c = static_cast<int64_t>(classes[i]);
      if (c != ignore && (c < 0 || c >= s.classes)) {
        throw Error(TN_ERROR_INDEX, "target ", c, " is out of bounds for ", s.classes, " classes");
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      const int64_t c = static_cast<int64_t>(classes[i]);
      if (c != ignore) f(i, c);
    }
  });
}

tn_status forward(Call&, Tensor out, Tensor total_weight, Tensor self, Tensor target,
                  OptTensor weight, int64_t reduction, int64_t ignore) {
  const Shape s(self);
  // The loss of one sample is its sum, and comes with its weight.
  if (reduction == kNone && self.ndim() == 1) reduction = kSum;
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = compute_t<T>;
    double sum = 0, total = 0;
    T* y = out.data<T>();
    // The check of targets comes first, so `none` is cleared inside.
    bool cleared = reduction != kNone;
    const auto clear = [&] {
      if (!cleared) std::fill_n(y, out.numel(), T(0));
      cleared = true;
    };
    each_target(s, target, ignore, [&](int64_t i, int64_t c) {
      clear();
      const C w = weight.defined() ? static_cast<C>(weight.data<T>()[c]) : C(1);
      const C loss = -w * static_cast<C>(self.data<T>()[s.at(i, c)]);
      if (reduction == kNone) {
        y[i] = T(loss);
        return;
      }
      sum += static_cast<double>(loss);
      total += static_cast<double>(w);
    });
    clear();
    if (reduction != kNone) y[0] = T(static_cast<C>(reduction == kMean ? sum / total : sum));
    *total_weight.data<T>() = T(static_cast<C>(total));
  });
  return TN_OK;
}

tn_status backward(Call&, Tensor out, Tensor grad, Tensor self, Tensor target, OptTensor weight,
                   int64_t reduction, int64_t ignore, Tensor total_weight) {
  const Shape s(self);
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = compute_t<T>;
    T* dx = out.data<T>();
    std::fill_n(dx, out.numel(), T(0));
    const C total = static_cast<C>(*total_weight.data<T>());
    each_target(s, target, ignore, [&](int64_t i, int64_t c) {
      const C w = weight.defined() ? static_cast<C>(weight.data<T>()[c]) : C(1);
      const C g = static_cast<C>(grad.data<T>()[reduction == kNone ? i : 0]);
      dx[s.at(i, c)] = T(reduction == kMean ? -w * g / total : -w * g);
    });
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(nll_loss_forward, forward, dtypes("floating"));
TN_KERNEL(nll_loss2d_forward, forward, dtypes("floating"));
TN_KERNEL(nll_loss_backward, backward, dtypes("floating"));
TN_KERNEL(nll_loss2d_backward, backward, dtypes("floating"));
