// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a thread does when it ends, for state that it keeps in a plain thread-local pointer.
//
// Not destructors of thread_local objects: the C library ends the process if it has no memory to
// register one, and those of the main thread run before the destructors of statics, which may still
// call ops. What is registered here runs after all of them, and not at all for the main thread of a
// process that exits.
#pragma once

#include "tenon/runtime/export.h"

namespace tenon::core {

// In thread-local memory of its user; constant initialization only.
struct ThreadEnd {
  void (*run)() noexcept;
  ThreadEnd* next = nullptr;
};

// Runs end.run once when this thread ends, the last registered first; `end` may be registered again
// from there. False, and nothing will run, if there is no memory for it: then the thread must not
// keep what `run` would free.
TENON_API TENON_COLD bool at_thread_end(ThreadEnd& end) noexcept;

}  // namespace tenon::core
