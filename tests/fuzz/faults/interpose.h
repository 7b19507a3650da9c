// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls of the C library that fail on request. Defined in the program, they replace the library's
// own for everything that the process has loaded. Calls inside of the library are not intercepted,
// except for dlopen, which gets no descriptor or no memory while it runs.
#pragma once

#include <cstdint>

namespace tenon::faults {

enum class Call { Memory, Map, Open, Read, Write, Sync, Rename, Thread };
inline constexpr int kCalls = 8;
inline constexpr const char* kCallNames[kCalls] = {"malloc", "mmap",  "open",   "read",
                                                   "write",  "fsync", "rename", "pthread_create"};

void prepare();  // once, before anything else: finds the library's functions
// From here on calls are counted, and the n-th of its kind fails; 1 is the first. With `permanent`
// all later ones, too.
void arm(Call call, int64_t n, bool permanent);
void show_failures();  // prints where the call stands that fails
void disarm();
int64_t counted(Call call);  // since arm()

}  // namespace tenon::faults
