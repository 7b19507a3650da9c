// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A child that was forked after parallel work computes as its parent does, with threads of its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tenon/runtime/threads.h"

using namespace tenon;

#if !defined(__SANITIZE_THREAD__)  // which does not support threads in a forked child

namespace {

struct ForkedWork {
  const char* name;
  std::function<Tensor()> work;
};

// Large enough that the pool shares each.
std::vector<ForkedWork> cases() {
  manual_seed(1);
  Tensor a = randn({600, 700}), b = randn({700, 500}), image = randn({8, 16, 40, 40}),
         filter = randn({32, 16, 3, 3});
  return {{"elementwise", [=] { return (a.exp() + a * 2).tanh(); }},
          {"mm", [=] { return a.mm(b); }},
          {"conv", [=] { return conv2d(image, filter); }},
          {"backward", [=] {
             Tensor w = b.detach().set_requires_grad(true);
             return autograd::grad({a.mm(w).tanh().sum()}, {w})[0];
           }}};
}

// How a child that repeats the work has ended.
int status_of_child(const ForkedWork& c, const Tensor& expected) {
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    bool same = false;
    try {
      same = c.work().equal(expected) && c.work().equal(expected);
    } catch (...) {
    }
    _exit(same ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST(Fork, AChildComputesWhatItsParentDid) {
  const int before = core::num_threads();
  core::set_num_threads(2);
  for (const ForkedWork& c : cases()) {
    Tensor expected = c.work();
    EXPECT_EQ(status_of_child(c, expected), 0) << c.name;
    EXPECT_TRUE(c.work().equal(expected)) << c.name << " in the parent, afterwards";
  }
  core::set_num_threads(before);
}
#endif
