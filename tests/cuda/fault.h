// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Runs work repeatedly so that each of its calls to the fake libraries fails once.
#pragma once

#include "tests/cuda/support.h"

namespace tenon::test {

inline int64_t alive() {
  int64_t n = 0;
  for (int what = TENON_FAKE_MEMORY; what <= TENON_FAKE_HANDLES; ++what)
    n += tenon_fake_alive(what);
  return n;
}

// The n-th call fails, for n = 1, 2, ... until the work is done before its n-th call. Returns how
// many were injected.
template <class F>
int each_call_fails_once(cudaError_t code, F&& work) {
  work();
  trim();
  const int64_t before = alive();
  int raised = 0;
  for (int n = 1;; ++n) {
    const int64_t injected = tenon_fake_injected();
    tenon_fake_fail(n, code);
    const std::string text = text_of<std::exception>(work);
    const bool hit = tenon_fake_injected() > injected;
    tenon_fake_fail(0, 0);
    if (!hit) {
      EXPECT_EQ(text, "");
      printf("%d calls failed with %s, %d of them raised an error\n", n - 1, cudaGetErrorName(code),
             raised);
      return n - 1;
    }
    if (!text.empty()) {
      ++raised;
      EXPECT_TRUE(has(text, "failed") || has(text, "out of memory")) << text;
      EXPECT_TRUE(has(text, "cuda")) << text;
    }
    trim();
    EXPECT_EQ(alive(), before) << "after a failure of call " << n << ": " << text;
    EXPECT_EQ(text_of<std::exception>(work), "") << "the work after a failure of call " << n;
    trim();
    EXPECT_EQ(alive(), before) << "after the work that follows a failure of call " << n;
  }
}

}  // namespace tenon::test
