// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The points at which a process that ends still computes.
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tenon/core/dispatch.h"
#include "tenon/core/layout.h"
#include "tenon/plugins/plugins.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/log.h"
#include "tenon/runtime/threads.h"
#include "tenon/tenon.h"
#include "tests/process/scenarios.h"

namespace tenon::process {
namespace {

using Run = void (*)();

// What a handler without arguments runs.
Run g_run = nullptr;
void run_it() { g_run(); }

struct AtEnd {
  Run run = nullptr;
  ~AtEnd() {
    if (run) run();
  }
};

// A static of the program, made before main and so destroyed after what main made.
AtEnd g_first;
// A destructor of the program file, run after those of its statics.
Run g_of_file = nullptr;
__attribute__((destructor)) void end_of_file() {
  if (g_of_file) g_of_file();
}

// Each makes the process run `r` at one point of its end.
struct ExitPoint {
  const char* name;
  int (*go)(Run r);
  int status = 0;
};

void use_library() { (void)(ones({3}) + 1).sum().item<float>(); }

int first_static(Run r) {
  g_first.run = r;
  use_library();
  return 0;
}
int last_static(Run r) {
  use_library();
  static AtEnd last;
  last.run = r;
  return 0;
}
int unused_static(Run r) {  // the library's first use is in the destructor
  g_first.run = r;
  return 0;
}
int atexit_before_use(Run r) {
  g_run = r;
  std::atexit(run_it);
  use_library();
  return 0;
}
int atexit_after_use(Run r) {
  use_library();
  g_run = r;
  std::atexit(run_it);
  return 0;
}
int quick(Run r) {
  use_library();
  g_run = r;
  std::at_quick_exit(run_it);
  std::quick_exit(0);
}
int file_destructor(Run r) {
  use_library();
  g_of_file = r;
  return 0;
}
int thread_local_of_main(Run r) {
  static thread_local AtEnd own;
  own.run = r;
  use_library();
  return 0;
}
int thread_local_of_thread(Run r) {
  std::thread([r] {
    static thread_local AtEnd own;
    own.run = r;
    use_library();
  }).join();
  return 0;
}
int key_of_thread(Run r) {
  static pthread_key_t key;
  pthread_key_create(&key, [](void* run) { reinterpret_cast<Run>(run)(); });
  std::thread([r] {
    pthread_setspecific(key, reinterpret_cast<void*>(r));
    use_library();
  }).join();
  return 0;
}
int exit_of_thread(Run r) {
  use_library();
  g_run = r;
  std::atexit(run_it);
  std::thread([] { std::exit(3); }).detach();
  for (;;) pause();
}
int exit_of_pool_worker(Run r) {
  core::set_num_threads(2);
  g_run = r;
  std::atexit(run_it);
  core::parallel_for(
      2, 1,
      [](void*, int64_t, int64_t) {
        if (core::thread_index() != 0) std::exit(3);
        for (;;) pause();
      },
      nullptr);
  return 0;
}
int exit_in_hook(Run r) {  // in the middle of a backward pass
  g_run = r;
  std::atexit(run_it);
  Tensor x = ones({3}).requires_grad_(), y = x * 2;
  y.register_hook([](Tensor g) {
    std::exit(3);
    return g;
  });
  y.sum().backward();
  return 0;
}
int main_thread_leaves(Run r) {  // by pthread_exit, and another one ends the process
  std::thread([r] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    r();
    std::exit(0);
  }).detach();
  use_library();
  pthread_exit(nullptr);
}

constexpr ExitPoint kExitPoints[] = {{"first_static", first_static},
                                     {"last_static", last_static},
                                     {"unused_static", unused_static},
                                     {"atexit_before_use", atexit_before_use},
                                     {"atexit_after_use", atexit_after_use},
                                     {"quick_exit", quick},
                                     {"file_destructor", file_destructor},
                                     {"thread_local_of_main", thread_local_of_main},
                                     {"thread_local_of_thread", thread_local_of_thread},
                                     {"key_of_thread", key_of_thread},
                                     {"exit_of_thread", exit_of_thread, 3},
                                     {"exit_of_pool_worker", exit_of_pool_worker, 3},
                                     {"exit_in_hook", exit_in_hook, 3},
                                     {"main_thread_leaves", main_thread_leaves}};

// Computes for as long as the process lives.
template <class F>
void repeat_until_exit(F f) {
  static std::atomic<int> rounds{0};
  for (int i = 0; i < 3; ++i) {
    std::thread([f] {
      for (;;) {
        f();
        ++rounds;
      }
    }).detach();
  }
  while (rounds < 20) std::this_thread::yield();
}

double run_train_step() {
  Tensor w = ones({20, 20}).requires_grad_();
  (w.mm(ones({20, 20})).tanh().sum() + conv2d(ones({1, 1, 5, 5}), ones({1, 1, 3, 3})).sum())
      .backward();
  return w.grad().sum().item<double>();
}

struct Items : data::datasets::Dataset<Items> {
  data::Example<> get(std::size_t i) override {
    return {full({3}, static_cast<double>(i)), ones({1})};
  }
  std::optional<std::size_t> size() const override { return 1000; }
};

int loader_left_behind() {
  static auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
      Items().map(data::transforms::Stack<>()), data::DataLoaderOptions(4).workers(3));
  auto it = loader->begin();
  ++it;
  return 0;
}

