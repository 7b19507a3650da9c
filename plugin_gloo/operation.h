// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace tenon::gloo_engine {

// One operation. `run` is called once, on the thread of start, of the group's queue, or its own.
struct Operation {
  std::function<void(Operation&)> run;
  std::mutex lock;
  std::condition_variable changed;
  bool done = false;
  std::string fault;  // empty: it succeeded
  int source = -1;
  std::thread thread;  // of a receive or send that others must not wait for

  void execute();
  bool wait(int64_t ms);
};

}  // namespace tenon::gloo_engine
