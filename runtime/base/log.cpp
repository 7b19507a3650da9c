// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/log.h"

#include <atomic>
#include <mutex>
#include <unordered_set>

#include "runtime/base/leaf_mutex.h"

namespace tenon {
namespace {

std::atomic<WarningCallback> g_warning_handler{nullptr};
std::atomic<core::LogHandler> g_log_handler{nullptr};

struct Seen {
  core::LeafMutex lock;
  std::unordered_set<std::string> keys;
};
Seen& g_seen = *new Seen;  // never destroyed: tensors may outlive statics

bool first_time(std::string_view key) {
  std::lock_guard hold(g_seen.lock);
  return g_seen.keys.emplace(key).second;
}

}  // namespace

WarningCallback set_warning_handler(WarningCallback f) { return g_warning_handler.exchange(f); }

void warn(std::string_view category, std::string_view message, const char* file, int line) {
  if (WarningCallback f = g_warning_handler.load(std::memory_order_acquire))
    f(WarningMessage{category, message, file, line});
}

void warn_once(std::string_view key, std::string_view category, std::string_view message) {
  // Without a handler the warning does not count as given.
  if (g_warning_handler.load(std::memory_order_acquire) != nullptr && first_time(key))
    warn(category, message);
}

namespace core {

LogHandler set_log_handler(LogHandler f) { return g_log_handler.exchange(f); }

void log(int level, std::string_view text) {
  if (LogHandler f = g_log_handler.load(std::memory_order_acquire)) f(level, text);
}

}  // namespace core
}  // namespace tenon
