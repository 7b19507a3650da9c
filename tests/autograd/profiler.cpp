// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/profiler.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "runtime/base/json.h"
#include "tenon/autograd.h"
#include "tenon/autograd/operator_observer.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon {
namespace {

using autograd::profiler::Profile;
using autograd::profiler::Profiler;
using autograd::profiler::ProfilerEvent;
using autograd::profiler::ProfilerOptions;
using autograd::profiler::RecordProfile;
using test::expect_words;
using test::text_of;

void train_step(const Tensor& x, const Tensor& w) {
  TENON_RECORD_USER_SCOPE("step");
  mse_loss(linear(x, w), x).backward();
}

Profile profile_step(ProfilerOptions options = {}) {
  const Tensor x = randn({3, 4}), w = randn({4, 4}).requires_grad_();
  Profiler profiler(options);
  train_step(x, w);
  train_step(x, w);
  return profiler.stop();
}

const ProfilerEvent* find(const Profile& p, const std::string& name) {
  for (const ProfilerEvent& e : p.events) {
    if (e.name == name) return &e;
  }
  return nullptr;
}

// In nanoseconds, by the clock of profiles.
int64_t clock_now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TEST(Profiler, HasRangesOfOtherThreadsBesideItsOwn) {
  using autograd::profiler::AsynchronousRanges;
  EXPECT_FALSE(AsynchronousRanges());
  Profiler profiler(ProfilerOptions().record_shapes(true));
  const AsynchronousRanges ranges;
  ASSERT_TRUE(ranges);
  const int64_t begin = clock_now();
  std::thread([&] {
    EXPECT_FALSE(AsynchronousRanges());  // that thread takes none
    ranges.add("elsewhere", {{2, 3}}, begin, clock_now());
  }).join();
  { TENON_RECORD_USER_SCOPE("after"); }
  const Profile p = profiler.stop();
  ranges.add("late", {}, begin, clock_now());
  const ProfilerEvent *elsewhere = find(p, "elsewhere"), *after = find(p, "after");
  ASSERT_TRUE(elsewhere && after);
  EXPECT_EQ(p.events.size(), 2u);
  EXPECT_EQ(elsewhere, &p.events[0]);  // it began first, and came from outside
  EXPECT_EQ(p.clock_ns + elsewhere->begin_ns, begin);
  EXPECT_GT(elsewhere->total_ns(), 0);
  EXPECT_EQ(elsewhere->self_ns(), 0);
  EXPECT_EQ(elsewhere->shapes, (std::vector<std::vector<int64_t>>{{2, 3}}));
  EXPECT_TRUE(elsewhere->asynchronous && !after->asynchronous);
  std::ostringstream trace;
  p.export_chrome_trace(trace);
  EXPECT_NE(trace.str().find("\"asynchronous\""), std::string::npos);
  EXPECT_FALSE(AsynchronousRanges());
}

TEST(Profiler, CollectsOperatorsNodesAndRanges) {
  const Profile p = profile_step(ProfilerOptions().record_shapes(true));
  const ProfilerEvent *step = find(p, "step"), *op = find(p, "linear"),
                      *node = find(p, "MmBackward");
  ASSERT_TRUE(step && op && node);
  EXPECT_EQ(step->depth, 0);
  EXPECT_EQ(step->scope, RecordScope::USER_SCOPE);
  EXPECT_EQ(op->depth, 1);
  EXPECT_EQ(op->shapes, (std::vector<std::vector<int64_t>>{{3, 4}, {4, 4}}));
  EXPECT_EQ(node->scope, RecordScope::BACKWARD_FUNCTION);
  EXPECT_EQ(op->thread, RecordFunction::currentThreadId());
}

TEST(Profiler, TimesNest) {
  const Profile p = profile_step();
  std::vector<const ProfilerEvent*> open;
  for (const ProfilerEvent& e : p.events) {
    open.resize(static_cast<std::size_t>(e.depth));
    if (!open.empty()) {
      EXPECT_GE(e.begin_ns, open.back()->begin_ns);
      EXPECT_LE(e.end_ns, open.back()->end_ns);
    }
    EXPECT_GE(e.total_ns(), 0);
    EXPECT_GE(e.self_ns(), 0) << e.name;  // the sum of what is inside is not more
    open.push_back(&e);
  }
}

TEST(Profiler, AveragesSumUp) {
  const Profile p = profile_step();
  int64_t self = 0, calls = 0, outermost = 0;
  for (const auto& a : p.key_averages()) {
    self += a.self_ns;
    calls += a.calls;
  }
  for (const ProfilerEvent& e : p.events) outermost += e.depth == 0 ? e.total_ns() : 0;
  EXPECT_EQ(self, outermost);
  EXPECT_EQ(calls, static_cast<int64_t>(p.events.size()));
}

TEST(Profiler, TheTableLinesUp) {
  std::istringstream lines(profile_step().table(5));
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(line);
  ASSERT_EQ(rows.size(), 6u);
  expect_words(rows[0], {"name", "self ms", "calls"});
  for (const std::string& row : rows) EXPECT_EQ(row.size(), rows[0].size());
}

TEST(Profiler, WritesATraceThatParses) {
  const Profile p = profile_step(ProfilerOptions().record_shapes(true));
  std::ostringstream text;
  p.export_chrome_trace(text);
  const core::Json trace = core::Json::parse(text.str(), 10);
  const core::Json* events = trace.find("traceEvents");
  ASSERT_TRUE(events);
  const auto* list = events->as<core::Json::Array>();
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), p.events.size());
  EXPECT_EQ(*(*list)[0].find("name")->as<std::string>(), "step");
  EXPECT_EQ(*(*list)[0].find("ph")->as<std::string>(), "X");
}

