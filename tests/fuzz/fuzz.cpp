// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>

#include "options.h"

namespace tenon::fuzz {
namespace {

constexpr int kKinds = 32;
constexpr std::size_t kText = 1 << 16;

// Memory that parent and child share.
struct SharedState {
  std::atomic<uint64_t> check;    // the number of the current one
  std::atomic<uint64_t> done;     // checks finished
  std::atomic<int64_t> began_ns;  // start of the current one; 0 between two
  std::atomic<int> stop;
  struct {
    const char* kind;
    uint64_t count;
  } tallies[kKinds];
  char finding[kText];  // of the child that ended with kFound
};
SharedState* g_shared = nullptr;

struct Options : CommonOptions {
  uint64_t checks = UINT64_MAX;
  int64_t only = -1;
  uint64_t first = 0;
};

constexpr int kFound = 99;
// Findings of one run that do not come again, which are printed and do not fail it; more do.
constexpr uint64_t kMaxOnce = 1;
constexpr int kBetweenPrints_s = 5;

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

std::string run_check(const Fuzzer& fuzzer, uint64_t seed, uint64_t check) {
  Random random(seed, check);
  try {
    return fuzzer.check(random);
  } catch (const std::exception& e) {
    return std::string("an exception left the check: ") + e.what();
  } catch (...) {
    return "an exception of an unknown type left the check";
  }
}

// Checks from `first` on, until one finds something or there are no more.
[[noreturn]] void run_child(const Fuzzer& fuzzer, const Options& o, uint64_t first, uint64_t end) {
  if (fuzzer.prepare) fuzzer.prepare();
  for (uint64_t k = first; k < end && !g_shared->stop; ++k) {
    g_shared->check = k;
    g_shared->began_ns = now_ns();
    const std::string wrong = run_check(fuzzer, o.seed, k);
    g_shared->began_ns = 0;
    ++g_shared->done;
    if (wrong.empty()) continue;
    std::snprintf(g_shared->finding, kText, "%s", wrong.c_str());
    _exit(kFound);
  }
  _exit(0);
}

// Waits for a child; returns how it ended, or nothing if it succeeded.
std::string wait_for_child(const Fuzzer& fuzzer, pid_t pid, int64_t end_ns) {
  const auto hang_ns = static_cast<int64_t>(fuzzer.hang_seconds * 1e9);
  for (int64_t printed = now_ns();;) {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) == pid) {
      if (WIFSIGNALED(status)) return std::string("died of ") + strsignal(WTERMSIG(status));
      if (WEXITSTATUS(status) == kFound) return g_shared->finding;
      return WEXITSTATUS(status) == 0 ? ""
                                      : "exited with status " + std::to_string(WEXITSTATUS(status));
    }
    const int64_t now = now_ns(), began = g_shared->began_ns;
    if (now >= end_ns) g_shared->stop = 1;
    if (began != 0 && now - began > hang_ns) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return "hung: no end after " + std::to_string(static_cast<int>(fuzzer.hang_seconds)) + " s";
    }
    if (now - printed > int64_t{kBetweenPrints_s} * 1'000'000'000 && isatty(2)) {
      std::fprintf(stderr, "\r%lu checks", static_cast<unsigned long>(g_shared->done.load()));
      printed = now;
    }
    usleep(5000);
  }
}

// A process that makes the checks from `first` on; returns what it found, at g_shared->check.
std::string run_checks(const Fuzzer& fuzzer, const Options& o, uint64_t first, uint64_t end,
                       int64_t end_ns) {
  g_shared->check = first;
  g_shared->began_ns = 0;
  const pid_t pid = fork();
  if (pid < 0) return std::string("fork failed: ") + strerror(errno);
  if (pid == 0) run_child(fuzzer, o, first, end);
  return wait_for_child(fuzzer, pid, end_ns);
}

// Whether the check finds something again, alone or after those that its process made before it. A
// machine that stands still for seconds is not a hang of the check.
bool comes_again(const Fuzzer& fuzzer, const Options& o, uint64_t first, uint64_t at) {
  constexpr int64_t kNoEnd_ns = INT64_MAX;
  const int stop = g_shared->stop.exchange(0);
  bool again = !run_checks(fuzzer, o, at, at + 1, kNoEnd_ns).empty();
  constexpr uint64_t kMaxBefore = 20000;
  if (!again && at - first <= kMaxBefore)
    again = !run_checks(fuzzer, o, first, at + 1, kNoEnd_ns).empty();
  g_shared->stop = stop;
  g_shared->check = at;
  return again;
}

