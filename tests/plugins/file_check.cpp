// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Attempts to load another file than the intended one.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"
#include "tenon/runtime/error.h"

using namespace tenon;
using namespace tenon::test;

namespace {

// A process that swaps libtenon_works.so of the folder with `b` and back, until this one ends.
pid_t start_exchanging(const Folder& f) {
  pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (unsigned k = 0;; ++k) {
    unlink((f / "link").c_str());
    if (link((f / (k & 1 ? "a" : "b")).c_str(), (f / "link").c_str()) != 0) _exit(1);
    if (rename((f / "link").c_str(), (f / "libtenon_works.so").c_str()) != 0) _exit(1);
  }
}

std::string load_of(const fs::path& file) {
  try {
    plugins::load(file.string());
  } catch (const BackendError& e) {
    return e.what();
  }
  return "opened";
}

}  // namespace

TEST(PluginHijack, ABareNameIsNotLookedUpInTheCurrentDirectory) {
  Folder here;
  fs::copy_file(built_plugin("good"), here / "libtenon_good.so");
  std::string out = in_child({{"TENON_PLUGIN_PATH", "/nonexistent"}}, [&] {
    if (chdir(here.path().c_str()) != 0) return std::string("chdir failed");
    std::string bare = load_of("libtenon_good.so");
    EXPECT_EQ(load_of("./libtenon_good.so"), "opened");
    EXPECT_EQ(core_works(), "");
    return bare;
  });
  EXPECT_NE(out.find("a bare name is not searched for; expected a path, ./libtenon_good.so"),
            std::string::npos)
      << out;
}

TEST(PluginHijack, FoldersAndFilesThatOthersMayWrite) {
  Folder f;
  f.add("good", "good");
  fs::permissions(f / "libtenon_good.so", fs::perms::others_write, fs::perm_options::add);
  expect_refused(f / "libtenon_good.so", "the file may be written by others");
  fs::permissions(f / "libtenon_good.so", fs::perms::others_write, fs::perm_options::remove);
  fs::permissions(f.path(), fs::perms::others_all, fs::perm_options::add);
  expect_refused(f / "libtenon_good.so", "the folder may be written by others");
}

TEST(PluginHijack, AFolderAboveThatOthersMayWrite) {
  Folder f;
  fs::create_directory(f / "open");
  fs::create_directory(f / "open/safe");
  fs::copy_file(built_plugin("good"), f / "open/safe/libtenon_good.so");
  EXPECT_EQ(refusal(f / "open/safe/libtenon_good.so"), "");
  fs::permissions(f / "open", fs::perms::others_all, fs::perm_options::add);
  expect_refused(f / "open/safe/libtenon_good.so", "open: the folder may be written by others");
  chmod((f / "open").c_str(), 01777);  // sticky, as /tmp: no other user can replace the folder
  EXPECT_EQ(refusal(f / "open/safe/libtenon_good.so"), "");
}

TEST(PluginHijack, ALinkLeadsToTheFolderThatCounts) {
  Folder safe, open;
  fs::copy_file(built_plugin("good"), open / "libtenon_good.so");
  fs::create_symlink(open / "libtenon_good.so", safe / "libtenon_good.so");
  EXPECT_EQ(refusal(safe / "libtenon_good.so"), "");
  fs::permissions(open.path(), fs::perms::others_all, fs::perm_options::add);
  expect_refused(safe / "libtenon_good.so", "the folder may be written by others");
}

TEST(PluginHijack, AFileOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  Folder f;
  fs::copy_file(built_plugin("good"), f / "libtenon_good.so");
  ASSERT_EQ(chown((f / "libtenon_good.so").c_str(), 65534, 65534), 0);
  expect_refused(f / "libtenon_good.so", "the file belongs to another user (uid 65534)");
}