TEST(Profiler, OneRunsInAThread) {
  Profiler first;
  expect_words(text_of([] { Profiler second; }), {"already running"});
  std::thread([] { EXPECT_EQ(text_of([] { Profiler other; }), ""); }).join();
  first.stop();
  expect_words(text_of([&] { first.stop(); }), {"stopped already"});
  Profiler again;
  EXPECT_EQ(autograd::operator_observer() != nullptr, true);
  again.stop();
  EXPECT_EQ(autograd::operator_observer(), nullptr);
}

TEST(Profiler, EndsWithWhatFails) {
  Profiler profiler;
  EXPECT_THROW(ones({2, 3}).mm(ones({2, 3})), Error);
  ones({2}).exp();
  const Profile p = profiler.stop();
  ASSERT_TRUE(find(p, "exp"));
  EXPECT_EQ(find(p, "exp")->depth, 0);
}

TEST(Profiler, BottleneckSumsUp) {
  const Tensor x = randn({3, 4}), w = randn({4, 4}).requires_grad_();
  int calls = 0;
  const std::string text = autograd::profiler::bottleneck(
      [&] {
        ++calls;
        train_step(x, w);
      },
      autograd::profiler::BottleneckOptions().runs(2).rows(3));
  EXPECT_EQ(calls, 5);
  expect_words(text,
               {"2 runs of", "threads", "operators", "backward pass", "by time of the host:"});
  std::istringstream lines(text.substr(text.find("by time of the host:")));
  int rows = 0;
  for (std::string line; std::getline(lines, line);) ++rows;
  EXPECT_EQ(rows, 5) << text;
  expect_words(text_of<ValueError>([&] {
                 autograd::profiler::bottleneck([] {},
                                                autograd::profiler::BottleneckOptions().runs(0));
               }),
               {"bottleneck: runs must be positive, got 0"});
  EXPECT_EQ(text_of([] { autograd::profiler::bottleneck([] { throw Error("own"); }); }), "own");
  EXPECT_EQ(autograd::operator_observer(), nullptr);
}

TEST(Profiler, BottleneckNamesWhatHasNoKernel) {
  const Tensor x = ones({3}).to(Device("ref"));
  const std::string text = autograd::profiler::bottleneck([&] { special_entr(x); });
  expect_words(text, {"without a kernel of their own:", "special_entr", "staged"});
}

TEST(Profiler, RefusesTimesThatTheHostDoesNotHave) {
  expect_words(text_of<ValueError>([] { Profiler p(ProfilerOptions().device(Device(kCPU))); }),
               {"CPU has no events"});
  EXPECT_EQ(text_of([] { Profiler p; }), "");  // none was started
}

TEST(RecordProfile, WritesItsScope) {
  std::ostringstream text;
  {
    const RecordProfile guard(text);
    ones({2}).exp();
  }
  expect_words(text.str(), {"traceEvents", "\"exp\""});
  expect_words(text_of([] { RecordProfile guard("/nowhere/trace.json"); }), {"/nowhere"});
}

TEST(RecordFunction, CallbacksHearOfTheirScopes) {
  std::vector<std::string> heard;
  const auto handle =
      addThreadLocalCallback(RecordFunctionCallback(
                                 [&](const RecordFunction& f) {
                                   heard.push_back(std::string("+") + f.name());
                                   ones({2}).exp();  // a callback's own calls are not reported
                                   return nullptr;
                                 },
                                 [&](const RecordFunction& f, ObserverContext*) {
                                   heard.push_back(std::string("-") + f.name());
                                 })
                                 .scopes({RecordScope::USER_SCOPE}));
  {
    TENON_RECORD_USER_SCOPE("outer");
    ones({2}).exp();
    const DisableRecordFunctionGuard quiet;
    TENON_RECORD_FUNCTION("inner", std::vector<IValue>());
  }
  EXPECT_TRUE(hasThreadLocalCallbacks());
  removeCallback(handle);
  EXPECT_FALSE(hasThreadLocalCallbacks());
  TENON_RECORD_USER_SCOPE("after");
  EXPECT_EQ(heard, (std::vector<std::string>{"+outer", "-outer"}));
}

