// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/run/futures.h"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/leaf_mutex.h"
#include "tenon/autograd/mode.h"
#include "tenon/runtime/threads.h"

namespace tenon::jit {
namespace {

struct Job {
  std::function<IValue()> run;
  core::Ref<ivalue::Future> future;
  uint32_t mode;
};

// Threads are detached and wait for jobs until the process ends; what they share is never freed.
struct Jobs {
  core::LeafMutex mutex;
  std::condition_variable_any some;
  std::deque<Job> waiting;
  int threads = 0, idle = 0;
};
Jobs& g_jobs = *new Jobs;

// The child of a fork has none of the threads.
[[maybe_unused]] const int g_fork_handler_of_jobs = pthread_atfork(nullptr, nullptr, [] {
  new (&g_jobs.some) std::condition_variable_any;
  g_jobs.threads = g_jobs.idle = 0;
});

void run(Job job) {
  const ModeGuard mode(job.mode);
  try {
    job.future->markCompleted(job.run());
  } catch (...) {
    job.future->setError(std::current_exception());
  }
}

void work() {
  Jobs& j = g_jobs;
  std::unique_lock lock(j.mutex);
  for (;;) {
    ++j.idle;
    j.some.wait(lock, [&] { return !j.waiting.empty(); });
    --j.idle;
    Job job = std::move(j.waiting.front());
    j.waiting.pop_front();
    lock.unlock();
    run(std::move(job));
    lock.lock();
  }
}

// Without a thread the job runs in wait_for.
void add_thread(Jobs& j) {
  if (j.idle > 0 || j.threads >= core::num_threads()) return;
  try {
    std::thread(work).detach();
    ++j.threads;
  } catch (const std::system_error&) {
  }
}

// The job of this future, if nobody has begun it.
bool take(const ivalue::Future& future, Job& job) {
  Jobs& j = g_jobs;
  const std::lock_guard lock(j.mutex);
  for (auto it = j.waiting.begin(); it != j.waiting.end(); ++it) {
    if (it->future.get() != &future) continue;
    job = std::move(*it);
    j.waiting.erase(it);
    return true;
  }
  return false;
}

}  // namespace

core::Ref<ivalue::Future> start_job(std::function<IValue()> job) {
  auto future = core::Ref<ivalue::Future>::adopt(new ivalue::Future);
  Jobs& j = g_jobs;
  const std::lock_guard lock(j.mutex);
  const uint32_t mode = autograd::mode() & ~uint32_t{autograd::kOperatorObserved};
  j.waiting.push_back(Job{std::move(job), future, mode});
  add_thread(j);
  j.some.notify_one();
  return future;
}

IValue wait_for(ivalue::Future& future) {
  if (Job job; !future.completed() && take(future, job)) run(std::move(job));
  return future.value();
}

}  // namespace tenon::jit
