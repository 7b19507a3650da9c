// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_gloo/operation.h"

#include <algorithm>
#include <chrono>
#include <exception>

namespace tenon::gloo_engine {

void Operation::execute() {
  std::string why;
  try {
    run(*this);
  } catch (const std::exception& e) {
    why = *e.what() ? e.what() : "gloo failed";
  } catch (...) {
    why = "gloo threw an unknown exception";
  }
  std::lock_guard held(lock);
  fault = std::move(why);
  done = true;
  changed.notify_all();
}

bool Operation::wait(int64_t ms) {
  std::unique_lock held(lock);
  if (ms <= 0) return done;
  const auto most = std::chrono::hours(24 * 365);
  return changed.wait_for(held,
                          std::min<std::chrono::milliseconds>(most, std::chrono::milliseconds(ms)),
                          [&] { return done; });
}

}  // namespace tenon::gloo_engine