TEST(RecordFunction, CallbacksGoUnderAnotherObserver) {
  struct Counts : autograd::OperatorObserver {
    Counts() : before(autograd::set_operator_observer(this)) {}
    ~Counts() override { autograd::set_operator_observer(before); }
    void begin_call(const autograd::OperatorCall& call) override {
      ++calls;
      if (before) before->begin_call(call);
    }
    void end_call(const autograd::OperatorCall& call,
                  const core::OwnedValue* results) noexcept override {
      if (before) before->end_call(call, results);
    }
    autograd::OperatorObserver* before;
    int calls = 0;
  };
  int heard = 0;
  const auto listen = [&](const RecordFunction&) {
    ++heard;
    return std::unique_ptr<ObserverContext>();
  };
  const auto handle = addThreadLocalCallback(RecordFunctionCallback(listen));
  {
    Counts counts;
    removeCallback(handle);
    ones({2}).neg();
    EXPECT_GT(counts.calls, 0);
    EXPECT_EQ(heard, 0);
  }
  const auto again = addThreadLocalCallback(RecordFunctionCallback(listen));
  ones({2}).neg();
  EXPECT_GT(heard, 0);
  removeCallback(again);
  EXPECT_EQ(autograd::operator_observer(), nullptr);
}

TEST(RecordFunction, CallbacksSeeArguments) {
  std::vector<IValue> seen;
  const auto handle = addThreadLocalCallback(RecordFunctionCallback([&](const RecordFunction& f) {
                                               seen = f.inputs().vec();
                                               return nullptr;
                                             }).needsInputs(true));
  const Tensor x = ones({2, 3});
  x.sum(IntArrayRef({1}), true);
  removeCallback(handle);
  ASSERT_GE(seen.size(), 3u);
  EXPECT_TRUE(seen[0].toTensor().is_same(x));
  EXPECT_EQ(seen[1].toIntVector(), std::vector<int64_t>{1});
  EXPECT_TRUE(seen[2].toBool());
}

// Adds up what is heard, from any thread.
struct Heard {
  std::mutex mutex;
  std::map<std::string, int> calls;
  std::set<uint64_t> threads;

  RecordFunctionCallback callback() {
    return RecordFunctionCallback([this](const RecordFunction& f) {
      const std::lock_guard lock(mutex);
      ++calls[f.name()];
      threads.insert(f.threadId());
      return nullptr;
    });
  }
};

TEST(RecordFunction, GlobalCallbacksHearOfRunningThreads) {
  std::promise<void> began, added, removed, heard_one;
  int64_t outcome = 0;
  std::thread worker([&] {
    const Tensor x = ones({2});
    outcome += x.sqrt().numel();  // the thread has called operators before
    began.set_value();
    added.get_future().wait();
    TENON_RECORD_USER_SCOPE("worker");
    outcome += x.abs().numel() + x.expand({3, 2}).numel() + linear(x, ones({3, 2})).numel();
    heard_one.set_value();
    removed.get_future().wait();
    outcome += x.exp().numel();
  });
  began.get_future().wait();
  Heard heard;
  EXPECT_FALSE(hasGlobalCallbacks());
  const auto handle = addGlobalCallback(heard.callback());
  EXPECT_TRUE(hasGlobalCallbacks() && hasCallbacks() && !hasThreadLocalCallbacks());
  ones({2}).neg();
  added.set_value();
  heard_one.get_future().wait();
  std::thread([&] { removeCallback(handle); }).join();  // in whichever thread
  removed.set_value();
  worker.join();
  ones({2}).exp();
  EXPECT_FALSE(hasCallbacks());
  EXPECT_EQ(outcome, 2 + 2 + 6 + 3 + 2);
  EXPECT_EQ(heard.threads.size(), 2u);
  for (const char* name : {"worker", "neg", "abs", "expand", "linear"})
    EXPECT_EQ(heard.calls[name], 1) << name;
  for (const char* name : {"sqrt", "exp"}) EXPECT_EQ(heard.calls.count(name), 0u) << name;
  EXPECT_EQ(autograd::operator_observer(), nullptr);
}

