// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/profiler.h"

#include <gtest/gtest.h>

#include <fstream>
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

}  // namespace
}  // namespace tenon
