// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Jobs of several processes: how they meet, and what is left when one of them is lost.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tenon/distributed/process_group.h"
#include "tenon/distributed/tcp_store.h"

namespace tenon::distributed {
namespace {

struct Rank {
  pid_t pid;
  int out;
  int status = -1;
  std::string text;
};

struct Job {
  std::vector<Rank> ranks;

  void start(std::vector<std::string> args, std::vector<std::string> env = {}) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    args.insert(args.begin(), TENON_TEST_RANK);
    std::vector<char*> argv;
    argv.reserve(args.size() + 1);
    for (std::string& a : args) argv.push_back(a.data());
    argv.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (std::string& e : env) ::putenv(e.data());
      ::dup2(ends[1], 1);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    ranks.push_back({pid, ends[0]});
  }
  // Waits for them, kills what is left after `seconds`, and reads what they printed.
  void finish(int seconds = 30) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    for (Rank& r : ranks) {
      while (::waitpid(r.pid, &r.status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > end) ::kill(r.pid, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    for (Rank& r : ranks) {
      char buffer[4096];
      for (ssize_t n; (n = ::read(r.out, buffer, sizeof buffer)) > 0;)
        r.text.append(buffer, static_cast<std::size_t>(n));
      ::close(r.out);
    }
  }
};

// One that nobody used a moment ago.
int free_port() {
  TCPStoreOptions o;
  o.port = 0;
  o.isServer = true;
  return TCPStore("127.0.0.1", o).getPort();
}

void expect_hello(Job& job) {
  job.finish();
  std::vector<bool> seen(job.ranks.size());
  for (Rank& r : job.ranks) {
    EXPECT_EQ(r.status, 0) << r.text;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (r.text.find(core::join("Hello from process ", i, " (out of ", seen.size(), ")!\n")) !=
          std::string::npos) {
        EXPECT_FALSE(seen[i]);
        seen[i] = true;
      }
    }
    EXPECT_NE(r.text.find(seen.size() == 4 ? "sum 6\n" : "sum 1\n"), std::string::npos) << r.text;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<long>(seen.size()));
}

TEST(Meeting, ByAddressOfRankZero) {
  const std::string method = core::join("tcp://127.0.0.1:", free_port());
  Job job;
  for (int r = 3; r >= 0; --r) job.start({"hello", std::to_string(r), "4", method});
  expect_hello(job);
}

TEST(Meeting, ByMulticastWithoutRanks) {
  const std::string method = core::join("tcp://239.1.2.3:", free_port());
  Job job;
  for (int r = 0; r < 4; ++r) job.start({"hello", "-1", "4", method, "multicast"});
  expect_hello(job);
}

TEST(Meeting, TwoGroupsByOneFileWithoutRanks) {
  const std::string method = core::join("file:///tmp/tenon_meeting_", static_cast<long>(getpid()));
  Job a, b;
  for (int r = 0; r < 2; ++r) {
    a.start({"hello", "-1", "2", method, "a"});
    b.start({"hello", "-1", "2", method, "b"});
  }
  expect_hello(a);
  expect_hello(b);
  EXPECT_NE(::access((method.substr(7) + ".a").c_str(), F_OK), 0);
}

TEST(Meeting, ByEnvironment) {
  const std::string port = core::join("MASTER_PORT=", free_port());
  Job job;
  for (int r = 0; r < 2; ++r)
    job.start({"hello", "-1", "-1", "env://"},
              {"MASTER_ADDR=127.0.0.1", port, "WORLD_SIZE=2", core::join("RANK=", r)});
  expect_hello(job);
}

TEST(Meeting, NamesTheVariableThatIsMissing) {
  const std::vector<std::string> all = {"MASTER_ADDR=127.0.0.1", "MASTER_PORT=1", "WORLD_SIZE=2",
                                        "RANK=1"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<std::string> env = all;
    env.erase(env.begin() + static_cast<long>(i));
    Job job;
    job.start({"hello", "-1", "-1", "env://"}, env);
    job.finish();
    const std::string name = all[i].substr(0, all[i].find('='));
    EXPECT_NE(job.ranks[0].text.find("environment variable " + name + " is required"),
              std::string::npos)
        << job.ranks[0].text;
  }
}

TEST(Meeting, SaysWhoDidNotCome) {
  const std::string method = core::join("tcp://127.0.0.1:", free_port());
  Job job;
  job.start({"absent", "0", "3", method});
  job.start({"absent", "2", "3", method});
  job.finish();
  EXPECT_NE(job.ranks[0].text.find("rank 1 did not come"), std::string::npos) << job.ranks[0].text;
  EXPECT_EQ(WEXITSTATUS(job.ranks[1].status), 3) << job.ranks[1].text;
}

struct Loss {
  const char *how, *operation;
};
class LostRank : public testing::TestWithParam<Loss> {};

TEST_P(LostRank, IsNamedAndTheOthersGoOn) {
  const std::string method = core::join("tcp://127.0.0.1:", free_port());
  Job job;
  for (int r = 0; r < 3; ++r)
    job.start({"lose", std::to_string(r), "3", method, GetParam().how, GetParam().operation});
  job.finish();
  for (int r : {0, 2}) {
    EXPECT_EQ(job.ranks[static_cast<std::size_t>(r)].text, "rank 1 is at fault\nagain 2\n");
    EXPECT_EQ(job.ranks[static_cast<std::size_t>(r)].status, 0);
  }
  const std::string how = GetParam().how;
  const Rank& lost = job.ranks[1];
  const bool cut = how == "cut";
  if (!cut && how.rfind("stop", 0) != 0) return;
  EXPECT_EQ(lost.text, cut ? "cut off\n" : "too late\n");
  EXPECT_EQ(lost.status, 0);
}

std::vector<Loss> all_losses() {
  std::vector<Loss> out = {{"kill_inside", "all_reduce"}, {"stop_inside", "all_reduce"}};
  for (const char* how : {"kill", "stop", "exit", "throw", "cut"}) {
    for (const char* operation : {"all_reduce", "reduce", "broadcast", "all_gather", "gather",
                                  "scatter", "reduce_scatter", "all_to_all", "barrier"})
      out.push_back({how, operation});
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Ways, LostRank, testing::ValuesIn(all_losses()), [](const auto& info) {
  return std::string(info.param.how) + "_" + info.param.operation;
});

TEST(LostServer, IsNamedAndTheOthersMeetInAnotherPlace) {
  const std::string method = core::join("tcp://127.0.0.1:", free_port());
  const std::string other_place = core::join("tcp://127.0.0.1:", free_port());
  Job job;
  for (int r = 0; r < 3; ++r)
    job.start({"lose_server", std::to_string(r), "3", method, other_place});
  job.finish();
  for (std::size_t r : {1, 2}) {
    EXPECT_EQ(job.ranks[r].text, "rank 0 is at fault\nagain 3\n");
    EXPECT_EQ(job.ranks[r].status, 0);
  }
}

struct Other {
  const char *what, *given, *expected;
};
class OtherOperation : public testing::TestWithParam<Other> {};

// Rank 1 of three has another operation. The ranks' own timeout is longer than the test waits.
void expect_mismatch(const Other& other, std::vector<std::string> env, const char* words) {
  const std::string method = core::join("tcp://127.0.0.1:", free_port());
  Job job;
  for (int r = 0; r < 3; ++r)
    job.start({"mismatch", std::to_string(r), "3", method, other.what}, env);
  job.finish(20);
  for (Rank& r : job.ranks) {
    const std::string text = core::join("it is not the same on all ranks: rank 1 has ", other.given,
                                        "; expected ", other.expected, " as on ranks 0, 2");
    EXPECT_EQ(r.text.rfind("rank 1 is at fault: ", 0), 0u) << r.text;
    EXPECT_NE(r.text.find(text.substr(3)), std::string::npos) << r.text;
    EXPECT_NE(r.text.find(words), std::string::npos) << r.text;
    EXPECT_EQ(r.status, 0);
  }
}

TEST_P(OtherOperation, IsToldBeforeTheTimeout) {
  expect_mismatch(GetParam(), {}, ", number 1 of group '', failed on rank ");
}
TEST_P(OtherOperation, IsToldAtOnceWhereAskedFor) {
  expect_mismatch(GetParam(), {"TENON_DISTRIBUTED_DEBUG=1"}, "operation number 1 of group ''");
}

INSTANTIATE_TEST_SUITE_P(
    Ways, OtherOperation,
    testing::Values(Other{"shape", "all_reduce sum float32 [3]", "all_reduce sum float32 [2]"},
                    Other{"dtype", "all_reduce sum float64 [2]", "all_reduce sum float32 [2]"},
                    Other{"reduction", "all_reduce max float32 [2]", "all_reduce sum float32 [2]"},
                    Other{"order", "broadcast root 0 float32 [2]", "all_reduce sum float32 [2]"}),
    [](const auto& info) { return std::string(info.param.what); });

// Ranks that hear of the right root alone are content without it.
TEST(Mismatch, OfRootsIsToldAtOnceWhereAskedFor) {
  expect_mismatch({"root", "broadcast root 1 float32 [2]", "broadcast root 0 float32 [2]"},
                  {"TENON_DISTRIBUTED_DEBUG=1"}, "operation number 1 of group ''");
}

// Also those that have gone on to another operation.
TEST(Mismatch, OfWhatRanksHaveGoneOnFromIsToldBeforeTheTimeout) {
  const std::string method = core::join("tcp://127.0.0.1:", free_port());
  Job job;
  for (int r = 0; r < 3; ++r) job.start({"mismatch", std::to_string(r), "3", method, "one_way"});
  job.finish(20);
  for (const Rank& r : job.ranks) {
    EXPECT_EQ(r.text.rfind("rank 1 is at fault: ", 0), 0u) << r.text;
    EXPECT_NE(r.text.find("rank 1 has broadcast root 0 float32 [3]; expected broadcast root 0 "
                          "float32 [2] as on ranks 0, 2"),
              std::string::npos)
        << r.text;
    EXPECT_EQ(r.status, 0);
  }
}

// What is longer than the receiver's buffer.
TEST(TooLong, IsRefusedAndEndsNoProcess) {
  for (const char* what : {"message", "parts"}) {
    const std::string method = core::join("tcp://127.0.0.1:", free_port());
    Job job;
    for (int r = 0; r < 2; ++r) job.start({"too_long", std::to_string(r), "2", method, what});
    job.finish();
    for (Rank& r : job.ranks) {
      EXPECT_EQ(r.text, "ended\n") << what;
      EXPECT_EQ(r.status, 0);
    }
  }
}

// gloo tells who waits to receive of a failed connection, and not who waits until it has sent.
TEST(Abort, EndsASendToARankThatReadsNoMore) {
  const std::string method = core::join("tcp://127.0.0.1:", free_port());
  Job job;
  for (int r = 0; r < 2; ++r) job.start({"stop_receiver", std::to_string(r), "2", method});
  job.finish();
  EXPECT_EQ(job.ranks[0].text, "ended\n");
  EXPECT_EQ(job.ranks[0].status, 0);
}

TEST(Mpi, RefusesProcessesThatAreNotOfOneMpirun) {
  if (!is_backend_available("mpi")) GTEST_SKIP() << "no plugin_mpi";
  const std::string method =
      core::join("file:///tmp/tenon_strangers_", static_cast<long>(getpid()));
  Job job;
  for (int r = 0; r < 2; ++r) job.start({"strangers", std::to_string(r), "2", method});
  job.finish();
  for (Rank& r : job.ranks) {
    EXPECT_NE(r.text.find("rank 1 of the group is process 0 of 1 of MPI, and so is rank 0; start "
                          "all by one mpirun"),
              std::string::npos)
        << r.text;
  }
  ::unlink(method.substr(7).c_str());
}

}  // namespace
}  // namespace tenon::distributed
