// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/dispatch/fallback_counts.h"

#include <iterator>
#include <map>
#include <mutex>
#include <tuple>

#include "core/dispatch/primitives.h"
#include "runtime/base/leaf_mutex.h"
#include "runtime/base/settings.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::core {
namespace {

struct Counts {
  LeafMutex mutex;
  std::map<std::tuple<std::string, std::string, ServedBy, std::string>,
           std::pair<uint64_t, uint64_t>>
      map;
};
Counts& g_counts = *new Counts;  // never destroyed: tensors may outlive statics
std::atomic<int> g_policy{-1};

constexpr const char* kPolicies[] = {"allow", "warn", "forbid", "forbid-staging"};  // as Fallback

Fallback policy_from_setting() {
  return static_cast<Fallback>(
      choice_setting("FALLBACK", kPolicies, 4, static_cast<int>(Fallback::Allow)));
}

// Of each ServedBy: its name, and what an error says of a call that it may not serve.
constexpr const char* kServedBy[][2] = {
    {"view", ""},
    {"composite", ""},
    {"core", ""},
    {"native", ""},
    {"cast", "computed in float32"},
    {"decomposition", "decomposed"},
    {"staged", "staged through the host"},
    {"densified", "computed on strided copies"},
    {"none", ""},
};
static_assert(std::size(kServedBy) == static_cast<std::size_t>(ServedBy::None) + 1);

[[noreturn]] TENON_COLD void forbidden(const CallFrame& frame, ServedBy by,
                                       const std::string& reason) {
  const bool staged = by == ServedBy::Staged;
  std::string why;
  if (staged) can_decompose(frame.op(), frame.device.slot, frame.dtype, &why);
  const char* way = kServedBy[static_cast<int>(by)][1];
  const std::string more = why.empty() ? "" : "; no decomposition: " + why;
  throw NotImplementedError(join(
      frame.op().name, ": would be ", way, " on ", device_entry(frame.device).name, " (", reason,
      more,
      "), which is forbidden by setting (TENON_FALLBACK=", kPolicies[static_cast<int>(fallback())],
      "): give the device a kernel for it, call it on tensors of the host, or ",
      staged ? "set warn" : "set forbid-staging"));
}

}  // namespace

const char* toString(ServedBy by) noexcept { return kServedBy[static_cast<int>(by)][0]; }

void count_fallback(const CallFrame& frame, ServedBy by, const std::string& reason,
                    uint64_t bytes) {
  const std::string& device = device_entry(frame.device).name;
  const Fallback policy = fallback();
  if (policy == Fallback::Forbid || (policy == Fallback::ForbidStaging && by == ServedBy::Staged)) {
    forbidden(frame, by, reason);
  }
  {
    Counts& counts = g_counts;
    std::lock_guard lock(counts.mutex);
    auto& entry = counts.map[{frame.op().name, device, by, reason}];
    ++entry.first;
    entry.second += bytes;
  }
  if (policy == Fallback::Warn) {
    std::string key = join(frame.op().name, "@", device, "/", toString(by));
    warn_once(key, "fallback",
              join(frame.op().name, " on ", device, " is served by ", toString(by), ": ", reason));
  }
}

void set_fallback(Fallback f) { g_policy.store(static_cast<int>(f), std::memory_order_relaxed); }

Fallback fallback() {
  int p = g_policy.load(std::memory_order_relaxed);
  if (p < 0) g_policy.store(p = static_cast<int>(policy_from_setting()), std::memory_order_relaxed);
  return static_cast<Fallback>(p);
}

std::vector<FallbackCount> fallback_counts() {
  Counts& counts = g_counts;
  std::lock_guard lock(counts.mutex);
  std::vector<FallbackCount> out;
  for (const auto& [key, value] : counts.map) {
    const auto& [op, device, by, reason] = key;
    out.push_back({op, device, by, reason, value.first, value.second});
  }
  return out;
}

std::string fallback_summary() {
  uint64_t calls = 0, bytes = 0, ops = 0;
  for (const FallbackCount& c : fallback_counts()) {
    ++ops;
    calls += c.calls;
    bytes += c.bytes;
  }
  return calls ? join(calls, " calls of ", ops, " ops fell back (", bytes,
                      " bytes staged); `fallback_counts` has them")
               : "";
}

void reset_fallback_counts() {
  Counts& counts = g_counts;
  std::lock_guard lock(counts.mutex);
  counts.map.clear();
}

}  // namespace tenon::core
