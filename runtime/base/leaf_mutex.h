// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A mutex whose holder takes no other lock and waits for nothing: that of a table. A fork waits for
// all of them, so that the child finds them free and their data consistent. For objects that are
// made when the library loads and never destroyed.
#pragma once

#include <atomic>
#include <mutex>

#include "tenon/runtime/export.h"

namespace tenon::core {

class TENON_API LeafMutex {
 public:
  LeafMutex();
  LeafMutex(const LeafMutex&) = delete;
  LeafMutex& operator=(const LeafMutex&) = delete;
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  friend struct LeafMutexes;
  std::mutex mutex_;  // fork: taken by the handlers of leaf_mutex.cpp
  LeafMutex* next_;
};

}  // namespace tenon::core
