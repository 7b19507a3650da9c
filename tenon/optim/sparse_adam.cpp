// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/sparse_adam.h"

#include <cmath>

#include "tenon/autograd/function.h"
#include "tenon/ops.h"
#include "tenon/optim/layouts.h"

namespace tenon {
namespace optim {

SparseAdamOptions::SparseAdamOptions(double lr) : lr_(lr) {}

void SparseAdamOptions::fields(FieldVisitor& visitor) {
  visitor.field("lr", lr());
  visitor.field("betas.0", std::get<0>(betas()));
  visitor.field("betas.1", std::get<1>(betas()));
  visitor.field("eps", eps());
}

void SparseAdamOptions::check() const {
  TENON_OPTIM_CHECK(lr() > 0, "lr", lr());
  TENON_OPTIM_CHECK(eps() > 0, "eps", eps());
  TENON_OPTIM_CHECK(std::get<0>(betas()) >= 0 && std::get<0>(betas()) < 1, "betas[0]",
                    std::get<0>(betas()));
  TENON_OPTIM_CHECK(std::get<1>(betas()) >= 0 && std::get<1>(betas()) < 1, "betas[1]",
                    std::get<1>(betas()));
}

void SparseAdamParamState::fields(FieldVisitor& visitor) {
  visitor.field("step", step());
  visitor.field("exp_avg", exp_avg());
  visitor.field("exp_avg_sq", exp_avg_sq());
}

void SparseAdam::update(Tensor& param, const Tensor& grad, const OptimizerOptions& options,
                        std::unique_ptr<OptimizerParamState>& state) {
  TENON_CHECK(grad.layout() != kStrided, ValueError,
              "SparseAdam does not take strided gradients (one of shape ", grad.sizes(),
              "): use Adam");
  TENON_CHECK(param.layout() == kStrided, ValueError,
              "SparseAdam takes strided parameters only, got a sparse one");
  const auto& o = static_cast<const SparseAdamOptions&>(options);
  const auto [beta1, beta2] = o.betas();
  if (!state) {
    std::unique_ptr<OptimizerParamState> first = first_state(param);
    auto& s = static_cast<SparseAdamParamState&>(*first);
    s.exp_avg(tenon::zeros_like(param));
    s.exp_avg_sq(tenon::zeros_like(param));
    state = std::move(first);
  }
  auto& s = static_cast<SparseAdamParamState&>(*state);
  s.step(s.step() + 1);
  const Tensor g = grad.coalesce(), at = g._indices(), v = g._values();
  if (at.size(1) == 0) return;
  const auto add = [&](Tensor& to, const Tensor& values) { add_elements(to, at, values); };
  const Tensor mean = tenon::_values_at(s.exp_avg(), at),
               square = tenon::_values_at(s.exp_avg_sq(), at);
  const Tensor mean_step = v.sub(mean).mul_(1 - beta1),
               square_step = v.mul(v).sub_(square).mul_(1 - beta2);
  add(s.exp_avg(), mean_step);
  add(s.exp_avg_sq(), square_step);
  const double n = static_cast<double>(s.step());
  const double rate = o.lr() * std::sqrt(1 - std::pow(beta2, n)) / (1 - std::pow(beta1, n));
  const Tensor divisor = square_step.add_(square).sqrt_().add_(o.eps());
  add(param, mean_step.add_(mean).div_(divisor).mul_(-rate));
}

void refuse_layout(const std::type_info& optimizer, const Tensor& grad) {
  throw ValueError(core::join(autograd::demangle(optimizer.name()),
                              " does not support sparse gradients, got one of shape ", grad.sizes(),
                              ": use SparseAdam, Adagrad or SGD, or to_dense()"));
}

void add_elements(Tensor& to, const Tensor& indices, const Tensor& values) {
  if (indices.size(0) == 1) {
    to.index_add_(0, indices.select(0, 0), values);
  } else {
    to.add_(tenon::_sparse_coo_tensor(indices, values, to.sizes(), false, true));
  }
}

}  // namespace optim
}  // namespace tenon
