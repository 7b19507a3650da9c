// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tenon/creation.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

// 0: refused for want of memory, and the next call with memory works.
int factor_without_memory() {
  const Tensor a = rand({40, 40});
  rlimit before;
  getrlimit(RLIMIT_AS, &before);
  std::ifstream in("/proc/self/statm");
  rlim_t pages = 0;
  in >> pages;
  rlimit tight = before;
  tight.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{100} << 20);
  if (setrlimit(RLIMIT_AS, &tight) != 0) return 1;
  try {
    linalg_qr(a);
    return 2;
  } catch (const OutOfMemoryError&) {
  } catch (const Error&) {
    return 3;
  }
  setrlimit(RLIMIT_AS, &before);
  const auto [q, r] = linalg_qr(a);
  return allclose(q.matmul(r), a, 1e-4, 1e-4) ? 0 : 4;
}

// OpenBLAS 0.3.21 would look for memory without end.
TEST(Lapack, NoMemoryIsAnError) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    _exit(factor_without_memory());
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tenon