TEST(RecordFunction, GlobalCallbacksHearOfBackwardAndOfGuards) {
  Heard heard;
  const auto handle = addGlobalCallback(heard.callback().scopes({RecordScope::BACKWARD_FUNCTION}));
  const Tensor w = randn({4, 4}).requires_grad_();
  train_step(randn({3, 4}), w);
  EXPECT_EQ(heard.calls["MmBackward"], 1);
  EXPECT_EQ(heard.calls.count("mm"), 0u);
  {
    const DisableRecordFunctionGuard quiet;
    train_step(randn({3, 4}), w);
  }
  disableCallback(handle);
  train_step(randn({3, 4}), w);
  EXPECT_EQ(heard.calls["MmBackward"], 1);
  reenableCallback(handle);
  train_step(randn({3, 4}), w);
  EXPECT_EQ(heard.calls["MmBackward"], 2);
  clearCallbacks();
  EXPECT_FALSE(hasCallbacks());
}

TEST(RecordFunction, CallbacksOfThreadAndOfAllHearOnceEach) {
  Heard of_thread, of_all;
  const auto all = addGlobalCallback(of_all.callback());
  const auto own = addThreadLocalCallback(of_thread.callback());
  {
    TENON_RECORD_USER_SCOPE("range");
    ones({2}).neg();
  }
  removeCallback(own);
  ones({2}).neg();
  removeCallback(all);
  EXPECT_EQ(of_thread.calls["neg"], 1);
  EXPECT_EQ(of_thread.calls["range"], 1);
  EXPECT_EQ(of_all.calls["neg"], 2);
  EXPECT_EQ(of_all.calls["range"], 1);
}

// The start callback of the last range takes itself away, in the middle of a composite's call.
TEST(RecordFunction, ACallbackMayRemoveItself) {
  for (const bool global : {false, true}) {
    CallbackHandle handle = INVALID_CALLBACK_HANDLE;
    int starts = 0, ends = 0;
    const RecordFunctionCallback callback(
        [&](const RecordFunction&) {
          ++starts;
          removeCallback(handle);
          return nullptr;
        },
        [&](const RecordFunction&, ObserverContext*) { ++ends; });
    const Tensor x = ones({2, 3}), w = ones({4, 3});
    handle = global ? addGlobalCallback(callback) : addThreadLocalCallback(callback);
    linear(x, w);
    linear(x, w);
    EXPECT_EQ(starts, 1) << global;
    EXPECT_EQ(ends, 1) << global;
    EXPECT_FALSE(hasCallbacks());
    EXPECT_EQ(autograd::operator_observer(), nullptr);
  }
}

TEST(RecordFunction, CallbacksSeeResultsAndHandles) {
  std::map<std::string, std::vector<IValue>> seen;
  std::set<RecordFunctionHandle> handles;
  const auto handle =
      addGlobalCallback(RecordFunctionCallback(nullptr,
                                               [&](const RecordFunction& f, ObserverContext*) {
                                                 seen[f.name()] = f.outputs();
                                                 handles.insert(f.handle());
                                               })
                            .needsOutputs(true)
                            .needsIds(true));
  Tensor x = ones({2, 3});
  const auto [values, indices] = x.max(1);
  x.add_(1);
  const double sum = x.sum().item<double>();
  EXPECT_THROW(x.mm(x), Error);
  removeCallback(handle);
  EXPECT_EQ(sum, 12);
  ASSERT_EQ(seen["max.dim"].size(), 2u);
  EXPECT_TRUE(seen["max.dim"][0].toTensor().is_same(values));
  EXPECT_TRUE(seen["max.dim"][1].toTensor().is_same(indices));
  ASSERT_EQ(seen["add.Scalar"].size(), 1u);
  EXPECT_TRUE(seen["add.Scalar"][0].toTensor().is_same(x));
  ASSERT_TRUE(seen.count("mm"));
  EXPECT_TRUE(seen["mm"].empty());
  EXPECT_GE(handles.size(), 4u);
  EXPECT_EQ(handles.count(0), 0u);
}

TEST(RecordFunction, CallbacksAreSampled) {
  Heard never, some;
  const auto one = addGlobalCallback(never.callback().samplingProb(0)),
             other = addGlobalCallback(some.callback().samplingProb(0.25));
  const Tensor x = ones({2});
  for (int i = 0; i < 4000; ++i) x.neg();
  removeCallback(one);
  removeCallback(other);
  EXPECT_TRUE(never.calls.empty());
  EXPECT_NEAR(some.calls["neg"], 1000, 5 * std::sqrt(4000 * 0.25 * 0.75));
  expect_words(text_of<ValueError>([&] { never.callback().samplingProb(1.5); }),
               {"samplingProb", "1.5", "0 to 1"});
}

}  // namespace
}  // namespace tenon
