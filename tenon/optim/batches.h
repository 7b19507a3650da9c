// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A group's parameters as lists for the fused steps: those of one dtype and device go together.
// Private to libtenon.
#pragma once

#include <algorithm>
#include <vector>

#include "tenon/ops/composite.gen.h"
#include "tenon/optim/optimizer.h"

namespace tenon {
namespace optim {

struct Batch {
  // Else one parameter, whose gradient or state differs in dtype, device or strides: operators
  // update it.
  bool fused;
  bool first;
  std::vector<Tensor> params, grads, states[3];
  std::vector<Tensor> counts;  // else steps
  std::vector<int64_t> steps;
};

class Batches {
 public:
  // The batch to which a parameter was added; those of a first step have their own.
  Batch& add(const Tensor& param, const Tensor& grad, const std::vector<Tensor>& states,
             bool first = false) {
    const bool fused = is_uniform(param, grad) &&
                       std::all_of(states.begin(), states.end(),
                                   [&](const Tensor& s) { return is_uniform(param, s); });
    // Any dense order of elements is handled in the order of memory.
    const bool flat = fused && !param.is_contiguous();
    const auto as_listed = [&](const Tensor& t) {
      return flat ? t.as_strided({t.numel()}, {1}) : t;
    };
    Batch& b = find_batch(param, fused, first);
    b.params.push_back(as_listed(param));
    b.grads.push_back(as_listed(grad));
    for (std::size_t k = 0; k < states.size(); ++k) b.states[k].push_back(as_listed(states[k]));
    return b;
  }

  // With the state of Adam or AdamW, which is made here and counts the step: on the device if
  // `count_on_device` says so.
  template <class State>
  void add_adam(const Tensor& param, const Tensor& grad, State& s, bool amsgrad,
                bool count_on_device) {
    if (!s.exp_avg().defined()) {
      const Tensor avg = tenon::zeros_like(param), avg_sq = tenon::zeros_like(param);
      s.exp_avg(avg);
      s.exp_avg_sq(avg_sq);
    }
    if (amsgrad && !s.max_exp_avg_sq().defined()) s.max_exp_avg_sq(tenon::zeros_like(param));
    std::vector<Tensor> states = {s.exp_avg(), s.exp_avg_sq()};
    if (amsgrad) states.push_back(s.max_exp_avg_sq());
    Batch& b = add(param, grad, states);
    if (count_on_device) {
      if (!s.state_step().defined()) {
        refuse_capture(param, kFirstStep);
        s.state_step(tenon::full({}, s.step(), TensorOptions(kLong).device(param.device())));
      }
      b.counts.push_back(s.state_step());
      return;
    }
    refuse_capture(param, "its step is counted on the host; make it with capturable(true)");
    if (s.state_step().defined()) s.step(s.state_step().template item<int64_t>());
    s.state_step(Tensor());
    s.step(s.step() + 1);
    b.steps.push_back(s.step());
  }

  auto begin() const { return batches_.begin(); }
  auto end() const { return batches_.end(); }

 private:
  static bool is_uniform(const Tensor& param, const Tensor& t) {
    if (param.layout() != kStrided || t.layout() != kStrided ||
        t.scalar_type() != param.scalar_type() || t.device() != param.device() ||
        t.sizes() != param.sizes()) {
      return false;
    }
    if (param.is_contiguous()) return t.is_contiguous();
    return t.strides() == param.strides() && param.is_non_overlapping_and_dense();
  }

  Batch& find_batch(const Tensor& param, bool fused, bool first) {
    for (Batch& b : batches_) {
      const Tensor& one = b.params.front();
      const bool same = one.scalar_type() == param.scalar_type() && one.device() == param.device();
      if (fused && b.fused && b.first == first && same) return b;
    }
    return batches_.emplace_back(Batch{fused, first, {}, {}, {}, {}, {}});
  }

  std::vector<Batch> batches_;
};

}  // namespace optim
}  // namespace tenon
