// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions whose gradient a program writes.
#include "tenon/autograd/function.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

#include "tenon/autograd/anomaly.h"
#include "tenon/autograd/anomaly_mode.h"
#include "tenon/call/generated.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd {

std::string demangle(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string out = status == 0 && text ? text : name;
  std::free(text);
  return out;
}

void AutogradContext::save_for_backward(variable_list to_save) {
  TENON_CHECK(!has_saved_, Error, "save_for_backward may be called once");
  has_saved_ = true;
  to_save_ = std::move(to_save);
}

variable_list AutogradContext::get_saved_variables() const {
  if (node_ && node_->released) SavedTensor().unpack(*node_);
  variable_list out;
  if (saved_.empty()) return to_save_;
  for (const SavedTensor& s : saved_) out.push_back(s.unpack(*node_));
  return out;
}

void AutogradContext::mark_dirty(const variable_list& inputs) {
  dirty_.insert(dirty_.end(), inputs.begin(), inputs.end());
}

void AutogradContext::mark_non_differentiable(const variable_list& outputs) {
  non_differentiable_.insert(non_differentiable_.end(), outputs.begin(), outputs.end());
}

bool AutogradContext::needs_input_grad(std::size_t i) const {
  return node_ && i < node_->n_edges && node_->edges[i].function;
}

namespace {
// The size of the list if it is not there.
std::size_t position(const variable_list& list, const Tensor& t) {
  return static_cast<std::size_t>(
      std::find_if(list.begin(), list.end(), [&](const Tensor& o) { return o.is_same(t); }) -
      list.begin());
}
bool contains(const variable_list& list, const Tensor& t) {
  return position(list, t) < list.size();
}
}  // namespace

void FunctionNode::count_writes(const variable_list& outputs) {
  for (const Tensor& t : outputs) {
    if (t.defined()) changed("autograd::Function", t);
  }
  for (const Tensor& t : ctx.dirty_) {
    if (!t.defined()) continue;
    if (recording()) check_written((label + ": mark_dirty").c_str(), t);
    TENON_CHECK(contains(outputs, t), Error, label,
                ": mark_dirty: forward must return each input that it marks, and did not return "
                "one of shape ",
                t.sizes());
    t.unsafeGetTensorImpl()->bump_version();
  }
}

void FunctionNode::connect_outputs(const variable_list& inputs, variable_list& outputs) {
  n_grads = static_cast<uint32_t>(outputs.size());
  ctx.saved_.resize(ctx.to_save_.size());
  for (const Tensor& t : inputs)
    inputs_.push_back(t.defined() ? Shape{t.sizes().vec(), t.options()} : Shape{});
  auto self = core::Ref<FunctionNode>::share(this);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Tensor& t = outputs[i];
    if (!t.defined()) {
      outputs_.push_back({});
      continue;
    }
    const std::size_t input = position(inputs, t);
    const bool dirty = contains(ctx.dirty_, t);
    const bool through_base = dirty && t.unsafeGetTensorImpl()->base;
    TENON_CHECK(!through_base || outputs.size() == 1, Error, label,
                ": mark_dirty: a function that writes to a view must return one tensor, not ",
                outputs.size());
    if (dirty)
      rebase_history(t, self, input < inputs.size() ? static_cast<uint32_t>(input) : 0);
    else if (input < inputs.size())
      t = t.view_as(t);  // an input that is returned as it was becomes a result of its own
    outputs_.push_back({t.sizes().vec(), t.options()});
    if (!through_base && !contains(ctx.non_differentiable_, outputs[i]))
      set_history(t, *this, static_cast<uint32_t>(i));
  }
  if (AnomalyMode::is_enabled()) {
    for (const Tensor& t : outputs) remember_call(label, t.unsafeGetTensorImpl());
  }
  for (std::size_t k = 0; k < ctx.to_save_.size(); ++k) {
    const Tensor& t = ctx.to_save_[k];
    const std::size_t output = position(outputs, t);
    if (output < outputs.size())
      ctx.saved_[k].save_output(t, static_cast<uint32_t>(output));
    else
      ctx.saved_[k].save(t, *this);
  }
  ctx.to_save_.clear();
  ctx.dirty_.clear();
  ctx.non_differentiable_.clear();
}

