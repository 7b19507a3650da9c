// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

namespace tenon::distributed::test {
namespace {

std::string content_of(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

[[noreturn]] void be_rank(Body body) {
  const int n = std::stoi(getenv("TENON_TEST_RANKS"));
  const std::string rank = getenv("TENON_TEST_RANK");
  int status = 0;
  try {
    std::vector<int> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    const std::string text = body(make_group("all", all));
    std::ofstream(shared_folder() + "/text." + rank) << text;
  } catch (const std::exception& e) {
    printf("rank %s threw: %s\n", rank.c_str(), e.what());
    status = 3;
  }
  fflush(nullptr);
  _exit(testing::Test::HasFailure() ? 2 : status);
}

pid_t start(int rank, int n, const std::string& folder) {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter =
      std::string("--gtest_filter=") + info->test_suite_name() + "." + info->name();
  const pid_t parent = getpid(), pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  setenv("TENON_TEST_RANK", std::to_string(rank).c_str(), 1);
  setenv("TENON_TEST_RANKS", std::to_string(n).c_str(), 1);
  setenv("TENON_TEST_FOLDER", folder.c_str(), 1);
  setenv("TENON_NUM_THREADS", "1", 1);
  const int fd =
      open((folder + "/out." + std::to_string(rank)).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(fd, 1);
  dup2(fd, 2);
  execl("/proc/self/exe", "ranks", filter.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

}  // namespace

std::string shared_folder() { return getenv("TENON_TEST_FOLDER"); }

std::vector<RankResult> on_ranks(int n, Body body, const std::vector<int>& killed) {
  if (getenv("TENON_TEST_RANK") != nullptr) be_rank(body);
  std::string folder = (std::filesystem::temp_directory_path() / "tenon_ranks.XXXXXX").string();
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  std::vector<pid_t> pids;
  pids.reserve(static_cast<std::size_t>(n));
  for (int r = 0; r < n; ++r) pids.push_back(start(r, n, folder));
  std::vector<RankResult> out;
  for (int r = 0; r < n; ++r) {
    int status = 0;
    waitpid(pids[static_cast<std::size_t>(r)], &status, 0);
    const std::string of_rank = "." + std::to_string(r);
    out.push_back({content_of(folder + "/text" + of_rank), content_of(folder + "/out" + of_rank),
                   WIFSIGNALED(status) ? WTERMSIG(status) : 0});
    const bool may_end = std::find(killed.begin(), killed.end(), r) != killed.end();
    EXPECT_EQ(status, may_end ? SIGKILL : 0) << "rank " << r << ":\n" << out.back().output;
  }
  std::filesystem::remove_all(folder);
  return out;
}

}  // namespace tenon::distributed::test
