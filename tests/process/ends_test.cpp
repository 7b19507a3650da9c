// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Every scenario of process_ends: the status with which it ends, and what it and its children
// print. TENON_TEST_TIMES=60 runs each 60 times.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kHang_ms = 60'000;

struct Ended {
  int status = -1;
  std::string output;  // of the process and of its children, until all have closed it
  bool hung = false;
};

Ended run(const std::vector<std::string>& arguments) {
  int ends[2];
  Ended out;
  if (pipe(ends) != 0) return out;
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    std::vector<char*> list{const_cast<char*>(TENON_TEST_ENDS)};
    for (const std::string& a : arguments) list.push_back(const_cast<char*>(a.c_str()));
    list.push_back(nullptr);
    execv(TENON_TEST_ENDS, list.data());
    _exit(126);
  }
  close(ends[1]);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kHang_ms);
  for (char buffer[4096];;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          deadline - std::chrono::steady_clock::now())
                          .count();
    pollfd wait{ends[0], POLLIN, 0};
    if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) <= 0) {
      out.hung = true;
      kill(-pid, SIGKILL);
      break;
    }
    const ssize_t n = read(ends[0], buffer, sizeof buffer);
    if (n <= 0) break;
    out.output.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  waitpid(pid, &out.status, 0);
  return out;
}

struct Expected {
  std::string name, output;
  int status = 0;
};

std::vector<Expected> scenarios() {
  std::vector<Expected> out;
  std::istringstream list(run({"--list"}).output);
  for (std::string line; std::getline(list, line);) {
    std::istringstream in(line);
    Expected e;
    std::string status;
    std::getline(in, e.name, '\t');
    std::getline(in, status, '\t');
    std::getline(in, e.output, '\t');
    e.status = std::stoi(status);
    std::replace(e.output.begin(), e.output.end(), '|', '\n');
    out.push_back(e);
  }
  return out;
}

class Ends : public testing::TestWithParam<Expected> {};

TEST_P(Ends, AsTheyShould) {
  const std::string folder = testing::TempDir() + "tenon_ends_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const char* times = std::getenv("TENON_TEST_TIMES");
  for (int i = times ? std::atoi(times) : 1; i > 0 && !HasFailure(); --i) {
    const Ended e = run({GetParam().name, folder});
    EXPECT_FALSE(e.hung) << "it hung";
    EXPECT_TRUE(WIFEXITED(e.status)) << "it died of signal " << WTERMSIG(e.status);
    if (WIFEXITED(e.status)) {
      EXPECT_EQ(WEXITSTATUS(e.status), GetParam().status);
    }
    EXPECT_EQ(e.output, GetParam().output);
  }
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Process, Ends, testing::ValuesIn(scenarios()),
                         [](const auto& info) { return info.param.name; });

TEST(EndsList, IsThere) { EXPECT_GE(scenarios().size(), 80u); }

}  // namespace
