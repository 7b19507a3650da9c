// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// State of a thread that is made when it is first asked for. Private to libtenon.
#pragma once

#include <memory>
#include <new>

#include "tenon/runtime/thread_end.h"

namespace tenon {

// `slot` and `end` are thread-local; end.run deletes what the slot holds. bad_alloc without memory.
template <class T>
T& thread_state(T*& slot, core::ThreadEnd& end) {
  if (slot == nullptr) {
    auto made = std::make_unique<T>();
    if (!core::at_thread_end(end)) throw std::bad_alloc();
    slot = made.release();
  }
  return *slot;
}

}  // namespace tenon
