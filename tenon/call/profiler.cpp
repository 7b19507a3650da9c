// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/profiler.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <mutex>
#include <unordered_map>

#include "runtime/base/json.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/profiler_range.h"
#include "tenon/stream.h"

namespace tenon::autograd::profiler {
namespace {

using Clock = std::chrono::steady_clock;

struct Range final : ObserverContext {
  explicit Range(std::size_t at) : event(at) {}
  std::size_t event;
};

std::vector<std::vector<int64_t>> shapes_of(ArrayRef<IValue> inputs) {
  std::vector<std::vector<int64_t>> out;
  const auto add = [&](const Tensor& t) {
    out.push_back(t.defined() ? t.sizes().vec() : std::vector<int64_t>());
  };
  for (const IValue& v : inputs) {
    if (v.isTensor()) add(v.toTensor());
    if (!v.isTensorList()) continue;
    for (const Tensor& t : v.toTensorVector()) add(t);
  }
  return out;
}

}  // namespace

struct AsynchronousRanges::Sink {
  std::mutex lock;  // fork: a profile is of its thread, and of no use to a child
  int64_t begin_ns = 0;
  bool records_shapes = false;
  std::vector<ProfilerEvent> events;
  static __thread const std::shared_ptr<Sink>* of_thread __attribute__((tls_model("initial-exec")));
};
__thread const std::shared_ptr<AsynchronousRanges::Sink>* AsynchronousRanges::Sink::of_thread
    __attribute__((tls_model("initial-exec")));

AsynchronousRanges::AsynchronousRanges() {
  if (Sink::of_thread) profile_ = *Sink::of_thread;
}

void AsynchronousRanges::add(std::string name, std::vector<std::vector<int64_t>> shapes,
                             int64_t begin_ns, int64_t end_ns) const {
  if (!profile_) return;
  if (!profile_->records_shapes) shapes.clear();
  std::lock_guard held(profile_->lock);
  const int64_t from = profile_->begin_ns;
  ProfilerEvent e{std::move(name), RecordScope::USER_SCOPE, std::move(shapes), begin_ns - from,
                  end_ns - from};
  e.depth = 0;
  e.thread = 0;
  e.asynchronous = true;
  profile_->events.push_back(std::move(e));
}

struct Profiler::State {
  // Events of the device around a range.
  struct Timing {
    std::optional<Event> begin, end;
  };

  explicit State(ProfilerOptions given) : options(std::move(given)), begin(Clock::now()) {
    profile.clock_ns = asynchronous->begin_ns =
        std::chrono::nanoseconds(begin.time_since_epoch()).count();
    asynchronous->records_shapes = options.record_shapes();
    if (options.device()) try_events();
    handle = addThreadLocalCallback(
        RecordFunctionCallback([this](const RecordFunction& f) { return open_range(f); },
                               [this](const RecordFunction&, ObserverContext* c) {
                                 if (c) close_range(static_cast<Range&>(*c).event);
                               })
            .needsInputs(options.record_shapes()));
  }
  ~State() {
    AsynchronousRanges::Sink::of_thread = nullptr;
    removeCallback(handle);
  }

  int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
  }
  void record(std::optional<Event>& event) const {
    event.emplace(options.device()->type(), EventFlag::BACKEND_DEFAULT);
    event->record(current_stream(*options.device()));
  }
  // What a callback throws is dropped: a device without such events is refused here.
  void try_events() const {
    Timing t;
    record(t.begin);
    record(t.end);
    t.end->synchronize();
    t.begin->elapsed_time(*t.end);
  }
  std::unique_ptr<ObserverContext> open_range(const RecordFunction& f) {
    auto range = std::make_unique<Range>(profile.events.size());
    ProfilerEvent e{f.name(),     f.scope(),   {}, 0, 0, 0, static_cast<int>(open.size()),
                    f.threadId(), std::nullopt};
    if (options.record_shapes()) e.shapes = shapes_of(f.inputs());
    timings.emplace_back();
    if (options.device()) record(timings.back().begin);
    e.begin_ns = e.end_ns = now();
    profile.events.push_back(std::move(e));
    open.push_back(range->event);
    return range;
  }
  void close_range(std::size_t at) {
    const int64_t end = now();
    while (!open.empty() && open.back() != at) open.pop_back();
    if (open.empty()) return;
    open.pop_back();
    ProfilerEvent& e = profile.events[at];
    e.end_ns = end;
    if (!open.empty()) profile.events[open.back()].inner_ns += e.total_ns();
    if (options.device()) record(timings[at].end);
  }
  void read_device_times() {
    if (!options.device()) return;
    for (std::size_t i = 0; i < timings.size(); ++i) {
      if (!timings[i].end) continue;
      timings[i].end->synchronize();
      profile.events[i].device_ms = timings[i].begin->elapsed_time(*timings[i].end);
    }
  }

