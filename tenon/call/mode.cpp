// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/mode.h"

#include <algorithm>
#include <exception>

#include "tenon/autograd/anomaly.h"
#include "tenon/autograd/anomaly_mode.h"
#include "tenon/autograd/operator_observer.h"
#include "tenon/batching/call.h"
#include "tenon/call/describe_call.h"
#include "tenon/call/generated.h"
#include "tenon/core/batched_call.h"

namespace tenon::autograd {

__thread uint32_t t_mode __attribute__((tls_model("initial-exec"))) = kGradMode;
std::atomic<uint32_t> g_mode{0};

uint32_t mode() noexcept { return t_mode; }
void set_mode(uint32_t word) noexcept { t_mode = word; }

namespace {
thread_local OperatorObserver* t_observer = nullptr;
}

OperatorObserver* set_operator_observer(OperatorObserver* o) noexcept {
  OperatorObserver* before = t_observer;
  t_observer = o;
  t_mode = o ? t_mode | kOperatorObserved : t_mode & ~uint32_t{kOperatorObserved};
  return before;
}

OperatorObserver* operator_observer() noexcept { return t_observer; }

namespace {

// Of an in-place call, what was written stands for the results.
void remember_made(const OperatorCall& call, core::TensorImpl** outs) noexcept try {
  const std::string text = describe_call(call.op, call.in);
  const int n = call.form == core::Form::Inplace ? 1 : call.op.n_results;
  for (int i = 0; i < n; ++i) remember_call(text, outs[i]);
} catch (const std::exception&) {  // without memory, less is remembered
}

OperatorCall call_of(int id, core::Form form, const tn_value* in, core::TensorImpl** outs) {
  return {core::op_at(id), form, in, form == core::Form::Functional ? nullptr : outs};
}

// Observers hear of a batched call by the calls on the values, which it is made of.
bool is_seen_by_values(int id, const tn_value* in) {
  return TENON_UNLIKELY(core::g_batched_call.load(std::memory_order_relaxed) != nullptr) &&
         batching::has_batched(core::op_at(id), in);
}

bool is_observed_everywhere() { return g_mode.load(std::memory_order_relaxed) & kOperatorObserved; }

// The callbacks of all threads may have gone since the call began.
void tell_end(const OperatorCall& call, const core::OwnedValue* results) noexcept {
  end_everywhere(call, results);
  if (t_observer) t_observer->end_call(call, results);
}

}  // namespace

void begin_operator(int id, core::Form form, const tn_value* in, core::TensorImpl** outs) {
  if (form == core::Form::Functional && outs) std::fill_n(outs, core::op_at(id).n_results, nullptr);
  const bool everywhere = is_observed_everywhere();
  if ((!t_observer && !everywhere) || is_seen_by_values(id, in)) return;
  const OperatorCall call = call_of(id, form, in, outs);
  if (t_observer) t_observer->begin_call(call);
  if (everywhere) begin_everywhere(call);
}

void end_operator(int id, core::Form form, const tn_value* in, core::TensorImpl** outs) noexcept {
  const OperatorCall call = call_of(id, form, in, outs);
  const bool failed = std::uncaught_exceptions() > 0;
  if (!failed && outs && AnomalyMode::is_enabled() && recording()) remember_made(call, outs);
  if (is_seen_by_values(id, in)) return;
  core::OwnedValue results[core::kMaxOutputs];
  if (!failed && form == core::Form::Functional) {
    for (int i = 0; i < call.op.n_results; ++i) {
      results[i].tag = outs[i] ? TN_TAG_TENSOR : TN_TAG_NONE;
      results[i].tensor = core::Impl::share(outs[i]);
    }
  }
  tell_end(call, failed ? nullptr : results);
}

void end_composite(int id, const tn_value* in, const core::OwnedValue* results) noexcept {
  if (!is_seen_by_values(id, in))
    tell_end(call_of(id, core::Form::Functional, in, nullptr), results);
}

void report_change(const char* what, const Tensor& t) {
  if (t_observer) t_observer->changed(what, *t.unsafeGetTensorImpl());
}

void rethrow_called(int id, std::initializer_list<GivenTensors> given) {
  const core::Op& op = core::op_at(id);
  std::string shapes;
  for (const GivenTensors& g : given) {
    std::string_view name = op.args[g.at].name;
    for (const Tensor& t : g.tensors) {
      if (!t.defined()) continue;
      shapes += core::join(shapes.empty() ? "" : ", ", name, name.empty() ? "" : " ", t.sizes());
      name = {};
    }
  }
  core::rethrow_called(op.name, shapes);
}

}  // namespace tenon::autograd
