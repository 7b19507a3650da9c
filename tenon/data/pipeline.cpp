// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/data/pipeline.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "tenon/runtime/error.h"

namespace tenon::data {

WorkerException::WorkerException(std::exception_ptr original)
    : original_exception(std::move(original)),  // NOLINT(bugprone-throw-keyword-missing): a member
      message("Caught exception in DataLoader worker thread.") {
  try {
    std::rethrow_exception(original_exception);
  } catch (const std::exception& e) {
    message += " Original message: ";
    message += e.what();
  } catch (...) {
    message += " It is not a std::exception.";
  }
}

namespace detail {

// All members are guarded by `mutex`. in_flight = waiting jobs + running jobs + results not yet
// popped.
struct Pipeline::State {
  struct Result {
    std::shared_ptr<void> value;
    std::exception_ptr exception;
  };
  using Results = std::map<std::size_t, Result>;  // by job number
  struct Job {
    std::shared_ptr<void> request;
    Results::node_type
        result;  // made with the job: a worker cannot report that there is no memory for it
  };
  explicit State(const FullDataLoaderOptions& o) : options(o) {}

  const FullDataLoaderOptions options;
  std::mutex mutex;  // fork: of one loader, whose threads a child does not have
  std::condition_variable job_ready, result_ready;
  std::deque<Job> jobs;
  Results results;
  std::size_t next_job = 0, next_result = 0;
  std::size_t running = 0;
  bool quit = false;
  std::vector<std::thread> threads;

  std::size_t in_flight() const { return jobs.size() + running + results.size(); }

  void work(const Work& f) {
    std::unique_lock lock(mutex);
    for (;;) {
      job_ready.wait(lock, [&] { return quit || !jobs.empty(); });
      if (quit) return;
      Job job = std::move(jobs.front());
      jobs.pop_front();
      ++running;
      lock.unlock();
      Result& result = job.result.mapped();
      try {
        result.value = f(std::move(job.request));
      } catch (...) {
        result.exception = std::current_exception();
      }
      lock.lock();
      --running;
      results.insert(std::move(job.result));
      result_ready.notify_all();
    }
  }

  bool ready() const {
    return !results.empty() && (!options.enforce_ordering || results.begin()->first == next_result);
  }
};

Pipeline::Pipeline(const FullDataLoaderOptions& options)
    : state_(std::make_unique<State>(options)) {}
Pipeline::~Pipeline() { stop(); }

void Pipeline::add_worker(Work work) {
  State* s = state_.get();
  s->threads.emplace_back([s, work = std::move(work)] { s->work(work); });
}

void Pipeline::push(std::shared_ptr<void> request) {
  std::lock_guard lock(state_->mutex);
  State::Results made;
  made.try_emplace(state_->next_job);
  state_->jobs.push_back({std::move(request), made.extract(made.begin())});
  ++state_->next_job;
  state_->job_ready.notify_one();
}

std::shared_ptr<void> Pipeline::pop() {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  if (s.in_flight() == 0) return nullptr;
  auto ready = [&s] { return s.ready(); };
  if (s.options.timeout) {
    TENON_CHECK(s.result_ready.wait_for(lock, *s.options.timeout, ready), Error,
                "Timeout in DataLoader queue while waiting for next batch (timeout was ",
                static_cast<long long>(s.options.timeout->count()), " ms, of ", s.options.workers,
                " worker threads)");
  } else {
    s.result_ready.wait(lock, ready);
  }
  State::Result result = std::move(s.results.begin()->second);
  s.next_result = s.results.begin()->first + 1;
  s.results.erase(s.results.begin());
  lock.unlock();
  if (result.exception) throw WorkerException(result.exception);
  return result.value;
}

void Pipeline::drain() {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  s.jobs.clear();
  s.result_ready.wait(lock, [&] { return s.running == 0; });
  s.results.clear();
  s.next_job = s.next_result = 0;
}

std::size_t Pipeline::in_flight() const {
  std::lock_guard lock(state_->mutex);
  return state_->in_flight();
}

void Pipeline::stop() {
  {
    std::lock_guard lock(state_->mutex);
    state_->quit = true;
    state_->jobs.clear();
    state_->job_ready.notify_all();
  }
  for (auto& t : state_->threads) t.join();
  state_->threads.clear();
}

}  // namespace detail
}  // namespace tenon::data