  void take_asynchronous_ranges() {
    std::lock_guard held(asynchronous->lock);
    std::vector<ProfilerEvent>& from = asynchronous->events;
    if (from.empty()) return;
    std::move(from.begin(), from.end(), std::back_inserter(profile.events));
    std::stable_sort(profile.events.begin(), profile.events.end(),
                     [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  }

  ProfilerOptions options;
  std::shared_ptr<AsynchronousRanges::Sink> asynchronous =
      std::make_shared<AsynchronousRanges::Sink>();
  Clock::time_point begin;
  CallbackHandle handle;
  Profile profile;
  std::vector<Timing> timings;    // by event
  std::vector<std::size_t> open;  // ranges that have not ended, the innermost last
};

Profiler::Profiler(ProfilerOptions options) {
  TENON_CHECK(!AsynchronousRanges::Sink::of_thread, Error,
              "Profiler: one is already running in this thread");
  TENON_CHECK(!options.device() || !options.device()->is_cpu(), ValueError,
              "Profiler: the CPU has no events; its times are those of the host");
  state_ = std::make_unique<State>(std::move(options));
  AsynchronousRanges::Sink::of_thread = &state_->asynchronous;
}

Profiler::~Profiler() = default;

Profile Profiler::stop() {
  TENON_CHECK(state_, Error, "Profiler: it was stopped already");
  const std::unique_ptr<State> state = std::move(state_);
  removeCallback(state->handle);
  const int64_t end = state->now();
  for (const std::size_t at : state->open) state->profile.events[at].end_ns = end;
  state->read_device_times();
  state->take_asynchronous_ranges();
  return std::move(state->profile);
}

std::vector<ProfilerAverage> Profile::key_averages() const {
  std::vector<ProfilerAverage> out;
  std::unordered_map<std::string, std::size_t> places;
  for (const ProfilerEvent& e : events) {
    const auto [at, fresh] = places.emplace(e.name, out.size());
    if (fresh) out.push_back({e.name, 0, 0, 0, std::nullopt});
    ProfilerAverage& a = out[at->second];
    ++a.calls;
    a.self_ns += e.self_ns();
    a.total_ns += e.total_ns();
    if (e.device_ms) a.device_ms = a.device_ms.value_or(0) + *e.device_ms;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.self_ns > b.self_ns; });
  return out;
}

void Profile::export_chrome_trace(std::ostream& out) const {
  core::Json::Array list;
  for (const ProfilerEvent& e : events) {
    core::Json::Array shapes;
    for (const auto& s : e.shapes) shapes.push_back(core::Json::list(s));
    core::Json::Object args;
    if (!e.shapes.empty()) args.emplace_back("Input Dims", core::Json(std::move(shapes)));
    if (e.device_ms) args.emplace_back("device ms", core::Json(*e.device_ms));
    const char* category = e.asynchronous                              ? "asynchronous"
                           : e.scope == RecordScope::BACKWARD_FUNCTION ? "backward"
                           : e.scope == RecordScope::USER_SCOPE        ? "user"
                                                                       : "operator";
    list.push_back(core::Json::object(
        "name", e.name, "cat", category, "ph", "X", "ts", static_cast<double>(e.begin_ns) / 1e3,
        "dur", static_cast<double>(e.total_ns()) / 1e3, "pid", int64_t{0}, "tid",
        static_cast<int64_t>(e.thread), "args", core::Json(std::move(args))));
  }
  out << core::Json(core::Json::object("traceEvents", core::Json(std::move(list)),
                                       "displayTimeUnit", "ms"))
             .dump();
}

namespace {

std::unique_ptr<std::ostream> open_file(const std::string& filename) {
  auto file = std::make_unique<std::ofstream>(filename, std::ios::binary);
  TENON_CHECK(*file, Error, "RecordProfile: cannot open '", filename, "'");
  return file;
}

}  // namespace

namespace {

struct OpenRange final : ObserverContext {};

std::string with_shapes(const RecordFunction& f) {
  std::string out = f.name();
  const auto shapes = shapes_of(f.inputs());
  if (shapes.empty()) return out;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    out += core::join(i == 0 ? ", sizes = [" : ", ", IntArrayRef(shapes[i]));
  return out + "]";
}

core::DeviceSlot slot_with_ranges(Device device) {
  TENON_CHECK(!device.is_cpu(), ValueError, "EmitRanges: the CPU has no profiler of its own");
  const core::DeviceSlot slot = core::device_id(device).slot;
  TENON_CHECK(core::has_profiler_ranges(slot), NotImplementedError, "EmitRanges: the plugin of ",
              device.str(), " passes no ranges to a profiler");
  return slot;
}

}  // namespace

EmitRanges::EmitRanges(Device device, bool record_shapes) {
  const core::DeviceSlot slot = slot_with_ranges(device);
  handle_ = addGlobalCallback(RecordFunctionCallback(
                                  [=](const RecordFunction& f) -> std::unique_ptr<ObserverContext> {
                                    auto open = std::make_unique<OpenRange>();
                                    core::push_profiler_range(
                                        slot, record_shapes ? with_shapes(f) : f.name());
                                    return open;
                                  },
                                  [=](const RecordFunction&, ObserverContext* open) {
                                    if (open != nullptr) core::pop_profiler_range(slot);
                                  })
                                  .needsInputs(record_shapes));
}

EmitRanges::~EmitRanges() { removeCallback(handle_); }

RecordProfile::RecordProfile(std::ostream& out) : out_(out) {}
RecordProfile::RecordProfile(const std::string& filename)
    : file_(open_file(filename)), out_(*file_) {}
RecordProfile::~RecordProfile() {
  try {
    profiler_.stop().export_chrome_trace(out_);
    out_.flush();
  } catch (const std::exception&) {  // without memory there is no trace
  }
}

}  // namespace tenon::autograd::profiler
