// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The switches of tracing.
#include <atomic>

#include "jit/trace/recorder.h"
#include "runtime/base/settings.h"
#include "tenon/jit/trace.h"

namespace tenon::jit {
namespace {

std::atomic<bool>& enabled() {
  static std::atomic<bool> on = core::setting("JIT") != "0";
  return on;
}

}  // namespace

bool tracing_enabled() noexcept { return enabled(); }
void set_tracing_enabled(bool on) noexcept { enabled() = on; }
bool is_tracing() noexcept {
  return dynamic_cast<tracing::Recorder*>(autograd::operator_observer()) != nullptr;
}

}  // namespace tenon::jit
