// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Observes the operator calls of this thread (every public operator, views and composites
// included): profiler, named ranges, recording of programs.
#pragma once

#include <string_view>

#include "tenon/core/op.h"
#include "tenon/runtime/export.h"

namespace tenon::autograd {

// A call in progress; `in` has all arguments of the schema and lives as long as the call. `written`
// is what an in-place call (one tensor) or one with out= (one per result) writes to.
struct OperatorCall {
  const core::Op& op;
  core::Form form;
  const tn_value* in;
  core::TensorImpl* const* written;
};

struct OperatorObserver {
  virtual ~OperatorObserver() = default;
  virtual void begin(std::string_view op) { (void)op; }
  virtual void end(std::string_view op) noexcept { (void)op; }
  // The same with arguments and results; those of calls inside of composites stand between them.
  // What begin_call throws becomes the error of the call, and end_call is not called. `results`:
  // one per result of the schema, for the functional form alone; null if the call failed.
  virtual void begin_call(const OperatorCall& call) { begin(call.op.name); }
  virtual void end_call(const OperatorCall& call, const core::OwnedValue* results) noexcept {
    (void)results;
    end(call.op.name);
  }
  // A change of a tensor without an operator ("set_data").
  virtual void changed(const char* what, core::TensorImpl& tensor) { (void)what, (void)tensor; }
};
// Returns the one before; null turns it off.
TENON_API OperatorObserver* set_operator_observer(OperatorObserver* o) noexcept;
TENON_API OperatorObserver* operator_observer() noexcept;

}  // namespace tenon::autograd
