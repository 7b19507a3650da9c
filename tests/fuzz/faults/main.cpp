// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Whatever fails in the n-th call of malloc, mmap, open, read, write, fsync, rename or
// pthread_create, once or permanently: the operation throws or has the right numbers, the process
// lives, and the next call has the right numbers. A point is an operation, cold (the first call of
// its process) or warm, a function, n, and once or permanently. Each runs in a separate child
// process.
#include <dlfcn.h>
#include <execinfo.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>

#include "fuzz.h"
#include "interpose.h"
#include "operations.h"
#include "options.h"

namespace tenon::faults {
namespace {

constexpr std::size_t kNumbers = 1 << 16, kText = 2000;
constexpr unsigned kHangSeconds = 20;

// oneDNN 2.7 uses the engine that dnnl_engine_create failed to create; nothing outside of it can
// prevent that.
enum Verdict {
  kThrew = 40,
  kSame,
  kDiedInOneDnn,
  kWrong,
  kStranger,
  kNextFails,
  kNextWrong,
  kVerdicts
};
const char* const kVerdictNames[] = {
    "threw",        "right numbers nevertheless", "died in oneDNN's own code", "WRONG NUMBERS",
    "NOT AN ERROR", "THE NEXT CALL FAILS",        "THE NEXT CALL IS WRONG"};
bool is_fine(int verdict) {
  return verdict == kThrew || verdict == kSame || verdict == kDiedInOneDnn;
}

// Memory that the children of one operation share with the program.
struct SharedState {
  std::size_t n;
  double expected[kNumbers];
  int64_t calls[kCalls];  // of the operation when nothing fails
  char text[kText];
  uint64_t points, verdicts[kVerdicts - kThrew], findings, once;
};
SharedState* g_shared = nullptr;
bool g_alone = false;  // one point, for debugging

struct Point {
  int call;
  int64_t n;
  bool permanent;
};

struct Options : fuzz::CommonOptions {
  bool all = false;
  std::string only, operation;
};

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

bool same(const std::vector<double>& got) {
  if (got.size() != g_shared->n) return false;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double a = got[i], b = g_shared->expected[i];
    if (!(a == b || std::abs(a - b) <= 1e-5 * std::max(1.0, std::abs(b)) ||
          (std::isnan(a) && std::isnan(b))))
      return false;
  }
  return true;
}

// The C library buffers nothing of these children: their results are in the shared memory.
[[noreturn]] void leave(int status) { std::exit(status); }

// Prints where a point that is repeated alone dies.
void on_death(int signal) {
  disarm();
  constexpr int kFaulty = 2;  // the frames below are this function's and the kernel's
  void* frames[64];
  const int n = backtrace(frames, 64);
  Dl_info where{};
  if (g_alone) backtrace_symbols_fd(frames, n, 2);
  if (n > kFaulty && dladdr(frames[kFaulty], &where) != 0 &&
      std::strstr(where.dli_fname, "/libdnnl.so")) {
    _exit(kDiedInOneDnn);
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

[[noreturn]] void run_point(const Operation& op, const Point& p) {
  alarm(kHangSeconds);
  for (int s : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) std::signal(s, on_death);
  g_shared->text[0] = 0;
  int verdict = kThrew;
  arm(static_cast<Call>(p.call), p.n, p.permanent);
  try {
    const std::vector<double> got = op.run();
    disarm();
    verdict = same(got) ? kSame : kWrong;
  } catch (const std::exception& e) {
    disarm();
    std::snprintf(g_shared->text, kText, "%s", e.what());
  } catch (...) {
    disarm();
    verdict = kStranger;
  }
  if (!is_fine(verdict)) leave(verdict);
  try {
    if (!same(op.run())) verdict = kNextWrong;
  } catch (const std::exception& e) {
    const std::string first = g_shared->text;
    std::snprintf(g_shared->text, kText, "%s; the first: %s", e.what(), first.c_str());
    verdict = kNextFails;
  }
  leave(verdict);
}

// What the operation gives, and how many calls it makes, into the shared memory.
[[noreturn]] void run_counting(const Operation& op) {
  alarm(kHangSeconds);
  try {
    arm(Call::Memory, INT64_MAX, false);
    const std::vector<double> got = op.run();
    disarm();
    for (int k = 0; k < kCalls; ++k) g_shared->calls[k] = counted(static_cast<Call>(k));
    if (got.empty() || got.size() > kNumbers) leave(2);
    g_shared->n = got.size();
    std::copy(got.begin(), got.end(), g_shared->expected);
    leave(0);
  } catch (const std::exception& e) {
    disarm();
    std::snprintf(g_shared->text, kText, "%s", e.what());
  }
  leave(1);
}

std::string end_of(int status) {
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == SIGALRM) return "HANGS";
    return std::string("DIES of ") + strsignal(WTERMSIG(status));
  }
  const int code = WEXITSTATUS(status);
  if (code >= kThrew && code < kVerdicts) return kVerdictNames[code - kThrew];
  return "EXITS with status " + std::to_string(code);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

bool is_fine_end(int status) { return WIFEXITED(status) && is_fine(WEXITSTATUS(status)); }

int try_point(const Operation& op, const Point& p) {
  const pid_t pid = fork();
  if (pid == 0) run_point(op, p);
  return wait_for(pid);
}

// A finding is tried again: threads that take turns otherwise, or a machine that stands still for
// seconds, are not the point's. What does not come again is printed, and a second one is a finding.
void judge(const Operation& op, bool warm, const Point& p, int status) {
  constexpr int kTries = 5;
  ++g_shared->points;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code >= kThrew && code < kVerdicts) ++g_shared->verdicts[code - kThrew];
  if (is_fine_end(status)) return;
  const std::string text = g_shared->text;
  bool again = false;
  for (int k = 0; k < kTries && !again; ++k) again = !is_fine_end(try_point(op, p));
  if (again || ++g_shared->once > 1) ++g_shared->findings;
  std::printf("--only %s/%s/%s/%ld/%s: %s%s%s%s\n", op.name, warm ? "warm" : "cold",
              kCallNames[p.call], static_cast<long>(p.n), p.permanent ? "always" : "once",
              end_of(status).c_str(), text.empty() ? "" : ": ", text.c_str(),
              again ? "" : " (once, not again)");
  std::fflush(stdout);
}

// The child from which all points of the operation are forked: cold it has not used the library.
template <class Choose>
[[noreturn]] void run_zygote(const Operation& op, bool warm, const Options& o, double end,
                             Choose choose) {
  if (warm) {
    alarm(kHangSeconds);
    (void)op.run();
    (void)op.run();
    alarm(0);
  }
  pid_t pid = fork();
  if (pid == 0) run_counting(op);
  if (const int status = wait_for(pid); status != 0) {
    std::printf("%s, %s: without any failure it %s: %s\n", op.name, warm ? "warm" : "cold",
                end_of(status).c_str(), g_shared->text);
    ++g_shared->findings;
    std::fflush(stdout);
    _exit(0);
  }
  choose([&](const Point& p) {
    if (g_shared->findings >= o.max_findings || now() > end) return false;
    judge(op, warm, p, try_point(op, p));
    return true;
  });
  _exit(0);
}

template <class Choose>
void in_zygote(const Operation& op, bool warm, const Options& o, double end, Choose choose) {
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) run_zygote(op, warm, o, end, choose);
  if (const int status = wait_for(pid); status != 0) {
    std::printf("%s, %s: %s before any failure\n", op.name, warm ? "warm" : "cold",
                end_of(status).c_str());
    ++g_shared->findings;
  }
}

