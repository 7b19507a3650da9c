// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Profiles as text.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <tuple>

#include "tenon/core/dispatch.h"
#include "tenon/parallel.h"
#include "tenon/profiler.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd::profiler {
namespace {

std::string milliseconds(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", ms);
  return text;
}

// Names to the left, numbers to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - row[i].size(), ' ');
      out += i == 0 ? row[i] + gap : "  " + gap + row[i];
    }
    out += '\n';
  }
  return out;
}

std::string percent(double part, double whole) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f", whole > 0 ? 100 * part / whole : 0.0);
  return text;
}

// Of these, in their order.
std::string table_of(const std::vector<ProfilerAverage>& averages, std::size_t rows) {
  const bool device = std::any_of(averages.begin(), averages.end(),
                                  [](const auto& a) { return a.device_ms.has_value(); });
  double self = 0;
  for (const ProfilerAverage& a : averages) self += static_cast<double>(a.self_ns);
  std::vector<std::vector<std::string>> cells = {
      {"name", "self ms", "self %", "total ms", "calls", "mean ms"}};
  if (device) cells[0].push_back("device ms");
  for (std::size_t i = 0; i < std::min(rows, averages.size()); ++i) {
    const ProfilerAverage& a = averages[i];
    const double total = static_cast<double>(a.total_ns) / 1e6;
    cells.push_back({a.name, milliseconds(static_cast<double>(a.self_ns) / 1e6),
                     percent(static_cast<double>(a.self_ns), self), milliseconds(total),
                     std::to_string(a.calls), milliseconds(total / static_cast<double>(a.calls))});
    if (device) cells.back().push_back(a.device_ms ? milliseconds(*a.device_ms) : "");
  }
  return aligned(cells);
}

// How often each step of the fallback chain served a call of an operator, by {operator, device,
// step}.
using FallbackTable = std::map<std::tuple<std::string, std::string, core::ServedBy>, uint64_t>;
FallbackTable fallbacks() {
  FallbackTable out;
  for (const core::FallbackCount& c : core::fallback_counts())
    out[{c.op, c.device, c.by}] += c.calls;
  return out;
}

std::string fallback_table(const FallbackTable& before, const FallbackTable& after) {
  std::vector<std::vector<std::string>> cells = {{"operator", "device", "served by", "calls"}};
  for (const auto& [key, calls] : after) {
    const auto old = before.find(key);
    const uint64_t fresh = calls - (old == before.end() ? 0 : std::min(old->second, calls));
    if (fresh > 0)
      cells.push_back({std::get<0>(key), std::get<1>(key), core::toString(std::get<2>(key)),
                       std::to_string(fresh)});
  }
  return cells.size() == 1 ? "" : "\nwithout a kernel of their own:\n" + aligned(cells);
}

// Host time of the runs, in milliseconds.
template <class F>
double time_of(const F& runs) {
  const auto begin = std::chrono::steady_clock::now();
  runs();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

// What part of the time went where: the self times of each scope, and the rest.
std::string parts(const Profile& profile, double milliseconds_in_all) {
  double operators = 0, backward = 0, ranges = 0;
  for (const ProfilerEvent& e : profile.events) {
    double& part = e.scope == RecordScope::BACKWARD_FUNCTION ? backward
                   : e.scope == RecordScope::USER_SCOPE      ? ranges
                                                             : operators;
    part += static_cast<double>(e.self_ns()) / 1e6;
  }
  const double rest = std::max(0.0, milliseconds_in_all - operators - backward - ranges);
  return "operators " + percent(operators, milliseconds_in_all) +
         " %, nodes of the backward pass " + percent(backward, milliseconds_in_all) +
         " %, ranges of the program " + percent(ranges, milliseconds_in_all) +
         " %, outside of all " + percent(rest, milliseconds_in_all) + " %\n";
}

}  // namespace

std::string Profile::table(std::size_t rows) const { return table_of(key_averages(), rows); }

std::string bottleneck(const std::function<void()>& step, const BottleneckOptions& options) {
  const int64_t n = options.runs();
  TENON_CHECK(n > 0, ValueError, "bottleneck: runs must be positive, got ", n);
  const auto runs = [&] {
    for (int64_t i = 0; i < n; ++i) step();
    if (options.device()) core::synchronize(core::device_id(*options.device()));
  };
  step();  // opens plugins, packs weights, compiles
  if (options.device()) core::synchronize(core::device_id(*options.device()));
  const double plain = time_of(runs);
  const FallbackTable before = fallbacks();
  Profiler profiler(ProfilerOptions().device(options.device()));
  const double profiled = time_of(runs);
  const Profile profile = profiler.stop();
  const double count = static_cast<double>(n);
  std::string out = std::to_string(n) + " runs of " + milliseconds(plain / count) + " ms (" +
                    milliseconds(profiled / count) + " ms while profiled), " +
                    std::to_string(get_num_threads()) + " threads\n" + parts(profile, profiled) +
                    fallback_table(before, fallbacks());
  std::vector<ProfilerAverage> averages = profile.key_averages();
  out += "\nby time of the host:\n" + table_of(averages, options.rows());
  if (!options.device()) return out;
  std::stable_sort(averages.begin(), averages.end(), [](const auto& a, const auto& b) {
    return a.device_ms.value_or(0) > b.device_ms.value_or(0);
  });
  return out + "\nby time of " + options.device()->str() + ":\n" +
         table_of(averages, options.rows());
}

}  // namespace tenon::autograd::profiler
