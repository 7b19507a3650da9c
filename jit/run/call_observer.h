// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls of functions of programs that the host makes on this thread, for recording them.
#pragma once

#include "tenon/jit/unit.h"

namespace tenon::jit {

struct CallObserver {
  virtual ~CallObserver() = default;
  // Runs `f` with all arguments in order, and gives what it gives.
  virtual IValue call(const Function& f, Stack arguments) = 0;
};
CallObserver* call_observer() noexcept;
// Returns the one before; null turns it off.
CallObserver* set_call_observer(CallObserver* o) noexcept;

}  // namespace tenon::jit
