// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// System calls that fail, or do a part: the linker takes the definitions of this program for those
// of libtenon, too.
#include <fcntl.h>
#include <sys/syscall.h>

#include <cerrno>

#include "tests/saving/support.h"

using namespace tenon;
using namespace tenon::test;

namespace {

// What becomes of one call of a kind while a test has armed it.
struct Fault {
  const char* call = "";
  int at = -1;    // which of them; -1: every second one
  int error = 0;  // 0: it does half of the work
  int seen = 0;
  int met = 0;
};
thread_local Fault* t_fault = nullptr;

bool meets(const char* call) {
  Fault* f = t_fault;
  if (!f || std::string(f->call) != call) return false;
  const int now = f->seen++;
  if (f->at >= 0 ? now != f->at : now % 2 != 0) return false;
  ++f->met;
  errno = f->error;
  return true;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
ssize_t write(int fd, const void* data, size_t bytes) {
  if (meets("write")) {
    if (t_fault->error != 0) return -1;
    bytes = (bytes + 1) / 2;
  }
  return syscall(SYS_write, fd, data, bytes);
}
int fsync(int fd) { return meets("fsync") ? -1 : static_cast<int>(syscall(SYS_fsync, fd)); }
int fchmod(int fd, mode_t mode) noexcept {
  return meets("fchmod") ? -1 : static_cast<int>(syscall(SYS_fchmod, fd, mode));
}
int close(int fd) {
  const bool fails = meets("close");
  const int error = errno, result = static_cast<int>(syscall(SYS_close, fd));
  if (!fails) return result;
  errno = error;
  return -1;
}
int renameat(int a, const char* from, int b, const char* to) noexcept {
  return meets("renameat") ? -1 : static_cast<int>(syscall(SYS_renameat2, a, from, b, to, 0));
}
}
#pragma GCC visibility pop

namespace {

class Faults : public SavingTest {
 protected:
  void SetUp() override {
    SavingTest::SetUp();
    values_ = {full({30000}, 1.5), arange(40000), ones({3})};
    save(zeros({4}), path("x"));
    old_ = bytes("x");
    chmod(path("x").c_str(), 0600);
    save(values_, path("new"));
    new_ = bytes("new");
  }
  std::string save_with(Fault& fault) {
    t_fault = &fault;
    const std::string text = text_of<ValueError>([&] { save(values_, path("x")); });
    t_fault = nullptr;
    return text;
  }

  std::vector<Tensor> values_;
  std::string old_, new_;
};

TEST_F(Faults, SignalsAndHalfWritesAreGoneOnFrom) {
  for (int error : {0, EINTR}) {
    Fault f{"write", -1, error};
    EXPECT_EQ(save_with(f), "");
    EXPECT_GT(f.met, 2);
    EXPECT_TRUE(bytes("x") == new_);
    save(zeros({4}), path("x"));
  }
  Fault f{"fsync", -1, EINTR};
  EXPECT_EQ(save_with(f), "");
  EXPECT_EQ(f.met, 2);
  EXPECT_TRUE(bytes("x") == new_);
}

TEST_F(Faults, AnErrorLeavesTheOldFile) {
  int met = 0;
  for (const char* call : {"write", "fsync", "fchmod", "close", "renameat"}) {
    for (int error : {ENOSPC, EIO, EDQUOT, EPERM}) {
      for (int at = 0; at < 10; ++at) {
        Fault f{call, at, error};
        const std::string text = save_with(f);
        if (f.met == 0) {  // there are no more of these
          put("x", old_);
          break;
        }
        ++met;
        const bool renamed =
            (call == std::string("fsync") && at == 1) || (call == std::string("close") && at >= 1);
        if (call == std::string("close") && at >= 1) {
          EXPECT_EQ(text, "");  // of a folder that is synced
        } else {
          expect_words(
              text, {"save: ", path("x").c_str(), std::generic_category().message(error).c_str()});
        }
        EXPECT_TRUE(bytes("x") == (renamed ? new_ : old_)) << call << " " << at;
        EXPECT_EQ(mode("x") & 0777, 0600u);
        EXPECT_TRUE(temporaries().empty()) << call << " " << at;
        if (renamed) {
          if (!text.empty()) expect_words(text, {"has its new content"});
          put("x", old_);
        }
      }
    }
  }
  EXPECT_GE(met, 4 * 8) << "3 writes, 2 fsyncs, fchmod, 2 closes and a rename, each with 4 errors";
}

// A system without fsync for this kind of file is not an error.
TEST_F(Faults, WhatCannotBeSyncedIsSaved) {
  for (int error : {EINVAL, ENOTSUP, EROFS, ENOSYS}) {
    Fault f{"fsync", -1, error};
    EXPECT_EQ(save_with(f), "");
    EXPECT_TRUE(bytes("x") == new_);
  }
}

}  // namespace
