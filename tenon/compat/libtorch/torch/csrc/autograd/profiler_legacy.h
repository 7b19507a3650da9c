// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Profiles as lists of events of each thread, by the older names. What takes them is
// tenon::autograd::profiler::Profiler.
#pragma once

#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/profiler.h"
#include "tenon/runtime/error.h"

namespace torch::profiler::impl {

enum class ProfilerState { Disabled = 0, CPU };

struct ProfilerConfig {
  // Memory is in PeakMemory (tenon/profiler.h), not among the events.
  explicit ProfilerConfig(ProfilerState the_state, bool report_input_shapes = false,
                          bool /*profile_memory*/ = false)
      : state(the_state), report_input_shapes(report_input_shapes) {}
  bool disabled() const { return state == ProfilerState::Disabled; }
  ProfilerState state;
  bool report_input_shapes;
};

}  // namespace torch::profiler::impl

namespace torch::autograd::profiler {

using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

enum class EventKind : uint16_t { Mark, PushRange, PopRange, MemoryAlloc };

// The begin of a range, or its end, which has neither a name nor shapes.
class LegacyEvent {
 public:
  LegacyEvent(EventKind kind, const ProfilerEvent& range)
      : kind_(kind),
        name_(kind == EventKind::PushRange ? range.name : std::string()),
        thread_(range.thread),
        ns_(kind == EventKind::PopRange ? range.end_ns : range.begin_ns),
        shapes_(kind == EventKind::PushRange ? range.shapes : decltype(range.shapes)()),
        asynchronous_(range.asynchronous) {}

  EventKind kind() const { return kind_; }
  const char* kindStr() const { return kind_ == EventKind::PushRange ? "push" : "pop"; }
  const char* name() const { return name_.c_str(); }
  uint64_t threadId() const { return thread_; }
  std::vector<std::vector<int64_t>> shapes() const { return shapes_; }
  bool isAsync() const { return asynchronous_; }
  double cpuUs() const { return static_cast<double>(ns_) / 1000; }
  double cpuElapsedUs(const LegacyEvent& e) const { return e.cpuUs() - cpuUs(); }
  int64_t ns() const { return ns_; }

 private:
  EventKind kind_;
  std::string name_;
  uint64_t thread_;
  int64_t ns_;
  std::vector<std::vector<int64_t>> shapes_;
  bool asynchronous_;
};

using thread_event_lists = std::vector<std::vector<LegacyEvent>>;

struct ProfilerDisableOptions {
  ProfilerDisableOptions() = default;
  ProfilerDisableOptions(bool cleanup, bool consolidate)
      : cleanupTLSState(cleanup), consolidate(consolidate) {}
  bool cleanupTLSState = true, consolidate = true;  // both are always so
};

namespace detail {

// Of this thread. What nobody ends goes on to the end of the process.
inline thread_local Profiler* legacy_profiler = nullptr;

inline thread_event_lists lists_of(const Profile& profile) {
  std::map<uint64_t, std::vector<LegacyEvent>> threads;
  for (const ProfilerEvent& range : profile.events) {
    auto& list = threads[range.thread];
    list.emplace_back(EventKind::PushRange, range);
    list.emplace_back(EventKind::PopRange, range);
  }
  thread_event_lists lists;
  for (auto& [thread, list] : threads) {
    std::stable_sort(list.begin(), list.end(),
                     [](const LegacyEvent& a, const LegacyEvent& b) { return a.ns() < b.ns(); });
    lists.push_back(std::move(list));
  }
  return lists;
}

}  // namespace detail

// Begins a profile of this thread; Error where it is being profiled.
inline void enableProfilerLegacy(const ProfilerConfig& config) {
  if (config.disabled()) return;
  detail::legacy_profiler =
      new Profiler(ProfilerOptions().record_shapes(config.report_input_shapes));
}

// Ends it: the begins and ends of ranges in the order of time, a list for each thread. Error if
// none was begun.
inline thread_event_lists disableProfilerLegacy(std::optional<ProfilerDisableOptions> = {}) {
  const std::unique_ptr<Profiler> running(std::exchange(detail::legacy_profiler, nullptr));
  if (!running)
    throw ::tenon::Error(
        "disableProfilerLegacy: this thread has begun no profile "
        "(enableProfilerLegacy)");
  return detail::lists_of(running->stop());
}

}  // namespace torch::autograd::profiler
