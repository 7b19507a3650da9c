// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Test controls of the fake libnccl, which the plugin has opened:
//   set_fake_nccl("fail", "ncclAllReduce=4");
// Each name is also an environment variable, TENON_FAKE_NCCL_FAIL, which holds until it is set
// here.
//   fail      FUNCTION=CODE: its next call fails, once
//   async     CODE: the next answer about errors that came later, once
//   delay_ms  how late operations begin after their stream has come to them
//   hang      1: communicators are not joined, operations do not end, and a peer that is gone is
//   not noticed
#pragma once

#include <dlfcn.h>

#include <stdexcept>

namespace tenon::fake {

inline void set_fake_nccl(const char* name, const char* value) {
  void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  using Set = void (*)(const char*, const char*);
  const auto set = library ? reinterpret_cast<Set>(dlsym(library, "tenon_fake_nccl_set")) : nullptr;
  if (!set) throw std::runtime_error("libnccl.so.2 is not the fake one");
  set(name, value);
}

}  // namespace tenon::fake
