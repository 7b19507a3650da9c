// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Whatever the name stands for, save() does what a person expects of it.
#include <fcntl.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include <csignal>
#include <thread>

#include "tests/saving/support.h"

using namespace tenon;
using namespace tenon::test;
namespace fs = std::filesystem;

namespace {

class Target : public SavingTest {
 protected:
  std::string refusal(const std::string& name) const {
    return text_of<ValueError>([&] { save(arange(3), name); });
  }
};

TEST_F(Target, AFileOfAnothersNameIsLeftAlone) {
  put("victim", "precious");
  put("x.part", "mine");
  fs::create_symlink(path("victim"), path("y.part"));
  save(arange(3), path("x"));
  save(arange(3), path("y"));
  EXPECT_EQ(bytes("x.part"), "mine");
  EXPECT_EQ(bytes("victim"), "precious");
  EXPECT_TRUE(S_ISREG(mode("y")));
  EXPECT_EQ(temporaries().size(), 2u) << "x.part and y.part";
}

TEST_F(Target, ModeAndOwnerAreKept) {
  for (mode_t m : {0600, 0640, 0666, 0755, 0200}) {
    put("x", "old");
    ASSERT_EQ(chmod(path("x").c_str(), m), 0);
    save(arange(3), path("x"));
    EXPECT_EQ(mode("x") & 07777, m);
    fs::remove(path("x"));
  }
  if (geteuid() != 0) return;  // only root gives files away
  put("x", "old");
  ASSERT_EQ(chown(path("x").c_str(), 1234, 2345), 0);
  ASSERT_EQ(chmod(path("x").c_str(), 0640), 0);
  save(arange(3), path("x"));
  struct stat s {};
  ASSERT_EQ(stat(path("x").c_str(), &s), 0);
  EXPECT_EQ(s.st_uid, 1234u);
  EXPECT_EQ(s.st_gid, 2345u);
  EXPECT_EQ(s.st_mode & 07777, 0640u);
}

TEST_F(Target, AGroupThatCannotBeKeptIsGivenNoMore) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root, who makes the file of another group";
  put("x", "old");
  ASSERT_EQ(chown(path("x").c_str(), 1234, 2345), 0);
  ASSERT_EQ(chmod(path("x").c_str(), 0666), 0);
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  put("y", "old");
  ASSERT_EQ(chown(path("y").c_str(), 4321, 2345), 0);
  ASSERT_EQ(chmod(path("y").c_str(), 0660), 0);
  const int status = in_child([&] {
    if (setgroups(0, nullptr) != 0 || setgid(5432) != 0 || setuid(4321) != 0) _exit(2);
    save(arange(3), path("x"));
    save(arange(3), path("y"));
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(mode("x") & 07777, 0666u);
  EXPECT_EQ(mode("y") & 07777, 0600u);
}

TEST_F(Target, ANewFileFollowsTheMask) {
  for (mode_t mask : {0, 022, 027, 077}) {
    const mode_t before = umask(mask);
    save(arange(3), path("x"));
    umask(before);
    EXPECT_EQ(mode("x") & 07777, 0666u & ~mask);
    fs::remove(path("x"));
  }
}

TEST_F(Target, TheAccessListIsKept) {
  // Version 2; user::rw, user 1234 r, group::r, mask::rw, other::none.
  const unsigned char list[] = {2, 0,    0,   0,   1,   0,   6,  0, 255, 255, 255, 255, 2,   0,  4,
                                0, 0xd2, 4,   0,   0,   4,   0,  4, 0,   255, 255, 255, 255, 16, 0,
                                6, 0,    255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255};
  put("x", "old");
  const char* kind = "system.posix_acl_access";
  if (setxattr(path("x").c_str(), kind, list, sizeof list, 0) != 0)
    GTEST_SKIP() << "no access lists on this disk";
  save(arange(3), path("x"));
  unsigned char now[100];
  ASSERT_EQ(getxattr(path("x").c_str(), kind, now, sizeof now), static_cast<ssize_t>(sizeof list));
  EXPECT_EQ(std::memcmp(now, list, sizeof list), 0);
}

TEST_F(Target, AReadOnlyFileIsRefusedAlsoToRoot) {
  put("x", "old");
  ASSERT_EQ(chmod(path("x").c_str(), 0444), 0);
  expect_words(refusal(path("x")), {"read-only", path("x").c_str(), "Permission denied"});
  EXPECT_EQ(bytes("x"), "old");
  EXPECT_TRUE(temporaries().empty());
}

TEST_F(Target, AFileOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root, who makes the file of another";
  put("x", "old");  // root's, 0644
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  const int status = in_child([&] {
    if (setuid(4321) != 0) _exit(2);
    _exit(has(refusal(path("x")), "Permission denied") ? 0 : 3);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(bytes("x"), "old");
}

TEST_F(Target, AFolderThatCannotBeListedTakesFiles) {
  fs::create_directory(path("box"));
  ASSERT_EQ(chmod(path("box").c_str(), 0333), 0);
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  const int status = in_child([&] {
    if (geteuid() == 0 && setuid(4321) != 0) _exit(2);
    save(arange(3), path("box/x"));
    _exit(equal(loaded(path("box/x")), arange(3)) ? 0 : 3);
  });
  EXPECT_EQ(status, 0);
  ASSERT_EQ(chmod(path("box").c_str(), 0777), 0);
}

TEST_F(Target, ALinkStaysAndItsFileIsReplaced) {
  fs::create_directory(path("below"));
  put("below/file", "old");
  ASSERT_EQ(chmod(path("below/file").c_str(), 0600), 0);
  fs::create_symlink("below/file", path("relative"));
  fs::create_symlink(path("relative"), path("absolute"));
  for (const char* link : {"relative", "absolute"}) {
    save(arange(3), path(link));
    EXPECT_TRUE(S_ISLNK(mode(link)));
    EXPECT_EQ(mode("below/file"), S_IFREG | 0600u);
    EXPECT_TRUE(equal(loaded(path("below/file")), arange(3)));
    put("below/file", "old");
  }
  fs::create_symlink("below/new", path("dangling"));
  save(arange(3), path("dangling"));
  EXPECT_TRUE(S_ISLNK(mode("dangling")));
  EXPECT_TRUE(equal(loaded(path("below/new")), arange(3)));
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  expect_words(refusal(path("a")), {"links", "a"});
  fs::create_symlink("below", path("folder"));
  expect_words(refusal(path("folder")), {"directory"});
  save(arange(3), path("folder/through"));
  EXPECT_TRUE(fs::exists(path("below/through")));
}

TEST_F(Target, AnotherHardLinkKeepsTheOldContent) {
  put("x", "old");
  fs::create_hard_link(path("x"), path("other"));
  save(arange(3), path("x"));
  EXPECT_EQ(bytes("other"), "old");
}

TEST_F(Target, AFolderIsRefused) {
  fs::create_directory(path("d"));
  for (const auto& name : {path("d"), path("d/"), path("d/."), path("d/.."), path("new/")}) {
    EXPECT_NE(refusal(name), "") << name;
  }
  expect_words(refusal(path("d")), {"directory"});
  expect_words(refusal(path("none/x")), {"No such file", "none/x"});
  expect_words(refusal(""), {"No such file"});
  put("file", "");
  expect_words(refusal(path("file/x")), {"Not a directory"});
  expect_words(refusal(path(std::string(300, 'n'))), {"too long"});
  EXPECT_TRUE(fs::is_directory(path("d")));
}

TEST_F(Target, ANameWithAZeroIsRefused) {
  std::string name = path("x");
  name += std::string("\0y", 2);
  expect_words(refusal(name), {"zero byte"});
  Tensor t;
  expect_words(text_of<ValueError>([&] { load(t, name); }), {"zero byte"});
  EXPECT_FALSE(fs::exists(path("x")));
}

TEST_F(Target, ANameInTheWorkingFolderWorks) {
  const int status = in_child([&] {
    if (chdir(folder_.c_str()) != 0) _exit(2);
    save(arange(3), "plain");
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(equal(loaded(path("plain")), arange(3)));
}

TEST_F(Target, APipeIsWrittenAndStays) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const Tensor big = arange(100000);
  Tensor back;
  std::thread reader([&] { back = loaded(path("pipe")); });
  save(big, path("pipe"));
  reader.join();
  EXPECT_TRUE(equal(back, big));
  EXPECT_TRUE(S_ISFIFO(mode("pipe")));
}

#if !defined(__SANITIZE_THREAD__)  // which does not support threads in a forked child
TEST_F(Target, APipeThatItsReaderLeavesIsAnErrorAndDoesNotKill) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const Tensor big = arange(1000000);
  const int status = in_child([&] {
    signal(SIGPIPE, SIG_DFL);
    std::thread reader([&] { close(open(path("pipe").c_str(), O_RDONLY)); });
    const std::string text = refusal(path("pipe"));
    const std::string big_text = text.empty() ? text_of<ValueError>([&] {
      std::thread again([&] { close(open(path("pipe").c_str(), O_RDONLY)); });
      again.detach();
      save(big, path("pipe"));
    })
                                              : text;
    reader.join();
    sigset_t pending;
    sigpending(&pending);
    if (sigismember(&pending, SIGPIPE)) _exit(3);
    _exit(has(big_text, "Broken pipe") ? 0 : 4);
  });
  EXPECT_EQ(status, 0);
}

#endif

TEST_F(Target, ALimitOnTheSizeIsAnErrorAndDoesNotKill) {
  put("x", "old");
  const int status = in_child([&] {
    const rlimit small{1000, 1000};
    if (setrlimit(RLIMIT_FSIZE, &small) != 0) _exit(2);
    const std::string text = text_of<ValueError>([&] { save(arange(1000), path("x")); });
    _exit(has(text, "File too large") ? 0 : 3);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(bytes("x"), "old");
  EXPECT_TRUE(temporaries().empty());
}

TEST_F(Target, DevicesAreWrittenAndStay) {
  struct stat before {
  }, after{};
  for (const char* device : {"/dev/null", "/dev/full"}) {
    ASSERT_EQ(stat(device, &before), 0);
    if (device == std::string("/dev/null")) {
      save(arange(3), device);
    } else {
      expect_words(refusal(device), {"No space left", device});
    }
    ASSERT_EQ(stat(device, &after), 0);
    EXPECT_TRUE(S_ISCHR(after.st_mode));
    EXPECT_EQ(after.st_ino, before.st_ino);
  }
  fs::create_symlink("/dev/full", path("link"));
  expect_words(refusal(path("link")), {"No space left"});
}

TEST_F(Target, ASocketIsRefused) {
  const int s = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::snprintf(at.sun_path, sizeof at.sun_path, "%s", path("socket").c_str());
  ASSERT_EQ(bind(s, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  EXPECT_NE(refusal(path("socket")), "");
  EXPECT_TRUE(S_ISSOCK(mode("socket")));
  close(s);
}

TEST_F(Target, DescriptorsByTheirLinksInProc) {
  const int pipe_in = [&] {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    save(arange(3), "/proc/self/fd/" + std::to_string(ends[1]));
    close(ends[1]);
    return ends[0];
  }();
  EXPECT_TRUE(equal(loaded("/proc/self/fd/" + std::to_string(pipe_in)), arange(3)));
  close(pipe_in);
  put("gone", "old");
  const int gone = open(path("gone").c_str(), O_RDWR);
  fs::remove(path("gone"));
  EXPECT_NE(refusal("/proc/self/fd/" + std::to_string(gone)), "");
  EXPECT_TRUE(fs::is_empty(folder_));
  close(gone);
}

TEST_F(Target, WhatCannotBeLoaded) {
  Tensor t;
  expect_words(text_of<ValueError>([&] { load(t, "/dev/zero"); }),
               {"neither a plain file nor a pipe"});
  expect_words(text_of<ValueError>([&] { load(t, folder_.string()); }),
               {"neither a plain file nor a pipe"});
  expect_words(text_of<ValueError>([&] { load(t, path("none")); }), {"No such file"});
}

}  // namespace