namespace {

// Whether a gradient of shape `from` sums to the shape `to` that was broadcast.
bool sums_to(IntArrayRef from, IntArrayRef to) {
  if (to.size() > from.size()) return false;
  for (std::size_t k = 1; k <= to.size(); ++k) {
    if (to[to.size() - k] != 1 && to[to.size() - k] != from[from.size() - k]) return false;
  }
  return true;
}

}  // namespace

Tensor checked_gradient(const std::string& label, std::size_t at, const Tensor& g,
                        IntArrayRef sizes, const TensorOptions& options) {
  if (!g.defined()) return g;
  if (!sums_to(g.sizes(), sizes)) {
    throw Error(core::join(label, " returned an invalid gradient at ", at, ": got ", g.sizes(),
                           " but expected shape compatible with ", sizes));
  }
  if (g.device() != options.device()) {
    throw Error(core::join(label, " returned an invalid gradient at ", at, ": got device ",
                           g.device().str(), ", expected ", options.device().str()));
  }
  Tensor out = g.sizes() == sizes ? g : g.sum_to_size(sizes);
  return out.scalar_type() == options.dtype() ? out : out.to(options.dtype());
}

namespace {

// Stands for the history that a gradient does not have.
struct OnceDifferentiableError final : NodeWith<0> {
  explicit OnceDifferentiableError(std::string label) : of(std::move(label)) {}
  std::string name() const override { return "OnceDifferentiableError"; }
  void run(Tensor*, Tensor*) override {
    throw Error(
        core::join("trying to differentiate twice a function that was marked with "
                   "once_differentiable: ",
                   of));
  }
  std::string of;
};

}  // namespace

variable_list FunctionNode::run_once(variable_list grads) {
  auto error = core::Ref<OnceDifferentiableError>::adopt(new OnceDifferentiableError(label));
  variable_list on = grads;  // what the gradients depend on
  for (const SavedTensor& s : ctx.saved_) on.push_back(s.unpack(*this));
  error->make_edges(on.size());
  for (std::size_t i = 0; i < on.size(); ++i) connect(*error, static_cast<uint32_t>(i), on[i]);
  variable_list result;
  {
    const NoGradGuard no_grad;
    result = backward(&ctx, std::move(grads));
  }
  if (!error->needs(0, error->n_edges)) return result;
  error->n_grads = static_cast<uint32_t>(result.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!result[i].defined()) continue;
    result[i] = result[i].detach();
    set_history(result[i], *error, static_cast<uint32_t>(i));
  }
  return result;
}

void FunctionNode::run(Tensor* grads, Tensor* out) {
  variable_list in(grads, grads + n_grads);
  if (ctx.materialize_grads_) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!in[i].defined() && i < outputs_.size())
        in[i] = zeros(outputs_[i].sizes, outputs_[i].options);
    }
  }
  variable_list result =
      once && recording() ? run_once(std::move(in)) : backward(&ctx, std::move(in));
  // As many gradients as forward had arguments; a trailing undefined one may be left out.
  std::size_t expected = edge_of_argument.size();
  while (result.size() > expected && !result.back().defined()) result.pop_back();
  TENON_CHECK(result.size() == expected, Error, label, " backward returned ", result.size(),
              " gradients, expected ", expected);
  for (std::size_t i = 0; i < expected; ++i) {
    if (edge_of_argument[i] == ~0u) {
      TENON_CHECK(!result[i].defined(), Error, label, " returned an invalid gradient at ", i,
                  ": that argument is not a tensor");
    } else {
      const uint32_t edge = edge_of_argument[i];
      if (edges[edge].function)
        out[edge] =
            checked_gradient(label, i, result[i], inputs_[edge].sizes, inputs_[edge].options);
    }
  }
}

void FunctionNode::release_saved() {
  for (SavedTensor& s : ctx.saved_) s.release();
}

}  // namespace tenon::autograd
