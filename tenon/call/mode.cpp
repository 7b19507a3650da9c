// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/mode.h"

#include <algorithm>
#include <exception>

#include "tenon/autograd/operator_observer.h"
#include "tenon/call/generated.h"

namespace tenon::autograd {

__thread uint32_t t_mode __attribute__((tls_model("initial-exec"))) = kGradMode;

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

OperatorCall call_of(int id, core::Form form, const tn_value* in, core::TensorImpl** outs) {
  return {core::op_at(id), form, in, form == core::Form::Functional ? nullptr : outs};
}

}  // namespace

void begin_operator(int id, core::Form form, const tn_value* in, core::TensorImpl** outs) {
  if (form == core::Form::Functional && outs) std::fill_n(outs, core::op_at(id).n_results, nullptr);
  if (t_observer) t_observer->begin_call(call_of(id, form, in, outs));
}

void end_operator(int id, core::Form form, const tn_value* in, core::TensorImpl** outs) noexcept {
  if (!t_observer) return;
  const OperatorCall call = call_of(id, form, in, outs);
  core::OwnedValue results[core::kMaxOutputs];
  const bool failed = std::uncaught_exceptions() > 0;
  if (!failed && form == core::Form::Functional) {
    for (int i = 0; i < call.op.n_results; ++i) {
      results[i].tag = outs[i] ? TN_TAG_TENSOR : TN_TAG_NONE;
      results[i].tensor = core::Impl::share(outs[i]);
    }
  }
  t_observer->end_call(call, failed ? nullptr : results);
}

void end_composite(int id, const tn_value* in, const core::OwnedValue* results) noexcept {
  if (t_observer) t_observer->end_call(call_of(id, core::Form::Functional, in, nullptr), results);
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
