// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Times of operator calls, of the nodes of backward passes and of named ranges (record_function.h),
// in the thread that profiles.
//
//   autograd::profiler::Profiler profiler;
//   train();
//   const auto profile = profiler.stop();
//   std::cout << profile.table();
//   profile.export_chrome_trace(file);  // for chrome://tracing or Perfetto
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>

#include "tenon/arg.h"
#include "tenon/record_function.h"
#include "tenon/runtime/device.h"

namespace tenon::autograd::profiler {

struct ProfilerOptions {
  TENON_ARG(bool, record_shapes) = false;  // of tensor arguments
  // Also the time between events on the current stream of this device, which must have events that
  // take the time. The host pays for two events per range.
  TENON_ARG(std::optional<Device>, device);
};

// A range, as it ended.
struct ProfilerEvent {
  std::string name;
  RecordScope scope;
  std::vector<std::vector<int64_t>> shapes;
  int64_t begin_ns, end_ns;  // from the begin of the profile
  int64_t inner_ns = 0;      // of the ranges directly inside
  int depth;                 // ranges around it
  uint64_t thread;           // 0 where it is asynchronous
  std::optional<double> device_ms;
  // Of AsynchronousRanges: beside the thread's own ranges, whose times it is not part of.
  bool asynchronous = false;
  int64_t total_ns() const { return end_ns - begin_ns; }
  int64_t self_ns() const { return asynchronous ? 0 : total_ns() - inner_ns; }
};

// Events of one name.
struct ProfilerAverage {
  std::string name;
  int64_t calls = 0, self_ns = 0, total_ns = 0;
  std::optional<double> device_ms;
};

class TENON_API Profile {
 public:
  std::vector<ProfilerEvent> events;  // in the order of their begins
  int64_t clock_ns = 0;               // when it began, by std::chrono::steady_clock

  // The longest self time first.
  std::vector<ProfilerAverage> key_averages() const;
  // These as a table with aligned columns, of the first `rows` names.
  std::string table(std::size_t rows = 100) const;
  // The Trace Event Format: complete events ("X"), times in microseconds.
  void export_chrome_trace(std::ostream& out) const;
};

// Profiles from its construction to stop(), or to its end, when what it collected is lost. Error if
// one of this thread is running; it must be stopped by the thread that made it.
class TENON_API Profiler {
 public:
  explicit Profiler(ProfilerOptions options = {});
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;
  // Error if it was stopped.
  Profile stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The profile that this thread was taking when this was made, for what goes on beside its ranges: a
// collective, which an engine's thread moves. Empty where there is none. Thread-safe; a range that
// ends after the profile is dropped.
class TENON_API AsynchronousRanges {
 public:
  AsynchronousRanges();
  explicit operator bool() const { return profile_ != nullptr; }
  // Times of std::chrono::steady_clock in nanoseconds. Shapes are kept where the profile records
  // them.
  void add(std::string name, std::vector<std::vector<int64_t>> shapes, int64_t begin_ns,
           int64_t end_ns) const;

 private:
  friend class Profiler;
  struct Sink;
  std::shared_ptr<Sink> profile_;
};

struct BottleneckOptions {
  TENON_ARG(int64_t, runs) = 3;
  TENON_ARG(std::size_t, rows) = 15;         // of each table
  TENON_ARG(std::optional<Device>, device);  // as of ProfilerOptions
};

// Where the time of a function goes, as text (torch.utils.bottleneck): what a run takes without and
// with a profiler, the parts of operators, of the backward pass and of the program itself, the
// calls that no kernel of the device served, and the tables of the longest. The function is called
// 1 + 2 * runs times. Its exceptions pass through; Error where this thread is being profiled.
TENON_API std::string bottleneck(const std::function<void()>& step,
                                 const BottleneckOptions& options = {});

// Names the ranges of its scope, of all threads, for the profiler of the device's vendor: on CUDA
// they are NVTX's, which Nsight shows above the kernels (torch.autograd.profiler.emit_nvtx). With
// `record_shapes` the names tell the sizes of tensor arguments: "add.Tensor, sizes = [[2, 3], []]".
// NotImplementedError for a device without them, ValueError for the CPU.
//
//   autograd::profiler::EmitRanges ranges(kCUDA);
//   train();  // under: nsys profile ./program
class TENON_API EmitRanges {
 public:
  explicit EmitRanges(Device device, bool record_shapes = false);
  ~EmitRanges();
  EmitRanges(const EmitRanges&) = delete;
  EmitRanges& operator=(const EmitRanges&) = delete;

 private:
  CallbackHandle handle_;
};

// libtorch's guard: profiles for its scope, and then writes the Chrome trace to the stream, or to
// the file. A file that cannot be opened is an Error.
class TENON_API RecordProfile {
 public:
  explicit RecordProfile(std::ostream& out);
  explicit RecordProfile(const std::string& filename);
  ~RecordProfile();
  RecordProfile(const RecordProfile&) = delete;
  RecordProfile& operator=(const RecordProfile&) = delete;

 private:
  std::unique_ptr<std::ostream> file_;
  std::ostream& out_;
  Profiler profiler_;
};

}  // namespace tenon::autograd::profiler
