// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Forks during every kind of work. A child must be able to do all that its parent can.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "tenon/core/backend.h"
#include "tenon/core/dtype.h"
#include "tenon/core/host_services.h"
#include "tenon/core/layout.h"
#include "tenon/jit.h"
#include "tenon/plugins/plugins.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/threads.h"
#include "tenon/tenon.h"
#include "tests/process/scenarios.h"

namespace tenon::process {
namespace {

void run_all_work() {
  for (const Work& w : works()) w.run();
}
const char* const kAll = "forward right\nbackward right\nsaving right\nerrors right\n";

void wait_for(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) say("a child died of signal " + std::to_string(WTERMSIG(status)));
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
    say("a child exited with " + std::to_string(WEXITSTATUS(status)));
}

// `f` in a child, which then returns from main as usual, or leaves by _exit.
template <class F>
void in_child(F f, bool at_once = false) {
  const pid_t pid = fork();
  if (pid != 0) return wait_for(pid);
  alarm(40);
  f();
  if (at_once) _exit(0);
  std::exit(0);
}

// Three threads do it over and over while this one forks ten times; each child does it, too, and
// then everything.
template <class F>
int fork_while(F f) {
  std::atomic<bool> stop{false};
  std::atomic<int> rounds{0};
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        f();
        ++rounds;
      }
    });
  }
  while (rounds < 3) std::this_thread::yield();
  const auto all = [&] {
    f();
    run_all_work();
  };
  for (int i = 0; i < 10; ++i) in_child(all, i % 2 == 0);
  stop = true;
  for (auto& t : threads) t.join();
  return 0;
}
std::string ten_times(const std::string& text) {
  std::string out;
  for (int i = 0; i < 10; ++i) out += text;
  return out;
}

void allocate() {
  std::vector<Tensor> held;
  held.reserve(30);
  for (int i = 0; i < 30; ++i) held.push_back(empty({int64_t{1} << i % 21}));
  core::cache_trim(core::kHost);
}
void dispatch() { (void)(ones({200, 300}).exp() * 2).sum(1); }
void run_backward() {
  Tensor w = ones({30, 30}).requires_grad_();
  w.mm(w).tanh().sum().backward();
}
void convolve() { (void)conv2d(ones({2, 4, 9, 9}), ones({4, 4, 3, 3})); }
void write_file() {
  static std::atomic<int> number{0};
  const std::string file = g_folder + "/of_thread" + std::to_string(number++);
  save(std::vector<Tensor>{ones({10})}, file);
  unlink(file.c_str());
}
void draw() { (void)randn({100}); }
void make_threads() { std::thread(dispatch).join(); }
void warn_and_fail() {
  try {
    (void)ones({2}).mm(ones({3}));
  } catch (const Error&) {
  }
}

// Names that every process may bring; each call takes the lock of a table.
void register_names() {
  core::DtypeInfo dtype;
  dtype.name = "fork_dtype";
  dtype.size = 2;
  dtype.cls = core::DtypeClass::Integral;
  (void)core::register_dtype(dtype);
  (void)core::reserve_layout("fork_layout");
  (void)core::reserve_device("fork_device");
}
void ask_settings() {
  const tn_str name{"NUM_THREADS", 11};
  tn_str value{};
  (void)core::host_table().get_setting(name, &value);
  set_print_options(print_options());
  manual_seed(7);
}
void compile() {
  static std::atomic<int> number{0};
  const std::string n = std::to_string(number++);
  const auto unit =
      jit::compile("def f(x: Tensor) -> Tensor:\n    return torch.add(x, " + n + ")\n");
  if (unit->get_function("f")({ones({2})}).toTensor().sum().item<float>() != 2 + 2 * std::stof(n))
    say("wrong");
}

// The threads of the jobs of a program are not in a child.
void run_jobs() {
  static const auto unit = jit::compile(
      "def g(x: Tensor) -> Tensor:\n    return x + 1\n"
      "def f(x: Tensor) -> Tensor:\n    a = torch.jit.fork(g, x)\n"
      "    return g(x) + torch.jit.wait(a)\n");
  if (unit->get_function("f")({ones({2})}).toTensor().sum().item<float>() != 8) say("wrong");
}

