// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

struct TENON_API LBFGSOptions : public OptimizerCloneableOptions<LBFGSOptions> {
  LBFGSOptions(double lr = 1);
  // Length of a step; with a line search, of the first one that it tries.
  TENON_ARG(double, lr) = 1;
  // Iterations at most in one step().
  TENON_ARG(int64_t, max_iter) = 20;
  // Calls of the closure at most in one step(); 5/4 of max_iter unless given.
  TENON_ARG(std::optional<int64_t>, max_eval);
  // A gradient with no larger element ends the step.
  TENON_ARG(double, tolerance_grad) = 1e-7;
  // Neither the loss nor a parameter changing by more ends the step.
  TENON_ARG(double, tolerance_change) = 1e-9;
  // Pairs of differences that the approximate inverse Hessian is made of.
  TENON_ARG(int64_t, history_size) = 100;
  // "strong_wolfe", or nothing for steps of length lr.
  TENON_ARG(std::optional<std::string>, line_search_fn);

 public:
  void fields(FieldVisitor& visitor) override;
  void check() const override;
};

// One for all parameters, kept for the first of them. Vectors have the elements of all parameters,
// one parameter after the other.
struct TENON_API LBFGSParamState : public OptimizerCloneableParamState<LBFGSParamState> {
  // Calls of the closure so far.
  TENON_ARG(int64_t, func_evals) = 0;
  // Iterations so far.
  TENON_ARG(int64_t, n_iter) = 0;
  // Length of the last step along d.
  TENON_ARG(double, t) = 0;
  TENON_ARG(double, prev_loss) = 0;
  // Direction of the last step.
  TENON_ARG(Tensor, d);
  // The scale of the initial inverse Hessian, 0-dim.
  TENON_ARG(Tensor, H_diag);
  TENON_ARG(Tensor, prev_flat_grad);
  // Differences of gradients, oldest first.
  TENON_ARG(std::deque<Tensor>, old_dirs);
  // Differences of parameters.
  TENON_ARG(std::deque<Tensor>, old_stps);
  // 1 / (difference of gradients * difference of parameters), 0-dim each.
  TENON_ARG(std::deque<Tensor>, ro);
  // Factors of the last product with the inverse Hessian, 0-dim each.
  TENON_ARG(std::optional<std::vector<Tensor>>, al);

 public:
  void fields(FieldVisitor& visitor) override;
};

// Limited-memory BFGS (Liu and Nocedal, 1989). step() needs a closure that computes the loss and
// its gradients, and calls it several times. One group of dense parameters that share a dtype and
// a device; parameters without a gradient count as zeros.
class TENON_API LBFGS : public Optimizer {
 public:
  explicit LBFGS(const std::vector<OptimizerParamGroup>& param_groups, LBFGSOptions defaults = {});
  explicit LBFGS(std::vector<Tensor> params, LBFGSOptions defaults = {});

  // Returns the loss of the first call of the closure. ValueError without a closure.
  Tensor step(LossClosure closure = nullptr) override;

 protected:
  std::unique_ptr<OptimizerParamState> new_state() const override;
  bool state_is_flat() const override { return true; }

 private:
  struct Evaluation;
  Tensor flat_grad() const;
  void move_by(double length, const Tensor& direction);
  Evaluation evaluate(LossClosure closure) const;
  Evaluation search(LossClosure closure, LBFGSParamState& state, const Evaluation& here,
                    double slope, double tolerance, int64_t* evaluations);
};

}  // namespace optim
}  // namespace tenon
