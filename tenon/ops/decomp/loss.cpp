// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The negative log likelihood: classes are selected by gather, their gradients written by scatter.
#include "tenon/ops/decomp/decomp.h"
#include "tenon/ops/reduction.h"

namespace tenon::decomp {
namespace {

using composite::kReduceMean;
using composite::kReduceNone;
using OptTensor = std::optional<Tensor>;

struct Selected {
  int64_t dim;    // of the classes
  Tensor index;   // with that dimension, of size 1
  Tensor weight;  // a target, in its shape; 0 where it is ignored
};

Selected select_targets(const Tensor& self, const Tensor& target, const OptTensor& weight,
                        int64_t ignore) {
  const int64_t dim = self.dim() == 1 ? 0 : 1;
  const Tensor ignored = target.eq(ignore), t = as(target, kLong);
  const Tensor index = tenon::where(ignored, scalar_like(0, t), t),
               kept = as(ignored.logical_not(), wide(self.scalar_type()));
  Selected p{dim, self.dim() == 1 ? index.reshape({1}) : index.unsqueeze(dim), kept};
  if (weight && weight->defined()) {
    const Tensor of_class =
        gather_slices(wide(*weight), 0, index.reshape({-1})).reshape(target.sizes());
    p.weight = tenon::where(ignored, scalar_like(0, of_class), of_class);
  }
  return p;
}

Both forward(const Tensor& self, const Tensor& target, const OptTensor& weight, int64_t reduction,
             int64_t ignore) {
  const Selected p = select_targets(self, target, weight, ignore);
  const Tensor x = wide(self.gather(p.dim, p.index)).reshape(target.sizes());
  const Tensor loss = tenon::where(p.weight.eq(0), scalar_like(0, x), x.neg() * p.weight);
  // The loss of one sample is its sum, and comes with its weight.
  if (reduction == kReduceNone && self.dim() > 1) return {loss, scalar_like(0, x)};
  const Tensor sum = loss.sum(), total = p.weight.sum();
  return {reduction == kReduceMean ? sum / total : sum, total};
}

Tensor backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                const OptTensor& weight, int64_t reduction, int64_t ignore,
                const Tensor& total_weight) {
  const Selected p = select_targets(self, target, weight, ignore);
  Tensor g = p.weight.neg() * wide(grad);
  if (reduction == kReduceMean) g = g / wide(total_weight);
  g = tenon::where(p.weight.eq(0), scalar_like(0, g), g).reshape(p.index.sizes());
  return tenon::prim_scatter(full(self.sizes(), 0, options_of(g)), p.dim, p.index, g,
                             TN_SCATTER_SET);
}

}  // namespace

Both nll_loss_forward(const Tensor& self, const Tensor& target, const OptTensor& weight,
                      int64_t reduction, int64_t ignore) {
  return forward(self, target, weight, reduction, ignore);
}
Both nll_loss2d_forward(const Tensor& self, const Tensor& target, const OptTensor& weight,
                        int64_t reduction, int64_t ignore) {
  return forward(self, target, weight, reduction, ignore);
}
Tensor nll_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                         const OptTensor& weight, int64_t reduction, int64_t ignore,
                         const Tensor& total_weight) {
  return backward(grad, self, target, weight, reduction, ignore, total_weight);
}
Tensor nll_loss2d_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                           const OptTensor& weight, int64_t reduction, int64_t ignore,
                           const Tensor& total_weight) {
  return backward(grad, self, target, weight, reduction, ignore, total_weight);
}

}  // namespace tenon::decomp
