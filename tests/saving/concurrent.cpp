// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Processes and threads that save to one name while others load it.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include "tests/saving/support.h"

using namespace tenon;
using namespace tenon::test;

namespace {

#if defined(__SANITIZE_THREAD__)  // which does not support threads in a forked child
constexpr int kProcesses = 8, kThreads = 1;
#else
constexpr int kProcesses = 4, kThreads = 2;
#endif
constexpr int kWriters = kProcesses * kThreads;
constexpr int kReaders = 2, kReads = 2500;  // of each

class Concurrent : public SavingTest {};

TEST_F(Concurrent, ReadersFindOneWholeFile) {
  const std::string name = path("shared");
  const auto content = [](double v) {
    return std::vector<Tensor>{full({30000}, v), full({100}, v)};
  };
  save(content(0), name);
  std::vector<pid_t> writers;
  for (int p = 0; p < kProcesses; ++p) {
    writers.push_back(fork());
    if (writers.back() != 0) continue;
    const auto write = [&](int thread) {
      for (;;) save(content(1 + p * kThreads + thread), name);
    };
    std::vector<std::thread> threads;
    for (int t = 1; t < kThreads; ++t) threads.emplace_back(write, t);
    write(0);
  }
  std::atomic<int> torn{0}, reads{0};
  std::atomic<int> seen[1 + kWriters] = {};
  std::vector<std::thread> readers;
  readers.reserve(kReaders);
  for (int r = 0; r < kReaders; ++r) {
    readers.emplace_back([&] {
      // Where the disk syncs slowly the readers wait for the writers.
      const auto waits = [&] {
        return std::count_if(std::begin(seen), std::end(seen),
                             [](const auto& s) { return s > 0; }) < kWriters / 2;
      };
      for (int i = 0; i < kReads || (waits() && i < 100 * kReads); ++i) {
        std::vector<Tensor> got;
        try {
          load(got, name);
          const auto v = got.at(1)[0].item<double>();
          ++seen[static_cast<int>(v)];
          torn += !equal(got[0], full({30000}, v)) || !equal(got[1], full({100}, v));
        } catch (const std::exception& e) {
          if (torn++ == 0) ADD_FAILURE() << e.what();
        }
        ++reads;
      }
    });
  }
  for (auto& r : readers) r.join();
  for (pid_t w : writers) {
    int status = 0;
    EXPECT_EQ(waitpid(w, &status, WNOHANG), 0) << "a writer has given up";
    kill(w, SIGKILL);
    waitpid(w, &status, 0);
  }
  EXPECT_EQ(torn, 0) << "of " << reads;
  EXPECT_GE(std::count_if(std::begin(seen), std::end(seen), [](const auto& s) { return s > 0; }),
            kWriters / 2);
  std::vector<Tensor> last;
  load(last, name);
  EXPECT_LE(temporaries().size(), static_cast<std::size_t>(kWriters))
      << "of those that were killed";
}

}  // namespace