int statics_left_behind() {
  static nn::Sequential net(nn::Linear(4, 4), nn::ReLU(), nn::Linear(4, 2));
  static optim::Adam adam(net->parameters(), optim::AdamOptions(0.1));
  static Tensor loss = net->forward(ones({3, 4})).sum();
  loss.backward({}, true);
  adam.step();
  return 0;
}

// As many plugins as serve the processor.
int plugin_closed_at_exit() {
  use_library();
  std::atexit([] {
    int opened = 0, refused = 0;
    for (const auto& i : plugins::list()) {
      if (i.state != plugins::State::Opened) continue;
      ++opened;
      try {
        plugins::unload(i.name);
      } catch (const Error&) {
        ++refused;
      }
    }
    say(opened > 0 && refused == opened ? "refused" : "unloaded");
    work("forward").run();
  });
  return 0;
}

int plugin_opened_at_exit() {
  use_library();
  std::atexit([] {
    const auto info = plugins::load(TENON_TEST_PLUGINS "/libtenon_sparse.so");
    say(info.state == plugins::State::Opened ? "opened" : info.reason);
  });
  return 0;
}

// The first call of a process meets a limit, the next one does not.
int first_use_under(int resource, rlim_t limit) {
  rlimit before;
  getrlimit(static_cast<__rlimit_resource_t>(resource), &before);
  const rlimit tight{limit, before.rlim_max};
  setrlimit(static_cast<__rlimit_resource_t>(resource), &tight);
  try {
    use_library();
    say("it was served");
  } catch (const std::exception&) {
    say("refused");
  }
  setrlimit(static_cast<__rlimit_resource_t>(resource), &before);
  work("forward").run();
  return 0;
}

// Each setting of the library is read once, at its first use.
int invalid_settings() {
  for (const char* name : {"NUM_THREADS", "DENSIFY", "FALLBACK", "HOST_CACHE_MB", "PLUGIN_PROBE"}) {
    setenv((std::string("TENON_") + name).c_str(), "abc", 1);
  }
  set_warning_handler(
      [](const WarningMessage& w) { say(std::string(w.message.substr(0, w.message.find(':')))); });
  (void)core::num_threads();
  (void)core::densify();
  (void)core::fallback();
  (void)core::cache_alloc(core::kHost, 2 << 20, nullptr);
  work("forward").run();
  return 0;
}
const char* const kWarnings =
    "TENON_NUM_THREADS is 'abc'; expected an integer from 1 to 256\n"
    "TENON_DENSIFY is 'abc'; expected allow, warn or forbid\n"
    "TENON_FALLBACK is 'abc'; expected allow, warn, forbid or forbid-staging\n"
    "TENON_HOST_CACHE_MB is 'abc'; expected an integer from 0 to 1099511627776\n"
    "TENON_PLUGIN_PROBE is 'abc'; expected an integer from 0 to 2147483647\n"
    "forward right\n";

}  // namespace

std::vector<Scenario> ends() {
  std::vector<Scenario> out;
  for (const ExitPoint& p : kExitPoints) {
    for (const Work& w : works()) {
      out.push_back({std::string(p.name) + "_" + w.name, [p, w] { return p.go(w.run); },
                     std::string(w.name) + " right\n", p.status});
    }
  }
  const auto add = [&](const char* name, std::function<int()> run, const char* output = "",
                       int status = 0) {
    out.push_back({name, std::move(run), output, status});
  };
  add(
      "first_use_without_descriptors", [] { return first_use_under(RLIMIT_NOFILE, 0); },
      "refused\nforward right\n");
  add(
      "first_use_without_memory", [] { return first_use_under(RLIMIT_AS, 1 << 20); },
      "refused\nforward right\n");
  add("invalid_settings", invalid_settings, kWarnings);
  add("threads_outlive_main", [] { return repeat_until_exit(run_train_step), 0; });
  add(
      "threads_outlive_exit", [] { return repeat_until_exit(run_train_step), std::exit(4), 0; }, "",
      4);
  add(
      "threads_outlive_quick_exit",
      [] { return repeat_until_exit(run_train_step), std::quick_exit(5), 0; }, "", 5);
  add(
      "threads_and_work_at_exit",
      [] { return repeat_until_exit(run_train_step), atexit_after_use(work("backward").run); },
      "backward right\n");
  add("threads_come_and_go",
      [] { return repeat_until_exit([] { std::thread(run_train_step).join(); }), 0; });
  add("loader_left_behind", loader_left_behind);
  add("statics_left_behind", statics_left_behind);
  add("plugin_closed_at_exit", plugin_closed_at_exit, "refused\nforward right\n");
  add("plugin_opened_at_exit", plugin_opened_at_exit, "opened\n");
  return out;
}

}  // namespace tenon::process
