// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/mode.h"

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

void begin_operator(int id) {
  if (t_observer) t_observer->begin(core::op_at(id).name);
}

void end_operator(int id) noexcept {
  if (t_observer) t_observer->end(core::op_at(id).name);
}

void rethrow_called(int id) { core::rethrow_called(core::op_at(id).name); }

}  // namespace tenon::autograd
