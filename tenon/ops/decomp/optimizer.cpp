// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers, tensor by tensor.
#include <cmath>

#include "tenon/ops/decomp/decomp.h"

namespace tenon::decomp {
namespace {

struct Adam {
  double lr, beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize, decoupled;  // decoupled: weight decay shrinks the parameter
};

// Bias corrections for a count of steps: tensors on the parameter's device if the count is a
// tensor.
struct Corrections {
  Scalar root, size;
  Tensor root_there, size_there;
};

Corrections corrections(int64_t count, const Adam& o) {
  const double steps = static_cast<double>(count);
  return {std::sqrt(1 - std::pow(o.beta2, steps)), -o.lr / (1 - std::pow(o.beta1, steps)), {}, {}};
}

Corrections corrections(const Tensor& count, ScalarType dtype, const Adam& o) {
  count.add_(1);
  const Tensor steps = count.reshape({}).to(kDouble);
  const auto rest = [&](double beta) { return steps.mul(std::log(beta)).exp().neg().add(1); };
  return {0, 0, rest(o.beta2).sqrt().to(dtype), rest(o.beta1).reciprocal().mul(-o.lr).to(dtype)};
}

void adam_step(const Tensor& param, const Tensor& grad, const Tensor& mean, const Tensor& squares,
               const Tensor& max_squares, const Corrections& by, const Adam& o) {
  Tensor g = o.maximize ? grad.neg() : grad;
  if (o.weight_decay != 0 && o.decoupled) param.mul_(1 - o.lr * o.weight_decay);
  if (o.weight_decay != 0 && !o.decoupled) g = g.add(param, o.weight_decay);
  mean.mul_(o.beta1).add_(g, 1 - o.beta1);
  squares.mul_(o.beta2).addcmul_(g, g, 1 - o.beta2);
  if (o.amsgrad) max_squares.copy_(tenon::maximum(max_squares, squares));
  const Tensor divisor = (o.amsgrad ? max_squares : squares).sqrt();
  if (by.root_there.defined()) {
    param.add_(mean.div(divisor.div_(by.root_there).add_(o.eps)).mul_(by.size_there));
  } else {
    param.addcdiv_(mean, divisor.div_(by.root).add_(o.eps), by.size);
  }
}

void adam(TensorList self, TensorList grads, TensorList means, TensorList squares,
          TensorList max_squares, TensorList counts, IntArrayRef steps, const Adam& o) {
  for (std::size_t k = 0; k < self.size(); ++k) {
    const Tensor third = o.amsgrad ? max_squares[k] : Tensor();
    const Corrections by = counts.empty() ? corrections(steps[k], o)
                                          : corrections(counts[k], wide(self[k].scalar_type()), o);
    if (!is_short_float(self[k].scalar_type())) {
      adam_step(self[k], grads[k], means[k], squares[k], third, by, o);
      continue;
    }
    const Tensor p = wide(self[k]), m = wide(means[k]), s = wide(squares[k]),
                 x = o.amsgrad ? wide(third) : third;
    adam_step(p, wide(grads[k]), m, s, x, by, o);
    self[k].copy_(p);
    means[k].copy_(m);
    squares[k].copy_(s);
    if (o.amsgrad) third.copy_(x);
  }
}

}  // namespace

void _fused_sgd_(TensorList self, TensorList grads, TensorList buffers, double weight_decay,
                 double momentum, double lr, double dampening, bool nesterov, bool maximize,
                 bool is_first_step) {
  for (std::size_t k = 0; k < self.size(); ++k) {
    const Tensor p = wide(self[k]), b = momentum != 0 ? wide(buffers[k]) : Tensor();
    Tensor g = maximize ? wide(grads[k]).neg() : wide(grads[k]);
    if (weight_decay != 0) g = g.add(p, weight_decay);
    if (momentum != 0) {
      if (is_first_step)
        b.copy_(g);
      else
        b.mul_(momentum).add_(g, 1 - dampening);
      g = nesterov ? g.add(b, momentum) : b;
    }
    p.add_(g, -lr);
    if (!p.is_same(self[k])) self[k].copy_(p);
    if (b.defined() && !b.is_same(buffers[k])) buffers[k].copy_(b);
  }
}

void _adam_step_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                 TensorList max_exp_avg_sqs, TensorList state_steps, IntArrayRef steps, double lr,
                 double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
                 bool maximize) {
  adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, steps,
       {lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, false});
}

void _adamw_step_(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                  TensorList max_exp_avg_sqs, TensorList state_steps, IntArrayRef steps, double lr,
                  double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
                  bool maximize) {
  adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, steps,
       {lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, true});
}

}  // namespace tenon::decomp
