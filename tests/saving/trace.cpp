// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/saving/trace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

namespace tenon::test {

Traced::Traced(const std::function<void()>& body) {
  child_ = fork();
  if (child_ == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(90);
    raise(SIGSTOP);
    try {
      body();
    } catch (...) {
      _exit(91);
    }
    _exit(0);
  }
  waitpid(child_, &status_, 0);
  // Where the system forbids ptrace nothing would be tested: that is a failure, not a pass.
  EXPECT_TRUE(WIFSTOPPED(status_)) << "ptrace is not allowed here";
  if (WIFSTOPPED(status_))
    ptrace(PTRACE_SETOPTIONS, child_, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
}

Traced::~Traced() {
  if (WIFEXITED(status_) || WIFSIGNALED(status_)) return;
  kill(child_, SIGKILL);
  waitpid(child_, &status_, 0);
}

std::string Traced::text_at(uint64_t address, std::size_t max_bytes, bool ends_at_zero) const {
  std::string out;
  while (out.size() < max_bytes) {
    char block[256];
    // A block that ends where the page does: a text may end just before one that is not mapped.
    const std::size_t size =
        std::min({sizeof block, max_bytes - out.size(), 4096 - (address + out.size()) % 4096});
    iovec here{block, size}, there{reinterpret_cast<void*>(address + out.size()), size};
    const ssize_t got = process_vm_readv(child_, &here, 1, &there, 1, 0);
    if (got <= 0) break;
    const std::size_t n = ends_at_zero ? strnlen(block, static_cast<std::size_t>(got))
                                       : static_cast<std::size_t>(got);
    out.append(block, n);
    if (n < static_cast<std::size_t>(got)) break;
  }
  return out;
}

void Traced::read_arguments() {
  const auto path = [&](int i) { return text_at(call_.arguments[i], 4096, true); };
  switch (call_.number) {
    case SYS_openat:
    case SYS_unlinkat:
      call_.path = path(1);
      break;
    case SYS_renameat:
    case SYS_renameat2:
      call_.path = path(1);
      call_.second_path = path(3);
      break;
#ifdef SYS_rename
    case SYS_rename:
      call_.path = path(0);
      call_.second_path = path(1);
      break;
#endif
    case SYS_write:
    case SYS_pwrite64:
      call_.data = text_at(call_.arguments[1], call_.arguments[2], false);
      break;
    default:
      break;
  }
}

bool Traced::step() {
  if (!WIFSTOPPED(status_)) return false;
  for (int signal = 0;;) {
    ptrace(PTRACE_SYSCALL, child_, nullptr, signal);
    waitpid(child_, &status_, 0);
    if (!WIFSTOPPED(status_)) return false;
    if (WSTOPSIG(status_) == (SIGTRAP | 0x80)) break;
    signal = WSTOPSIG(status_);
  }
  __ptrace_syscall_info info{};
  ptrace(PTRACE_GET_SYSCALL_INFO, child_, sizeof info, &info);
  after_ = info.op == PTRACE_SYSCALL_INFO_EXIT;
  if (after_) {
    call_.result = info.exit.rval;
  } else {
    call_ = {};
    call_.number = info.entry.nr;
    for (int i = 0; i < 6; ++i) call_.arguments[i] = info.entry.args[i];
    read_arguments();
  }
  return true;
}

std::vector<SystemCall> trace(const std::function<void()>& body, bool* ended_well) {
  Traced traced(body);
  std::vector<SystemCall> out;
  while (traced.step()) {
    if (traced.after()) out.push_back(traced.call());
  }
  *ended_well = WIFEXITED(traced.status()) && WEXITSTATUS(traced.status()) == 0;
  return out;
}

}  // namespace tenon::test