void run_all(const Options& o) {
  for (const Operation& op : operations()) {
    if (!o.operation.empty() && o.operation != op.name) continue;
    for (bool warm : {true, false}) {
      const uint64_t before = g_shared->points, found = g_shared->findings;
      in_zygote(op, warm, o, INFINITY, [](auto run) {
        for (int call = 0; call < kCalls; ++call) {
          for (int64_t n = 1; n <= g_shared->calls[call]; ++n) {
            if (!run(Point{call, n, false}) || !run(Point{call, n, true})) return;
          }
        }
      });
      std::printf("%-18s %s %6lu points, %lu findings\n", op.name, warm ? "warm" : "cold",
                  static_cast<unsigned long>(g_shared->points - before),
                  static_cast<unsigned long>(g_shared->findings - found));
      std::fflush(stdout);
    }
  }
}

void run_sample(const Options& o) {
  constexpr int kBatch = 25;
  const double end = now() + o.seconds;
  for (uint64_t k = 0; now() < end && g_shared->findings < o.max_findings; ++k) {
    fuzz::Random random(o.seed, k);
    const Operation& op = operations()[random.below(operations().size())];
    if (!o.operation.empty() && o.operation != op.name) continue;
    in_zygote(op, random.chance(0.4), o, end, [&](auto run) {
      std::vector<int> made;
      for (int call = 0; call < kCalls; ++call) {
        if (g_shared->calls[call] > 0) made.push_back(call);
      }
      for (int i = 0; i < kBatch; ++i) {
        const int call = random.chance(0.5) ? 0 : random.pick(made);
        if (g_shared->calls[call] == 0) continue;
        const auto n =
            static_cast<int64_t>(random.below(static_cast<uint64_t>(g_shared->calls[call]))) + 1;
        if (!run(Point{call, n, random.chance(0.5)})) return;
      }
    });
  }
}