// Plugins open while others fork: in a process that has not used the library before.
int fork_while_opening() {
  std::thread opener([] { plugins::open_all(); });
  for (int i = 0; i < 10; ++i) in_child(run_all_work);
  opener.join();
  return 0;
}

int child_of_child() {
  run_all_work();
  in_child([] {
    run_all_work();
    in_child([] { in_child(run_all_work); });
  });
  return 0;
}
int exec_after_fork() {
  run_all_work();
  in_child([] { execl(g_program.c_str(), g_program.c_str(), "plain", g_folder.c_str(), nullptr); });
  return 0;
}
int spawned() {
  run_all_work();
  pid_t pid = 0;
  char name[] = "plain";
  char* const arguments[] = {g_program.data(), name, g_folder.data(), nullptr};
  if (posix_spawn(&pid, g_program.c_str(), nullptr, nullptr, arguments, environ) != 0) return 1;
  wait_for(pid);
  return 0;
}
int fork_in_exit_handler() {
  run_all_work();
  std::atexit([] { in_child(run_all_work, true); });
  return 0;
}
int fork_in_hook() {
  Tensor x = ones({3}).requires_grad_(), y = x * 2;
  y.register_hook([](Tensor g) {
    in_child(run_all_work, true);
    return g;
  });
  y.sum().backward();
  return 0;
}
int fork_in_parallel() {
  core::set_num_threads(2);
  core::parallel_for(
      1000, 1,
      [](void*, int64_t begin, int64_t) {
        if (begin == 500) in_child(run_all_work, true);
      },
      nullptr);
  return 0;
}
int fork_of_thread() {
  run_all_work();
  std::thread([] { in_child(run_all_work); }).join();
  return 0;
}
int child_goes_on_backward() {
  Tensor x = full({3}, 2.0).requires_grad_();
  const Tensor y = (x * x).sum();
  in_child([&] {
    y.backward();
    say(x.grad().sum().item<double>() == 12 ? "its graph" : "wrong");
  });
  y.backward();
  say(x.grad().sum().item<double>() == 12 ? "its graph" : "wrong");
  return 0;
}
int child_outlives_parent() {
  const pid_t parent = getpid(), child = fork();
  if (child != 0) return 0;
  while (getppid() == parent) usleep(1000);
  run_all_work();
  return 0;
}

}  // namespace

std::vector<Scenario> forks() {
  const std::string all = kAll;
  return {
      {"plain", [] { return run_all_work(), 0; }, all},
      {"fork_while_allocating", [] { return fork_while(allocate); }, ten_times(all)},
      {"fork_while_dispatching", [] { return fork_while(dispatch); }, ten_times(all)},
      {"fork_while_passing_back", [] { return fork_while(run_backward); }, ten_times(all)},
      {"fork_while_convolving", [] { return fork_while(convolve); }, ten_times(all)},
      {"fork_while_saving", [] { return fork_while(write_file); }, ten_times(all)},
      {"fork_while_drawing", [] { return fork_while(draw); }, ten_times(all)},
      {"fork_while_threads_start", [] { return fork_while(make_threads); }, ten_times(all)},
      {"fork_while_failing", [] { return fork_while(warn_and_fail); }, ten_times(all)},
      {"fork_while_registering", [] { return fork_while(register_names); }, ten_times(all)},
      {"fork_while_setting", [] { return fork_while(ask_settings); }, ten_times(all)},
      {"fork_while_compiling", [] { return fork_while(compile); }, ten_times(all)},
      {"fork_while_jobs_run", [] { return fork_while(run_jobs); }, ten_times(all)},
      {"fork_while_opening", fork_while_opening, ten_times(all)},
      {"child_of_child", child_of_child, all + all + all},
      {"exec_after_fork", exec_after_fork, all + all},
      {"spawned", spawned, all + all},
      {"fork_in_exit_handler", fork_in_exit_handler, all + all},
      {"fork_in_hook", fork_in_hook, all},
      {"fork_in_parallel", fork_in_parallel, all},
      {"fork_of_thread", fork_of_thread, all + all},
      {"child_goes_on_backward", child_goes_on_backward, "its graph\nits graph\n"},
      {"child_outlives_parent", child_outlives_parent, all},
  };
}

}  // namespace tenon::process
