// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers with ATen's arguments: counts in tensors, and a scale of the gradients that
// is taken out; nothing happens where found_inf is not 0.
#include <vector>

#include "tenon/autograd/mode.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using OptTensor = std::optional<Tensor>;

// Whether a step is taken; gradients then have their scale taken out, in place.
bool prepare(TensorList grads, const OptTensor& grad_scale, const OptTensor& found_inf) {
  if (found_inf && found_inf->defined() && found_inf->item<double>() != 0) return false;
  if (grad_scale && grad_scale->defined()) {
    const double scale = grad_scale->item<double>();
    for (const Tensor& g : grads) g.div_(scale);
  }
  return true;
}
std::vector<int64_t> counts(const char* op, TensorList self, TensorList steps) {
  TENON_CHECK(steps.size() == self.size(), ValueError, op, ": expected ", self.size(),
              " state_steps, got ", steps.size());
  std::vector<int64_t> out;
  for (const Tensor& t : steps) out.push_back(static_cast<int64_t>(t.item<double>()));
  return out;
}

}  // namespace

#define ADAM(name, step)                                                                           \
  void name(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,        \
            TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1,           \
            double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,            \
            const OptTensor& grad_scale, const OptTensor& found_inf) {                             \
    const NoGradGuard none;                                                                        \
    if (!prepare(grads, grad_scale, found_inf)) return;                                            \
    tenon::step(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, {},                           \
                counts(#name, self, state_steps), lr, beta1, beta2, weight_decay, eps, amsgrad,    \
                maximize);                                                                         \
  }                                                                                                \
  void name##_tensor_lr(TensorList self, TensorList grads, TensorList exp_avgs,                    \
                        TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,                        \
                        TensorList state_steps, const Tensor& lr, double beta1, double beta2,      \
                        double weight_decay, double eps, bool amsgrad, bool maximize,              \
                        const OptTensor& grad_scale, const OptTensor& found_inf) {                 \
    tenon::name(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,                  \
                lr.item<double>(), beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, \
                found_inf);                                                                        \
  }
ADAM(_fused_adam_, _adam_step_)
ADAM(_fused_adamw_, _adamw_step_)
#undef ADAM

void _fused_sgd__tensor_lr(TensorList self, TensorList grads, TensorList momentum_buffer_list,
                           double weight_decay, double momentum, const Tensor& lr, double dampening,
                           bool nesterov, bool maximize, bool is_first_step,
                           const OptTensor& grad_scale, const OptTensor& found_inf) {
  const NoGradGuard none;
  if (!prepare(grads, grad_scale, found_inf)) return;
  tenon::_fused_sgd_(self, grads, momentum_buffer_list, weight_decay, momentum, lr.item<double>(),
                     dampening, nesterov, maximize, is_first_step);
}

void _fused_adagrad_(TensorList self, TensorList grads, TensorList state_sums,
                     TensorList state_steps, double lr, double lr_decay, double weight_decay,
                     double eps, bool maximize, const OptTensor& grad_scale,
                     const OptTensor& found_inf) {
  const NoGradGuard none;
  TENON_CHECK(grads.size() == self.size() && state_sums.size() == self.size(), ValueError,
              "_fused_adagrad_: expected lists of ", self.size(), " tensors");
  if (!prepare(grads, grad_scale, found_inf)) return;
  const std::vector<int64_t> steps = counts("_fused_adagrad_", self, state_steps);
  for (std::size_t i = 0; i < self.size(); ++i) {
    Tensor g = maximize ? grads[i].neg() : grads[i];
    if (weight_decay != 0) g = g + self[i] * weight_decay;
    state_sums[i].addcmul_(g, g);
    const double rate = lr / (1 + static_cast<double>(steps[i] - 1) * lr_decay);
    self[i].addcdiv_(g, state_sums[i].sqrt() + eps, -rate);
  }
}
void _fused_adagrad__tensor_lr(TensorList self, TensorList grads, TensorList state_sums,
                               TensorList state_steps, const Tensor& lr, double lr_decay,
                               double weight_decay, double eps, bool maximize,
                               const OptTensor& grad_scale, const OptTensor& found_inf) {
  tenon::_fused_adagrad_(self, grads, state_sums, state_steps, lr.item<double>(), lr_decay,
                         weight_decay, eps, maximize, grad_scale, found_inf);
}

}  // namespace tenon::composite
