// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Losses against classes.
#include <algorithm>

#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/reduction.h"
#include "tenon/ops/wide.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {

Tensor nll_loss(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                int64_t reduction, int64_t ignore_index) {
  return std::get<0>(tenon::nll_loss_forward(self, target, weight, reduction, ignore_index));
}

Tensor nll_loss2d(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                  int64_t reduction, int64_t ignore_index) {
  return std::get<0>(tenon::nll_loss2d_forward(self, target, weight, reduction, ignore_index));
}

Tensor nll_loss_nd(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                   int64_t reduction, int64_t ignore_index) {
  TENON_CHECK(self.dim() > 0, ValueError, "nll_loss_nd: expected 1 or more dimensions, got 0");
  if (self.dim() != 1) {
    const int64_t batch = target.dim() > 0 ? target.size(0) : 1;
    TENON_CHECK(self.size(0) == batch, ValueError, "nll_loss_nd: batch size of input (",
                self.size(0), ") and target (", batch, ") differ");
  }
  if (self.dim() <= 2) return tenon::nll_loss(self, target, weight, reduction, ignore_index);
  if (self.dim() == 4) return tenon::nll_loss2d(self, target, weight, reduction, ignore_index);
  std::vector<int64_t> expected = self.sizes().vec();
  expected.erase(expected.begin() + 1);
  TENON_CHECK(target.sizes() == IntArrayRef(expected), ValueError,
              "nll_loss_nd: expected a target of shape ", IntArrayRef(expected), ", got ",
              target.sizes());
  const int64_t n = self.size(0), classes = self.size(1);
  int64_t plane = 1;
  for (std::size_t d = 1; d < expected.size(); ++d) plane *= expected[d];
  const Tensor out =
      tenon::nll_loss2d(self.reshape({n, classes, 1, plane}), target.reshape({n, 1, plane}), weight,
                        reduction, ignore_index);
  return reduction == kReduceNone ? out.reshape(expected) : out;
}

