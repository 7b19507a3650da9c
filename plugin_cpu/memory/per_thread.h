// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a thread keeps between calls, under one pthread key.
//
// Not thread_local: the C library ends the process if it has no memory for the thread-local block
// of a library that was opened late, or to register a destructor. Here that is std::bad_alloc,
// which fails the call alone.
#pragma once

#include <memory>
#include <new>

namespace tenon::cpu {

namespace per_thread {

struct Entry {
  void* value = nullptr;
  void (*drop)(void*) = nullptr;
};
int next_index() noexcept;  // of a type: each has one
Entry& entry(int index);    // this thread's; std::bad_alloc where there is no memory for it

}  // namespace per_thread

// The thread's own T, made at the first use and deleted when the thread ends.
template <class T>
T& of_this_thread() {
  static const int index = per_thread::next_index();
  per_thread::Entry& e = per_thread::entry(index);
  if (__builtin_expect(e.value == nullptr, 0)) {
    e.value = std::make_unique<T>().release();
    e.drop = [](void* p) { delete static_cast<T*>(p); };
  }
  return *static_cast<T*>(e.value);
}

}  // namespace tenon::cpu
