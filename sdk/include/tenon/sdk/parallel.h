// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Services of core: the thread pool, settings, the log.
#pragma once

#include <atomic>
#include <exception>
#include <optional>
#include <string_view>

#include "tenon/abi/host.h"

namespace tenon::sdk {

namespace detail {
// Set before any kernel runs; one per plugin, never shared between libraries.
__attribute__((visibility("hidden"))) inline const tn_host* g_host = nullptr;
}  // namespace detail

inline const tn_host& host() { return *detail::g_host; }

inline void log(int32_t level, std::string_view text) {
  host().log(level, tn_str{text.data(), text.size()});
}

// The setting TENON_<name>; empty if unset or if the process runs with raised privileges.
inline std::optional<std::string_view> setting(std::string_view name) {
  tn_str v{nullptr, 0};
  if (host().get_setting(tn_str{name.data(), name.size()}, &v) != TN_OK || v.ptr == nullptr)
    return std::nullopt;
  return std::string_view(v.ptr, v.len);
}

// body(begin, end) over [0, n) in blocks of at most `grain`. Blocks depend on n and grain alone, so
// that results per block do not depend on the number of threads. The first exception of a block is
// rethrown here.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& body) {
  if (n <= 0) return;
  if (n <= grain) {
    body(int64_t{0}, n);
    return;
  }
  struct Work {
    F& body;
    std::atomic<bool> failed{false};
    std::exception_ptr error{};
  } work{body};
  host().parallel_for(
      n, grain,
      [](void* arg, int64_t begin, int64_t end) {
        Work& w = *static_cast<Work*>(arg);
        try {
          w.body(begin, end);
        } catch (...) {
          if (!w.failed.exchange(true)) w.error = std::current_exception();
        }
      },
      &work);
  if (work.failed) std::rethrow_exception(work.error);
}

}  // namespace tenon::sdk
