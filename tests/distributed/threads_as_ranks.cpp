// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <thread>

#include "tests/distributed/ranks.h"

namespace tenon::distributed {

std::vector<int> rank_counts() { return {2, 4}; }

void run_ranks(int n, const std::function<void(const ProcessGroupPtr&)>& f) {
  ProcessGroupOptions options;
  auto store = std::make_shared<HashStore>(std::chrono::seconds(20));
  options.timeout = std::chrono::seconds(20);
  std::vector<std::exception_ptr> faults(static_cast<std::size_t>(n));
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(n));
  for (int r = 0; r < n; ++r) {
    threads.emplace_back([&, r] {
      try {
        auto group = std::make_shared<ProcessGroup>(store->clone(), r, n, options);
        f(group);
        barrier(group);
        // As a rank that leaves closes its connections, which others may still read.
        store->add("ended", 1);
        while (store->add("ended", 0) < n) std::this_thread::yield();
      } catch (...) {
        faults[static_cast<std::size_t>(r)] = std::current_exception();
        store->add("ended", 1);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (const std::exception_ptr& e : faults) {
    if (e) std::rethrow_exception(e);
  }
}

}  // namespace tenon::distributed
