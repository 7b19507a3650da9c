// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_mpi/progress.h"

#include <sched.h>

#include <algorithm>
#include <chrono>

#include "plugin_mpi/process.h"
#include "tenon/sdk/collective_task.h"

namespace tenon::mpi_engine {

void Backoff::pause() {
  if (++count_ < kSpin) return;
  if (count_ < kYield) {
    sched_yield();
    return;
  }
  const auto most = std::chrono::microseconds(1000);
  std::this_thread::sleep_for(std::min(most, std::chrono::microseconds(20 + (count_ - kYield))));
}

Progress& Progress::instance() {
  static auto* p = new Progress();  // its thread ends in stop()
  return *p;
}

void Progress::add(std::shared_ptr<Moved> work) {
  std::lock_guard held(lock_);
  if (std::find(works_.begin(), works_.end(), work) != works_.end()) return;
  works_.push_back(std::move(work));
  if (!thread_.joinable() && !stop_) {
    const sdk::BlockSignals blocked;
    thread_ = std::thread([this] { run(); });
    set_before_end([] { return instance().stop(); });
  }
  changed_.notify_one();
}

bool Progress::stop() {
  {
    std::lock_guard held(lock_);
    stop_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  const auto goes_on = [](const auto& work) { return !work->move_on(); };
  for (int i = 0; i < 100; ++i) {
    if (std::none_of(works_.begin(), works_.end(), goes_on)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void Progress::run() {
  Backoff backoff(/*eager=*/false);
  for (;;) {
    std::vector<std::shared_ptr<Moved>> now;
    {
      std::unique_lock held(lock_);
      changed_.wait(held, [&] { return stop_ || !works_.empty(); });
      if (stop_) return;
      now = works_;
    }
    bool moved = false;
    const auto goes_on = [&](const auto& work) {
      if (work->is_waited_for()) return true;
      const uint64_t before = work->steps();
      const bool done = work->move_on();
      moved |= done || work->steps() != before;
      return !done;
    };
    const auto ended = std::stable_partition(now.begin(), now.end(), goes_on);
    if (moved) backoff.reset();
    if (ended == now.end()) {
      backoff.pause();
      continue;
    }
    std::lock_guard held(lock_);
    for (auto work = ended; work != now.end(); ++work)
      works_.erase(std::find(works_.begin(), works_.end(), *work));
  }
}

}  // namespace tenon::mpi_engine