// Its constructor puts another file in its place, which is the moment between the check and what
// follows.
TEST(PluginHijack, AFileThatIsReplacedWhileItOpensServesNothing) {
  for (const char* isolated : {"false", "true"}) {
    Folder f;
    f.add("replaces_itself", "replaces_itself", {{"isolated", isolated}});
    fs::copy_file(built_plugin("good"), f / "libtenon_replaces_itself.so.evil");
    std::string out = in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, [&] {
      std::string why = load_of(f / "libtenon_replaces_itself.json");
      EXPECT_EQ(core_works(), "");
      return why;
    });
    // The sealed copy does not know the path that it has come from, so it cannot replace it.
    if (std::string(isolated) == "true") {
      EXPECT_EQ(out, "opened");
    } else {
      EXPECT_NE(out.find("the file was replaced while it was opened"), std::string::npos) << out;
    }
  }
}

// The good file is swapped with another of its name all the time. At any moment only the good one
// may be published, and from a sealed copy no other code ever runs.
TEST(PluginHijack, AFileThatIsExchangedAllTheTime) {
  const std::string hash = sha256_of(built_plugin("works"));
  for (const char* isolated : {"false", "true"}) {
    Folder f;
    f.add("works", "works", {{"isolated", isolated}, {"sha256", '"' + hash + '"'}});
    fs::copy_file(built_plugin("works"), f / "a");
    fs::copy_file(built_plugin("impostor"), f / "b");
    int opened = 0, ran = 0;
    constexpr int kTimes = 100;
    for (int i = 0; i < kTimes; ++i) {
      std::string out = in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, [&] {
        plugins::list();
        pid_t other = start_exchanging(f);
        usleep(200);
        std::string why = load_of(f / "libtenon_works.json");
        kill(other, SIGKILL);
        waitpid(other, nullptr, 0);
        if (why == "opened") {
          EXPECT_EQ(plugins::list().at(0).version, "1.2.3");
        }
        return why + (getenv("TENON_TEST_IMPOSTOR") ? " IMPOSTOR" : "");
      });
      opened += out.rfind("opened", 0) == 0;
      ran += out.find("IMPOSTOR") != std::string::npos;
    }
    std::printf("isolated %s: %d opened, %d refused, the other one's code ran %d times\n", isolated,
                opened, kTimes - opened, ran);
    EXPECT_GT(opened, 0);
    EXPECT_LT(opened, kTimes);
    if (isolated == std::string("true")) {
      EXPECT_EQ(ran, 0);
    }
  }
}

// A copy of this program with the setgid bit of another group runs with raised privileges
// (AT_SECURE).
TEST(PluginHijack, TheEnvironmentIsIgnoredUnderRaisedPrivileges) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can make a program with the privileges of another group";
  fs::path program = built_plugin("x").parent_path() / "setgid_listing";
  fs::copy_file(fs::canonical("/proc/self/exe").parent_path() / "plugins_listing", program,
                fs::copy_options::overwrite_existing);
  Folder evil;
  evil.add("good", "good");
  auto run = [&] {
    std::string command = "env TENON_PLUGIN_PATH='" + evil.path().string() +
                          "' TENON_PLUGINS_DISABLE='*' '" + program.string() + "'";
    FILE* pipe = popen(command.c_str(), "r");
    std::string out(1 << 16, '\0');
    out.resize(fread(out.data(), 1, out.size(), pipe));
    pclose(pipe);
    return out;
  };
  std::string plain = run();
  EXPECT_EQ(plain.rfind("secure 0\n", 0), 0u) << plain;
  EXPECT_NE(plain.find(evil.path().string()), std::string::npos) << plain;
  EXPECT_NE(plain.find("good disabled"), std::string::npos) << plain;
  ASSERT_EQ(chown(program.c_str(), 0, 65534), 0);
  ASSERT_EQ(chmod(program.c_str(), 02755), 0);
  std::string raised = run();
  fs::remove(program);
  if (raised.rfind("secure 0\n", 0) == 0)
    GTEST_SKIP() << "this system ignores the setgid bit (nosuid or no_new_privs)";
  EXPECT_EQ(raised.rfind("secure 1\n", 0), 0u) << raised;
  EXPECT_EQ(raised.find(evil.path().string()), std::string::npos) << raised;
  EXPECT_EQ(raised.find("disabled"), std::string::npos) << raised;
}
