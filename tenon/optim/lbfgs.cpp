// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/lbfgs.h"

#include <algorithm>
#include <cmath>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tenon/optim/line_search.h"

namespace tenon {
namespace optim {

LBFGSOptions::LBFGSOptions(double lr) : lr_(lr) {}

void LBFGSOptions::fields(FieldVisitor& visitor) {
  visitor.field("lr", lr());
  visitor.field("max_iter", max_iter());
  visitor.field("max_eval", max_eval());
  visitor.field("tolerance_grad", tolerance_grad());
  visitor.field("tolerance_change", tolerance_change());
  visitor.field("history_size", history_size());
  visitor.field("line_search_fn", line_search_fn());
}

void LBFGSOptions::check() const {
  TENON_OPTIM_CHECK(lr() >= 0, "lr", lr());
  TENON_OPTIM_CHECK(history_size() > 0, "history_size", history_size());
  TENON_CHECK(!line_search_fn() || *line_search_fn() == "strong_wolfe", ValueError,
              "only 'strong_wolfe' is supported, but got line_search_fn '", *line_search_fn(), "'");
}

void LBFGSParamState::fields(FieldVisitor& visitor) {
  visitor.field("func_evals", func_evals());
  visitor.field("n_iter", n_iter());
  visitor.field("t", t());
  visitor.field("prev_loss", prev_loss());
  visitor.field("d", d());
  visitor.field("H_diag", H_diag());
  visitor.field("prev_flat_grad", prev_flat_grad());
  visitor.field("old_dirs", old_dirs());
  visitor.field("old_stps", old_stps());
  visitor.field("ro", ro());
  visitor.field("al", al());
}

namespace {

constexpr double kMinCurvature = 1e-10;  // of a pair that is remembered

std::unique_ptr<LBFGSOptions> with_max_eval(LBFGSOptions options) {
  if (!options.max_eval()) options.max_eval(options.max_iter() * 5 / 4);
  return std::make_unique<LBFGSOptions>(std::move(options));
}

double largest_of(const Tensor& flat) { return flat.abs().max().item<double>(); }

// Remembers what the last step, t * d, did to the gradient.
void remember(LBFGSParamState& s, const Tensor& grad, int64_t history_size) {
  const Tensor y = grad - s.prev_flat_grad(), step = s.d() * s.t();
  const Tensor ys = y.dot(step);
  if (!(ys.item<double>() > kMinCurvature)) return;
  if (static_cast<int64_t>(s.old_dirs().size()) >= history_size) {
    s.old_dirs().pop_front();
    s.old_stps().pop_front();
    s.ro().pop_front();
  }
  s.old_dirs().push_back(y);
  s.old_stps().push_back(step);
  s.ro().push_back(ys.reciprocal());
  s.H_diag(ys / y.dot(y));
}

// Minus the gradient times the approximate inverse Hessian, by the two loops over the history.
Tensor direction_of(LBFGSParamState& s, const Tensor& grad) {
  const std::size_t n = s.old_dirs().size();
  std::vector<Tensor> al(n);
  Tensor q = grad.neg();
  for (std::size_t i = n; i-- > 0;) {
    al[i] = s.old_stps()[i].dot(q) * s.ro()[i];
    q.sub_(s.old_dirs()[i] * al[i]);
  }
  q.mul_(s.H_diag());
  for (std::size_t i = 0; i < n; ++i) {
    const Tensor beta = s.old_dirs()[i].dot(q) * s.ro()[i];
    q.add_(s.old_stps()[i] * (al[i] - beta));
  }
  if (n > 0) s.al(std::move(al));
  return q;
}

void set_direction(LBFGSParamState& s, const Tensor& grad, int64_t history_size) {
  if (s.n_iter() == 1) {
    s.old_dirs().clear();
    s.old_stps().clear();
    s.ro().clear();
    s.H_diag(tenon::ones({}, grad.options()));
    s.d(grad.neg());
    return;
  }
  remember(s, grad, history_size);
  s.d(direction_of(s, grad));
}

}  // namespace

struct LBFGS::Evaluation {
  Tensor result;  // of the closure
  double loss;
  Tensor grad;
};

LBFGS::LBFGS(const std::vector<OptimizerParamGroup>& param_groups, LBFGSOptions defaults)
    : Optimizer(param_groups, with_max_eval(std::move(defaults))) {
  TENON_CHECK(param_groups_.size() == 1, ValueError,
              "LBFGS doesn't support per-parameter options (parameter groups)");
}
LBFGS::LBFGS(std::vector<Tensor> params, LBFGSOptions defaults)
    : LBFGS({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

std::unique_ptr<OptimizerParamState> LBFGS::new_state() const {
  return std::make_unique<LBFGSParamState>();
}

Tensor LBFGS::flat_grad() const {
  std::vector<Tensor> parts;
  for (const Tensor& p : param_groups_[0].params()) {
    const Tensor& grad = p.grad();
    if (!grad.defined()) {
      parts.push_back(p.new_zeros({p.numel()}));
    } else {
      parts.push_back((grad.layout() == kStrided ? grad : grad.to_dense()).reshape({-1}));
    }
  }
  return tenon::cat(parts);
}

void LBFGS::move_by(double length, const Tensor& direction) {
  int64_t offset = 0;
  for (Tensor& p : param_groups_[0].params()) {
    p.add_(direction.narrow(0, offset, p.numel()).view(p.sizes()), length);
    offset += p.numel();
  }
}

LBFGS::Evaluation LBFGS::evaluate(LossClosure closure) const {
  Tensor result;
  {
    AutoGradMode enable(true);
    result = closure();
  }
  return {result, result.item<double>(), flat_grad()};
}

// Leaves the parameters where they are; the step's length goes into the state.
LBFGS::Evaluation LBFGS::search(LossClosure closure, LBFGSParamState& state, const Evaluation& here,
                                double slope, double tolerance, int64_t* evaluations) {
  std::vector<Tensor>& params = param_groups_[0].params();
  std::vector<Tensor> before;
  before.reserve(params.size());
  for (const Tensor& p : params) before.push_back(p.clone());
  const auto at = [&](double t) -> LinePoint {
    move_by(t, state.d());
    const Evaluation e = evaluate(closure);
    for (std::size_t i = 0; i < params.size(); ++i) params[i].copy_(before[i]);
    return {t, e.loss, e.grad, e.grad.dot(state.d()).item<double>()};
  };
  const LinePoint start{0, here.loss, here.grad, slope};
  const LinePoint found =
      strong_wolfe(at, start, state.t(), largest_of(state.d()), tolerance, evaluations);
  state.t(found.t);
  return {Tensor(), found.loss, found.grad};
}

Tensor LBFGS::step(LossClosure closure) {
  TENON_CHECK(static_cast<bool>(closure), ValueError, "LBFGS requires a closure function");
  const auto& options = static_cast<const LBFGSOptions&>(param_groups_[0].options());
  const std::vector<Tensor>& params = param_groups_[0].params();
  TENON_CHECK(!params.empty(), ValueError, "LBFGS: the optimizer has no parameters");
  const int64_t max_eval = options.max_eval().value_or(options.max_iter() * 5 / 4);

  NoGradGuard no_grad;
  auto& kept = state_[params[0].unsafeGetTensorImpl()];
  if (!kept) kept = first_state(params[0]);
  auto& s = static_cast<LBFGSParamState&>(*kept);
  Evaluation here = evaluate(closure);
  const Tensor result = here.result;
  int64_t evaluations = 1;
  s.func_evals(s.func_evals() + 1);
  if (largest_of(here.grad) <= options.tolerance_grad()) return result;

  for (int64_t i = 1; i <= options.max_iter(); ++i) {
    s.n_iter(s.n_iter() + 1);
    set_direction(s, here.grad, options.history_size());
    s.prev_flat_grad(here.grad.clone());
    s.prev_loss(here.loss);
    const double lr = options.lr();
    s.t(s.n_iter() == 1 ? std::min(1.0, 1.0 / here.grad.abs().sum().item<double>()) * lr : lr);
    const double slope = here.grad.dot(s.d()).item<double>();
    if (slope > -options.tolerance_change()) break;

    int64_t used = 0;
    if (options.line_search_fn()) {
      here = search(closure, s, here, slope, options.tolerance_change(), &used);
      move_by(s.t(), s.d());
    } else {
      move_by(s.t(), s.d());
      if (i == options.max_iter()) break;
      here = evaluate(closure);
      used = 1;
    }
    evaluations += used;
    s.func_evals(s.func_evals() + used);
    if (evaluations >= max_eval || largest_of(here.grad) <= options.tolerance_grad() ||
        largest_of(s.d()) * s.t() <= options.tolerance_change() ||
        std::abs(here.loss - s.prev_loss()) < options.tolerance_change()) {
      break;
    }
  }
  return result;
}

}  // namespace optim
}  // namespace tenon