// OPERATION/cold/malloc/17/once
bool run_only(const Options& o) {
  g_alone = true;
  show_failures();
  std::vector<std::string> part;
  std::istringstream in(o.only);
  for (std::string word; std::getline(in, word, '/');) part.push_back(word);
  if (part.size() != 5) return false;
  const auto call = std::find(kCallNames, kCallNames + kCalls, part[2]) - kCallNames;
  for (const Operation& op : operations()) {
    if (part[0] != op.name || call == kCalls) continue;
    in_zygote(op, part[1] == "warm", o, INFINITY, [&](auto run) {
      run(Point{static_cast<int>(call), std::stoll(part[3]), part[4] == "always"});
    });
    return true;
  }
  return false;
}

Options parse(int argc, char** argv) {
  Options o;
  CLI::App app("Calls of the C library that fail, one in each child");
  app.add_flag("--all", o.all, "every point instead of a sample");
  app.add_option("--operation", o.operation, "run this operation only");
  app.add_option("--only", o.only,
                 "one point, as a finding names it: OPERATION/cold/malloc/17/once");
  fuzz::parse_options(app, o, argc, argv);
  return o;
}

int run(const Options& o) {
  void* shared =
      mmap(nullptr, sizeof(SharedState), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return std::perror("mmap"), 2;
  g_shared = new (shared) SharedState{};
  std::string folder = (std::filesystem::temp_directory_path() / "tenon_faults_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return std::perror("mkdtemp"), 2;
  g_folder = folder;
  std::printf("fuzz_faults --seed %lu\n", static_cast<unsigned long>(o.seed));
  std::fflush(stdout);
  for (const Operation& op : operations()) {
    if (op.prepare == nullptr) continue;
    const pid_t pid = fork();
    if (pid == 0) {
      op.prepare();
      _exit(0);
    }
    if (wait_for(pid) != 0) return std::printf("%s could not be prepared\n", op.name), 2;
  }
  bool known = true;
  if (!o.only.empty()) {
    known = run_only(o);
  } else if (o.all) {
    run_all(o);
  } else {
    run_sample(o);
  }
  std::filesystem::remove_all(folder);
  for (int v = 0; v < kVerdicts - kThrew; ++v) {
    std::printf("  %-28s %lu\n", kVerdictNames[v],
                static_cast<unsigned long>(g_shared->verdicts[v]));
  }
  std::printf("%lu points, %lu findings, seed %lu\n", static_cast<unsigned long>(g_shared->points),
              static_cast<unsigned long>(g_shared->findings), static_cast<unsigned long>(o.seed));
  if (!known || g_shared->points == 0) std::printf("nothing was checked\n");
  return g_shared->findings != 0 || g_shared->points == 0;
}

}  // namespace
}  // namespace tenon::faults

int main(int argc, char** argv) {
  using namespace tenon::faults;
  prepare();
  const Options o = parse(argc, argv);
  return run(o);
}