namespace {

// [C] placed at dimension `at` of `ndim`.
Tensor reshape_along(const Tensor& weight, int64_t ndim, int64_t at) {
  std::vector<int64_t> sizes(static_cast<std::size_t>(ndim), 1);
  sizes[static_cast<std::size_t>(at)] = weight.numel();
  return weight.reshape(sizes);
}

Tensor against_probabilities(const Tensor& self, Tensor target, const std::optional<Tensor>& weight,
                             int64_t reduction, double smoothing, int64_t class_dim) {
  TENON_CHECK(target.is_floating_point(), TypeError,
              "cross_entropy_loss: a target of probabilities must have a floating dtype, got ",
              dtype_name(target.scalar_type()));
  const int64_t classes = self.size(class_dim);
  if (smoothing > 0) target = target * (1 - smoothing) + smoothing / static_cast<double>(classes);
  Tensor loss = tenon::log_softmax(self, class_dim) * target;
  if (weight && weight->defined()) loss = loss * reshape_along(*weight, self.dim(), class_dim);
  if (reduction == kReduceNone) return -loss.sum({class_dim});
  if (reduction == kReduceSum) return -loss.sum();
  return -loss.sum() / (static_cast<double>(self.numel()) / static_cast<double>(classes));
}

Tensor smooth_labels(const Tensor& log_probability, const Tensor& target,
                     const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index,
                     double smoothing, int64_t class_dim) {
  const bool weighted = weight && weight->defined();
  const Tensor nll = tenon::nll_loss_nd(log_probability, target, weight, reduction, ignore_index);
  const Tensor all =
      weighted ? log_probability * reshape_along(*weight, log_probability.dim(), class_dim)
               : log_probability;
  const Tensor ignored = target == ignore_index;
  Tensor smooth = -all.sum({class_dim}).masked_fill(ignored, 0);
  if (reduction == kReduceSum) smooth = smooth.sum();
  if (reduction == kReduceMean) {
    if (weighted) {
      const Tensor used = weight->gather(0, target.masked_fill(ignored, 0).flatten());
      smooth = smooth.sum() / used.masked_fill(ignored.flatten(), 0).sum();
    } else {
      smooth = smooth.sum() / tenon::logical_not(ignored).sum().to(smooth.scalar_type());
    }
  }
  return nll * (1 - smoothing) +
         smooth * (smoothing / static_cast<double>(log_probability.size(class_dim)));
}

}  // namespace

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target,
                          const std::optional<Tensor>& weight, int64_t reduction,
                          int64_t ignore_index, double label_smoothing) {
  TENON_CHECK(self.dim() > 0, ValueError,
              "cross_entropy_loss: expected 1 or more dimensions, got 0");
  TENON_CHECK(label_smoothing >= 0 && label_smoothing <= 1, ValueError,
              "cross_entropy_loss: label_smoothing must be within 0 and 1, got ", label_smoothing);
  if (is_short_float(self.scalar_type()) &&
      (label_smoothing > 0 || self.sizes() == target.sizes())) {
    const Tensor loss = composite::cross_entropy_loss(wide(self), wide(target), wide(weight),
                                                      reduction, ignore_index, label_smoothing);
    return isFloatingType(target.scalar_type()) ? rounded(loss, self, target) : rounded(loss, self);
  }
  const int64_t class_dim = self.dim() == 1 ? 0 : 1;
  if (self.sizes() == target.sizes()) {
    return against_probabilities(self, target, weight, reduction, label_smoothing, class_dim);
  }
  const Tensor log_probability = tenon::log_softmax(self, class_dim);
  if (label_smoothing == 0)
    return tenon::nll_loss_nd(log_probability, target, weight, reduction, ignore_index);
  return smooth_labels(log_probability, target, weight, reduction, ignore_index, label_smoothing,
                       class_dim);
}

Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p,
                         const Scalar& margin, const std::optional<Tensor>& weight,
                         int64_t reduction) {
  TENON_CHECK(p.equal(1) || p.equal(2), ValueError, "multi_margin_loss: p must be 1 or 2, got ",
              p.toDouble());
  TENON_CHECK(self.dim() <= 2 && (self.dim() == 0 || self.size(-1) > 0), ValueError,
              "multi_margin_loss: expected a score, a vector or a matrix of scores, got shape ",
              self.sizes());
  const int64_t n = self.dim() == 2 ? self.size(0) : 1, classes = self.dim() ? self.size(-1) : 1;
  TENON_CHECK(target.dim() <= 1 && target.numel() == n, ValueError, "multi_margin_loss: expected ",
              n, " targets, got shape ", target.sizes());
  TENON_CHECK(target.scalar_type() == kLong, TypeError,
              "multi_margin_loss: target must be int64, got ", dtype_name(target.scalar_type()));
  const Tensor x = wide(self).reshape({n, classes}), t = target.reshape({n, 1});
  Tensor loss = tenon::clamp_min(x - x.gather(1, t) + margin, 0);
  if (p.equal(2)) loss = loss * loss;
  if (weight && weight->defined()) {
    TENON_CHECK(weight->dim() == 1 && weight->size(0) == classes, ValueError,
                "multi_margin_loss: weight must have shape [", classes, "], got ", weight->sizes());
    loss = loss * wide(*weight).gather(0, t.flatten()).unsqueeze(1);
  }
  const Tensor own = tenon::arange(classes, t.options()) == t;
  const Tensor out = loss.masked_fill(own, 0).sum({1}) / static_cast<double>(classes);
  return rounded(reduced("multi_margin_loss", target.dim() == 0 ? out.squeeze(0) : out, reduction),
                 self);
}

Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  TENON_CHECK(self.dim() <= 2 && self.numel() > 0 && self.sizes() == target.sizes(), ValueError,
              "multilabel_margin_loss: expected a vector or matrix of scores and a target of its "
              "shape, got shapes ",
              self.sizes(), " and ", target.sizes());
  const int64_t n = self.dim() == 2 ? self.size(0) : 1, classes = self.dim() ? self.size(-1) : 1;
  const Tensor x = wide(self).reshape({n, classes}), t = target.to(kLong).reshape({n, classes});
  const Tensor valid = (t < 0).to(kLong).cumsum(1) == 0;  // up to the first -1
  const Tensor safe = tenon::clamp_min(t, 0);
  const Tensor hit = tenon::zeros_like(t).scatter_add(1, safe, valid.to(kLong)) > 0;
  // [n, target, class]
  const Tensor gap = tenon::clamp_min(1 - x.gather(1, safe).unsqueeze(2) + x.unsqueeze(1), 0);
  const Tensor counts =
      tenon::logical_and(valid.unsqueeze(2), tenon::logical_not(hit).unsqueeze(1));
  const Tensor out =
      gap.masked_fill(tenon::logical_not(counts), 0).sum({1, 2}) / static_cast<double>(classes);
  return rounded(
      reduced("multilabel_margin_loss", self.dim() < 2 ? out.squeeze(0) : out, reduction), self);
}

}  // namespace tenon::composite
