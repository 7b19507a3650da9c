// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A genetic search: each generation keeps the fastest quarter of what was measured, and fills up
// with crossings, mutations and new draws.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <set>

#include "jit/comprehension/function_state.h"
#include "jit/comprehension/tune_cache.h"
#include "tenon/autograd/mode.h"
#include "tenon/core/dispatch.h"
#include "tenon/creation.h"
#include "tenon/ops/loop_program.gen.h"
#include "tenon/parallel.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/log.h"
#include "tenon/sdk/loop_program/names.h"
#include "tenon/sdk/loop_program/parse.h"
#include "tenon/sdk/loop_program/trial.h"
#include "tenon/stream.h"

namespace tenon::tc {
namespace {

namespace language = jit::comprehension;
namespace lp = sdk::loop_program;
using Schedules = language::ScheduleSpace::Schedules;

constexpr double kNoise = 0.97;        // of the untuned time: what is not below is no gain
constexpr double kHopeless = 3;        // times as slow as the best: not measured to the end
constexpr double kShort = 1000;        // microseconds: some calls more cost nothing
constexpr int kFirstCalls = 6;         // code and data are not in the caches yet
constexpr double kMeasured = 2000;     // microseconds of one measurement
constexpr int kMeasurements = 3;       // the least counts
constexpr int kLastMeasurements = 10;  // of the best against the untuned one
constexpr int kMaxRepetitions = 200;

// The processor, or what the device calls itself.
std::string device_name(const Device& device) {
  if (device.is_cpu()) {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
      if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
    return device.str();
  }
  const core::DeviceId id = core::device_id(device);
  const core::DeviceEntry& entry = core::device_entry(id.slot);
  tn_device_props props;
  std::memset(&props, 0, sizeof props);
  props.struct_size = sizeof props;
  if (entry.api->props(entry.api->context, id.index, &props) != TN_OK) return device.str();
  return std::string(props.name, strnlen(props.name, sizeof props.name));
}

// Of what runs loop programs there.
std::string versions(const Device& device) {
  const core::Op& op = *core::find_op("_loop_program_");
  for (const core::Candidate& it : core::explain(op, core::device_id(device).slot, kFloat))
    if (it.serves) return it.reason;
  return "none";
}

// A line for each nest that has a schedule.
std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!lines[i].empty()) text += (text.empty() ? "" : "\n") + std::to_string(i) + ": " + lines[i];
  return text;
}

class Clock {
 public:
  Clock(const std::vector<Tensor>& inputs, Device device) : inputs_(inputs), device_(device) {}

  // Microseconds of a call, the first apart, which compiles. What is slower than `limit` in a few
  // calls, or far slower in one, is not measured to the end.
  double measure(const std::string& text, double limit, int measurements) const {
    once(text);
    double best = once(text);
    for (int i = 0; i < kFirstCalls && (best < kShort || best < kHopeless * limit); ++i)
      best = std::min(best, once(text));
    if (best > limit) return best;
    const int n = std::clamp(static_cast<int>(kMeasured / std::max(best, 1.0)), 1, kMaxRepetitions);
    for (int i = 0; i < measurements; ++i) best = std::min(best, several(text, n) / n);
    return best;
  }

 private:
  double once(const std::string& text) const { return several(text, 1); }

  double several(const std::string& text, int n) const {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < n; ++i) _loop_program(inputs_, text);
    if (!device_.is_cpu()) current_stream(device_).synchronize();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
        .count();
  }

  const std::vector<Tensor>& inputs_;
  Device device_;
};

struct Candidate {
  Schedules schedules;
  std::vector<std::string> lines;
  double time = 0;
};

class Search {
 public:
  Search(const std::string& text, const TuneOptions& options, const Clock& clock)
      : text_(text),
        options_(options),
        clock_(clock),
        space_(lp::parse(text), options.seed),
        nests_(lp::parse(text).nests.size()) {}

  Tuned run() {
    try_one(Schedules(nests_));
    for (int g = 0; g < options_.generations && !out_.interrupted; ++g) generation(g);
    finish();
    return std::move(out_);
  }

  const std::vector<std::string>& lines() const { return found_[0].lines; }

 private:
  int planned() const { return 1 + options_.generations * options_.population; }

  // Draws that came before are not measured again, so that a generation may be a smaller one.
  void generation(int number) {
    const std::size_t elite = std::max<std::size_t>(2, found_.size() / 4);
    const std::size_t parents = std::min(elite, found_.size());
    std::vector<Schedules> next;
    for (int i = 0; i < options_.population; ++i) {
      if (number == 0 || i % 4 == 3) {
        next.push_back(space_.draw());
        continue;
      }
      const Schedules& a = found_[i % parents].schedules;
      const Schedules& b = found_[(i * 7 + 1) % parents].schedules;
      next.push_back(space_.mutate(i % 2 ? space_.cross(a, b) : a));
    }
    for (const Schedules& it : next) {
      if (out_.interrupted) return;
      try_one(it);
    }
  }