Options parse(int argc, char** argv, const Fuzzer& fuzzer) {
  Options o;
  CLI::App app(fuzzer.what);
  app.add_option("--checks", o.checks, "maximum of checks");
  app.add_option("--only", o.only, "run this check only, in this process: for a debugger");
  app.add_option("--first", o.first,
                 "start with this check: to repeat what earlier checks lead to");
  parse_options(app, o, argc, argv);
  return o;
}

}  // namespace

void tally(const char* kind) {
  if (!g_shared) return;
  for (auto& t : g_shared->tallies) {
    // Children are copies of one parent, so a literal has one address in all.
    if (t.kind == nullptr) t.kind = kind;
    if (t.kind != kind) continue;
    ++t.count;
    return;
  }
}

std::string scramble(std::string bytes, Random& r) {
  for (uint64_t k = r.below(4) + 1; k > 0 && !bytes.empty(); --k) {
    const std::size_t at = r.below(bytes.size()),
                      n = std::min<std::size_t>(r.below(16) + 1, bytes.size() - at);
    switch (r.below(6)) {
      case 0:
        bytes[at] = static_cast<char>(r.bits());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << r.below(8));
        break;
      case 2:
        bytes.erase(at, n);
        break;
      case 3:
        bytes.insert(at, bytes.substr(r.below(bytes.size()), n));
        break;
      case 4:
        bytes.replace(at, n, std::string(n, r.pick({'\0', '\xff'})));
        break;
      default:
        bytes.resize(r.chance(0.5) ? at : bytes.size() + n);
    }
  }
  return bytes;
}

void limit_address_space([[maybe_unused]] uint64_t more) {
#if !defined(__SANITIZE_ADDRESS__)
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto now = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  const rlimit limit{now + more, now + more};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

int run(int argc, char** argv, const Fuzzer& fuzzer) {
  const Options o = parse(argc, argv, fuzzer);
  if (o.only >= 0) {
    if (fuzzer.prepare) fuzzer.prepare();
    const std::string wrong = run_check(fuzzer, o.seed, static_cast<uint64_t>(o.only));
    std::printf("%s\n", wrong.empty() ? "nothing found" : wrong.c_str());
    return !wrong.empty();
  }
  std::printf("fuzz_%s --seed %lu\n", fuzzer.name, static_cast<unsigned long>(o.seed));
  std::fflush(stdout);
  void* shared =
      mmap(nullptr, sizeof(SharedState), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return std::perror("mmap"), 2;
  g_shared = new (shared) SharedState{};
  const int64_t end_ns = now_ns() + static_cast<int64_t>(o.seconds * 1e9);
  uint64_t findings = 0, once = 0;
  for (uint64_t next = o.first;
       next < o.checks && now_ns() < end_ns && findings < o.max_findings;) {
    const std::string wrong = run_checks(fuzzer, o, next, o.checks, end_ns);
    if (wrong.empty()) break;
    const uint64_t at = g_shared->check;
    const bool again = comes_again(fuzzer, o, next, at);
    ++(again ? findings : once);
    std::printf("--seed %lu --only %lu: %s%s\n", static_cast<unsigned long>(o.seed),
                static_cast<unsigned long>(at), wrong.c_str(), again ? "" : " (once, not again)");
    std::fflush(stdout);
    next = at + 1;
  }
  if (once > kMaxOnce) findings += once;
  for (const auto& t : g_shared->tallies) {
    if (t.kind) std::printf("  %-24s %lu\n", t.kind, static_cast<unsigned long>(t.count));
  }
  const auto done = static_cast<unsigned long>(g_shared->done.load());
  std::printf("%lu checks, %lu findings, seed %lu\n", done, static_cast<unsigned long>(findings),
              static_cast<unsigned long>(o.seed));
  if (done == 0 && findings == 0) std::printf("nothing was checked\n");
  return findings != 0 || done == 0;
}

}  // namespace tenon::fuzz
