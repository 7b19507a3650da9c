// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers with ATen's arguments: counts in tensors, and a scale of the gradients that
// is taken out; nothing happens where found_inf is not 0.
#include <vector>

#include "tenon/autograd/mode.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/composite/write_list.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using OptTensor = std::optional<Tensor>;

bool is_skipped(const OptTensor& found_inf) {
  return found_inf && found_inf->defined() && found_inf->item<double>() != 0;
}

// The gradients of a step without their scale. It is taken out of the given ones after the step,
// which may be refused.
class Unscaled {
 public:
  Unscaled(const char* op, TensorList grads, const OptTensor& scale) : grads_(grads) {
    if (!scale || !scale->defined()) return;
    check_writable(op, "grads", grads);
    const double number = scale->item<double>();
    for (const Tensor& g : grads) unscaled_.push_back(g.div(number).to(g.scalar_type()));
  }
  TensorList list() const { return unscaled_.empty() ? grads_ : TensorList(unscaled_); }
  void write() const {
    for (std::size_t i = 0; i < unscaled_.size(); ++i) grads_[i].copy_(unscaled_[i]);
  }

 private:
  TensorList grads_;
  std::vector<Tensor> unscaled_;
};

std::vector<int64_t> counts(const char* op, TensorList self, TensorList steps) {
  TENON_CHECK(steps.size() == self.size(), ValueError, op, ": expected ", self.size(),
              " state_steps, got ", steps.size());
  std::vector<int64_t> out;
  for (const Tensor& t : steps) out.push_back(static_cast<int64_t>(t.item<double>()));
  return out;
}

// update(the gradients without their scale, the counts of steps), unless an element was infinite.
template <class F>
void with_unscaled(const char* op, TensorList self, TensorList grads, TensorList state_steps,
                   const OptTensor& grad_scale, const OptTensor& found_inf, const F& update) {
  const NoGradGuard none;
  if (is_skipped(found_inf)) return;
  const Unscaled unscaled(op, grads, grad_scale);
  update(unscaled.list(), counts(op, self, state_steps));
  unscaled.write();
}

}  // namespace

#define ADAM(name, step)                                                                        \
  void name(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,     \
            TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1,        \
            double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,         \
            const OptTensor& grad_scale, const OptTensor& found_inf) {                          \
    const auto update = [&](TensorList unscaled, const std::vector<int64_t>& steps) {           \
      tenon::step(self, unscaled, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, {}, steps, lr, beta1, \
                  beta2, weight_decay, eps, amsgrad, maximize);                                 \
    };                                                                                          \
    with_unscaled(#name, self, grads, state_steps, grad_scale, found_inf, update);              \
  }
ADAM(_fused_adam_, _adam_step_)
ADAM(_fused_adamw_, _adamw_step_)
#undef ADAM

#define ADAM_TENSOR_LR(name)                                                                       \
  void name##_tensor_lr(TensorList self, TensorList grads, TensorList exp_avgs,                    \
                        TensorList exp_avg_sqs, TensorList max_exp_avg_sqs,                        \
                        TensorList state_steps, const Tensor& lr, double beta1, double beta2,      \
                        double weight_decay, double eps, bool amsgrad, bool maximize,              \
                        const OptTensor& grad_scale, const OptTensor& found_inf) {                 \
    tenon::name(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,                  \
                lr.item<double>(), beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, \
                found_inf);                                                                        \
  }
ADAM_TENSOR_LR(_fused_adam_)
ADAM_TENSOR_LR(_fused_adamw_)
#undef ADAM_TENSOR_LR

void _fused_sgd__tensor_lr(TensorList self, TensorList grads, TensorList momentum_buffer_list,
                           double weight_decay, double momentum, const Tensor& lr, double dampening,
                           bool nesterov, bool maximize, bool is_first_step,
                           const OptTensor& grad_scale, const OptTensor& found_inf) {
  const NoGradGuard none;
  if (is_skipped(found_inf)) return;
  const Unscaled unscaled("_fused_sgd_", grads, grad_scale);
  tenon::_fused_sgd_(self, unscaled.list(), momentum_buffer_list, weight_decay, momentum,
                     lr.item<double>(), dampening, nesterov, maximize, is_first_step);
  unscaled.write();
}

void _fused_adagrad_(TensorList self, TensorList grads, TensorList state_sums,
                     TensorList state_steps, double lr, double lr_decay, double weight_decay,
                     double eps, bool maximize, const OptTensor& grad_scale,
                     const OptTensor& found_inf) {
  const char* name = "_fused_adagrad_";
  const NoGradGuard none;
  TENON_CHECK(grads.size() == self.size() && state_sums.size() == self.size(), ValueError, name,
              ": expected lists of ", self.size(), " tensors, got ", grads.size(), " grads and ",
              state_sums.size(), " state_sums");
  if (is_skipped(found_inf)) return;
  check_writable(name, "state_sums", state_sums);
  const Unscaled unscaled(name, grads, grad_scale);
  const std::vector<int64_t> steps = counts(name, self, state_steps);
  for (std::size_t i = 0; i < self.size(); ++i) {
    TENON_CHECK(state_sums[i].sizes() == self[i].sizes(), ValueError, name,
                ": state_sums at position ", i, " has the shape ", state_sums[i].sizes(),
                " but self there has ", self[i].sizes());
  }
  std::vector<Tensor> sums(self.size());
  write_each(name, self, {unscaled.list(), state_sums, {}}, [&](const Tensor& t, std::size_t i) {
    Tensor g = maximize ? unscaled.list()[i].neg() : unscaled.list()[i];
    if (weight_decay != 0) g = g + t * weight_decay;
    sums[i] = state_sums[i].addcmul(g, g).to(state_sums[i].scalar_type());
    const double rate = lr / (1 + static_cast<double>(steps[i] - 1) * lr_decay);
    t.addcdiv_(g, sums[i].sqrt() + eps, -rate);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) state_sums[i].copy_(sums[i]);
  unscaled.write();
}
void _fused_adagrad__tensor_lr(TensorList self, TensorList grads, TensorList state_sums,
                               TensorList state_steps, const Tensor& lr, double lr_decay,
                               double weight_decay, double eps, bool maximize,
                               const OptTensor& grad_scale, const OptTensor& found_inf) {
  tenon::_fused_adagrad_(self, grads, state_sums, state_steps, lr.item<double>(), lr_decay,
                         weight_decay, eps, maximize, grad_scale, found_inf);
}

}  // namespace tenon::composite