  void try_one(const Schedules& schedules) {
    Candidate c{schedules, space_.lines(schedules), 0};
    std::string key;
    for (const std::string& it : c.lines) key += it + "\n";
    if (!seen_.insert(key).second) return;
    const double limit = found_.empty() ? 1e30 : kHopeless * found_[0].time;
    c.time = clock_.measure(trial(c.lines), limit, kMeasurements);
    ++out_.measured;
    const double last = c.time;
    found_.insert(std::upper_bound(found_.begin(), found_.end(), last,
                                   [](double t, const Candidate& it) { return t < it.time; }),
                  std::move(c));
    if (out_.measured == 1) out_.untuned = last;
    const std::string best = joined(found_[0].lines);
    const TuneProgress now{out_.measured, planned(), last, found_[0].time, out_.untuned, best};
    if (options_.progress && !options_.progress(now)) out_.interrupted = true;
  }

  std::string trial(const std::vector<std::string>& lines) const {
    std::string text = language::add_schedules(text_, lines);
    if (text.back() != '\n') text += '\n';
    return text += lp::trial_mark;
  }

  // The best against the untuned one in turn: the least of many times is a lucky one.
  void finish() {
    const std::vector<std::string> none(nests_);
    const std::string best = trial(found_[0].lines), untuned = trial(none);
    out_.best = out_.untuned = 1e30;
    for (int i = 0; i < kLastMeasurements; ++i) {
      out_.untuned = std::min(out_.untuned, clock_.measure(untuned, 1e30, 1));
      out_.best = std::min(out_.best, clock_.measure(best, 1e30, 1));
    }
    if (out_.best > kNoise * out_.untuned) {
      found_[0] = {Schedules(nests_), none, out_.untuned};
      out_.best = out_.untuned;
    }
    out_.schedule = joined(found_[0].lines);
  }

  const std::string& text_;
  const TuneOptions& options_;
  const Clock& clock_;
  language::ScheduleSpace space_;
  std::size_t nests_;
  std::vector<Candidate> found_;  // the fastest first
  std::set<std::string> seen_;
  Tuned out_;
};

// None for an entry whose schedules do not fit the program, either.
std::optional<language::TunedEntry> find_kept(const std::string& file,
                                              const language::TunedFor& key) {
  if (file.empty()) return std::nullopt;
  std::optional<language::TunedEntry> entry = language::find_tuned(file, key);
  try {
    if (entry) language::add_schedules(key.program, entry->schedules);
    return entry;
  } catch (const lp::Error& e) {
    core::log(TN_LOG_INFO, core::join("schedules of ", file, ": an entry is ignored: ", e.what()));
    return std::nullopt;
  }
}

}  // namespace

Tuned Function::tune(const std::vector<Tensor>& inputs, const TuneOptions& options) const {
  TENON_CHECK(options.generations >= 0 && options.population > 0, ValueError,
              "tune: generations is ", options.generations, " and population ", options.population,
              ", expected 0 or more and 1 or more");
  const NoGradGuard no_grad;
  State& state = *state_;
  state.program(inputs, false);  // checks them
  const std::string text = emit(state.definition, state.bind(inputs), false).text;
  const Device device = inputs.empty() ? Device(kCPU) : inputs[0].device();
  language::TunedFor key{text, {}, device_name(device), versions(device), get_num_threads()};
  for (const Tensor& t : inputs) key.strides.emplace_back(t.strides().begin(), t.strides().end());
  if (const auto entry = find_kept(options.cache, key)) {
    state.set_schedules(inputs, entry->schedules);
    return {joined(entry->schedules), entry->best, entry->untuned, 0, false};
  }
  const Clock clock(inputs, device);
  Search search(text, options, clock);
  Tuned tuned = search.run();
  state.set_schedules(inputs, search.lines());
  if (!options.cache.empty())
    language::keep_tuned(options.cache, key, {search.lines(), tuned.best, tuned.untuned});
  return tuned;
}

Tuned Function::tune(const std::vector<std::vector<int64_t>>& sizes, Device device,
                     const TuneOptions& options) const {
  const std::vector<language::Parameter>& parameters = state_->definition.parameters;
  TENON_CHECK(sizes.size() == parameters.size(), ValueError, "tune: ", name(), " takes ",
              parameters.size(), " tensors, given the sizes of ", sizes.size());
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (const int64_t n : sizes[i])
      TENON_CHECK(n >= 0, ValueError, "tune: autotune needs exact sizes, a size of ",
                  parameters[i].name, " is ", n);
    const lp::Dtype dtype = parameters[i].dtype;
    const Tensor random = lp::is_floating(dtype) ? randn(sizes[i]) : zeros(sizes[i]);
    inputs.push_back(random.to(device, core::dtype_from_name(lp::dtype_name(dtype))));
  }
  return tune(inputs, options);
}

}  // namespace tenon::tc
