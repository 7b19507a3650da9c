// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>

#include "programs.h"
#include "table.h"
#include "tenon/autograd/operator_observer.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/device.h"

namespace tenon::command {
namespace {

constexpr std::size_t kMaxOperators = 12;  // shown

struct OperatorTime {
  std::string name;
  int calls = 0;
  double ms = 0;  // without the operators that it called
};

// Time of the public operators that this thread calls.
class OperatorTimes final : public autograd::OperatorObserver {
 public:
  explicit OperatorTimes(const Device& device) : device_(device) {
    before_ = autograd::set_operator_observer(this);
  }
  ~OperatorTimes() override { autograd::set_operator_observer(before_); }
  void begin(std::string_view) override { open_.emplace_back(); }
  void end(std::string_view name) noexcept override {
    try {
      wait_for(device_);
    } catch (const std::exception&) {  // the call that follows raises it
    }
    const double ms = open_.back().watch.milliseconds(), own = ms - open_.back().inner;
    open_.pop_back();
    if (!open_.empty()) open_.back().inner += ms;
    OperatorTime& t = times_[std::string(name)];
    ++t.calls;
    t.ms += own;
  }
  std::vector<OperatorTime> most_expensive() const {
    std::vector<OperatorTime> out;
    for (const auto& [name, t] : times_) out.push_back({name, t.calls, t.ms});
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.ms > b.ms; });
    return out;
  }

 private:
  struct Open {
    Stopwatch watch;
    double inner = 0;
  };
  Device device_;
  autograd::OperatorObserver* before_;
  std::vector<Open> open_;
  std::map<std::string, OperatorTime> times_;
};

void print_operators(const std::vector<OperatorTime>& times, double total_ms) {
  Table table({"OPERATOR", "CALLS", "TIME", "SHARE"});
  for (std::size_t i = 0; i < std::min(times.size(), kMaxOperators); ++i) {
    table.add({times[i].name, std::to_string(times[i].calls), format_ms(times[i].ms),
               format_number("%.0f %%", 100 * times[i].ms / total_ms)});
  }
  std::cout << "\n" << table.text();
  if (times.size() > kMaxOperators)
    std::cout << times.size() - kMaxOperators << " operators took less\n";
}

uint64_t resident_peak() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

// The second number of the file: resident pages.
uint64_t Loading::resident_bytes() {
  std::ifstream in("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  in >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void print_bench(const jit::Method& method, const std::vector<IValue>& arguments,
                 const Device& device, const Loading& loading, int runs) {
  const auto run_once = [&] {
    const Stopwatch watch;
    method(arguments);
    wait_for(device);
    return watch.milliseconds();
  };
  const double first = run_once();
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(runs));
  for (int i = 0; i < runs; ++i) times.push_back(run_once());
  std::sort(times.begin(), times.end());
  const core::MemoryStats memory = core::memory_stats(core::device_id(device));
  Table table({"MEASURE", "VALUE"});
  table.add({"load", format_ms(loading.ms)});
  table.add({"first run", format_ms(first)});
  table.add({"median of " + std::to_string(runs), format_ms(times[times.size() / 2])});
  table.add({"fastest", format_ms(times.front())});
  table.add({"tensors, peak", format_bytes(memory.allocated_peak)});
  table.add({"process, peak", format_bytes(resident_peak())});
  table.add({"before loading", format_bytes(loading.resident_before)});
  std::cout << table.text();
  OperatorTimes observer(device);
  const double total = run_once();
  print_operators(observer.most_expensive(), total);
}

}  // namespace tenon::command
