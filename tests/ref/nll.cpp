// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The negative log likelihood of the target classes.
#include "number.h"
#include "tenon/sdk/ops/nll_loss2d_backward.h"
#include "tenon/sdk/ops/nll_loss2d_forward.h"
#include "tenon/sdk/ops/nll_loss_backward.h"
#include "tenon/sdk/ops/nll_loss_forward.h"

namespace {

using namespace tenon::ref;

enum Reduction { kNone, kMean, kSum };

// Classes lie in dimension 1, or in the only one.
tn_status nll(Call&, Tensor out, Tensor total_weight, Tensor self, Tensor target, OptTensor weight,
              int64_t reduction, int64_t ignored) {
  const int64_t classes = self.size(self.ndim() == 1 ? 0 : 1);
  Real sum = 0, total = 0;
  each(target.sizes(), [&](const Index& i) {
    const int64_t c = static_cast<int64_t>(get(target, i));
    Real loss = 0;
    if (c != ignored) {
      if (c < 0 || c >= classes)
        throw tenon::sdk::Error(TN_ERROR_INDEX, "Target ", c, " is out of bounds.");
      Index from = i;
      from.insert(from.begin() + (self.ndim() == 1 ? 0 : 1), c);
      const Real w = weight.defined() ? get(weight, {c}) : 1;
      loss = -w * get(self, from);
      total += w;
    }
    sum += loss;
    if (reduction == kNone) put(out, i, loss);
  });
  if (reduction != kNone) put(out, {}, reduction == kMean ? sum / total : sum);
  put(total_weight, {}, reduction == kNone && self.ndim() > 1 ? 0 : total);
  return TN_OK;
}

tn_status nll_backward(Call&, Tensor out, Tensor grad, Tensor self, Tensor target, OptTensor weight,
                       int64_t reduction, int64_t ignored, Tensor total_weight) {
  each(out.sizes(), [&](const Index& i) { put(out, i, 0); });
  each(target.sizes(), [&](const Index& i) {
    const int64_t c = static_cast<int64_t>(get(target, i)),
                  classes = self.size(self.ndim() == 1 ? 0 : 1);
    if (c == ignored) return;
    if (c < 0 || c >= classes)
      throw tenon::sdk::Error(TN_ERROR_INDEX, "Target ", c, " is out of bounds.");
    const Real g = get(grad, reduction == kNone && grad.ndim() ? i : Index(at(grad.ndim()), 0));
    const Real w = weight.defined() ? get(weight, {c}) : 1;
    Index to = i;
    to.insert(to.begin() + (self.ndim() == 1 ? 0 : 1), c);
    if (self.ndim() == 1) to.resize(1);
    put(out, to, -w * g / (reduction == kMean ? get(total_weight, {}) : 1));
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(nll_loss_backward, nll_backward, dtypes("floating").any_strides().mixed_dtypes());
TN_KERNEL(nll_loss2d_backward, nll_backward, dtypes("floating").any_strides().mixed_dtypes());
TN_KERNEL(nll_loss_forward, nll, dtypes("floating").any_strides().mixed_dtypes());
TN_KERNEL(nll_loss2d_forward, nll, dtypes("floating").any_strides().mixed_dtypes());
