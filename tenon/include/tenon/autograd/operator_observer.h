// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Observes the operator calls of this thread (every public operator, views and composites
// included): profiler, named ranges.
#pragma once

#include <string_view>

#include "tenon/runtime/export.h"

namespace tenon::autograd {

struct OperatorObserver {
  virtual ~OperatorObserver() = default;
  virtual void begin(std::string_view op) = 0;
  virtual void end(std::string_view op) noexcept = 0;
};
// Returns the one before; null turns it off.
TENON_API OperatorObserver* set_operator_observer(OperatorObserver* o) noexcept;

}  // namespace tenon::autograd
