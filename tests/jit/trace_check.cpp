// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What tracing warns of, what its check finds, and its switch.
#include <cstdlib>

#include "tests/jit/trace_support.h"

namespace tenon::jit {
namespace {

using namespace trace_test;

int warnings_with(const std::string& part) {
  int n = 0;
  for (const std::string& w : Warnings::texts()) n += w.find(part) != std::string::npos;
  return n;
}

TEST(JitTraceCheck, WarnsOfNumbers) {
  const Warnings warnings;
  (void)trace([](const Tensor& x) { return x * x.sum().item<double>(); }, {full({2}, 1.5)});
  ASSERT_EQ(Warnings::texts().size(), 1U);
  expect_in(Warnings::texts()[0], "the value 3 becomes a constant in the trace at aten::item(%2)");
}

// A number of a tensor from outside changes when the program writes that tensor; one that follows
// from numbers alone is the same in every run.
TEST(JitTraceCheck, WarnsOfNumbersOfTensorsFromOutside) {
  const Warnings warnings;
  const Tensor outside = full({2}, 1.5);
  (void)trace([](const Tensor& x) { return x * full({3}, 0.5).sum().item<double>(); }, {ones({2})});
  EXPECT_EQ(Warnings::texts().size(), 0U);
  (void)trace([&](const Tensor& x) { return x * outside.sum().item<double>(); }, {ones({2})});
  EXPECT_EQ(warnings_with("the value 3 becomes a constant"), 1);
}

TEST(JitTraceCheck, WarnsOncePerPlace) {
  const Warnings warnings;
  (void)trace(
      [](const Tensor& x) {
        const Tensor s = x.sum();
        Tensor y = x;
        for (int i = 0; i < 3; ++i) y = y + s.item<double>();
        if (s.is_nonzero()) y = y + 1;
        return x.equal(y) ? x : y;
      },
      {full({2}, 1.5)});
  EXPECT_EQ(warnings_with("aten::item"), 1);
  EXPECT_EQ(warnings_with("aten::equal"), 1);
  EXPECT_EQ(Warnings::texts().size(), 2U);
}

TEST(JitTraceCheck, WarnsOfMemoryAndSizes) {
  {
    const Warnings warnings;
    (void)trace([](const Tensor& x) { return x * (x + 1).data_ptr<float>()[0]; }, {ones({2})});
    EXPECT_EQ(warnings_with("data_ptr of %"), 1);
  }
  const Warnings warnings;
  (void)trace(
      [](const Tensor& x) {
        return x.view({x.size(0) * 2, -1}) + zeros({x.size(1)});
      },
      {ones({3, 1, 4})});
  EXPECT_EQ(warnings_with("the value"), 0);
  (void)trace([](const Tensor& x) { return x.view({x.size(0), -1}); }, {ones({3, 2, 4})});
  EXPECT_EQ(warnings_with("the value 3 becomes a constant in the trace at aten::view"), 1);
  (void)trace([](const Tensor& x) { return x + arange(x.size(0)); }, {ones({5})});
  EXPECT_EQ(warnings_with("the value 5 becomes a constant in the trace at aten::arange"), 1);
}

TEST(JitTraceCheck, NoWarningWhereNothingIsBakedIn) {
  const Warnings warnings;
  const Tensor outside = tensor({2.0F});
  (void)trace([&](const Tensor& x) { return x.to(kDouble) * outside.item<double>(); }, {ones({2})});
  EXPECT_TRUE(Warnings::texts().empty());
}

struct Twice : autograd::Function<Twice> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 2; }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list g) {
    return {g[0] * 2};
  }
};

TEST(JitTraceCheck, WarnsOfGradientsOfTheHost) {
  const Warnings warnings;
  const auto traced = trace([](const Tensor& x) { return Twice::apply(x); }, {ones({2})});
  EXPECT_EQ(warnings_with("the backward of the autograd::Function that gives %"), 1);
  expect_equal(traced(ones({3})), full({3}, 2.0));
}

TEST(JitTraceCheck, FindsOtherGraphs) {
  const auto f = [](const Tensor& x) {
    Tensor y = x[0];
    for (int64_t i = 1; i < x.size(0); ++i) y = y * x[i];
    return y;
  };
  TraceOptions options;
  options.check_inputs = {{randn({2, 3})}, {randn({4, 3})}};
  const std::string error = error_of([&] { (void)trace(f, {randn({2, 3})}, options); });
  expect_in(error, "traces differ between inputs");
  expect_in(error, "\n+   %");
  expect_in(error, "aten::mul");
  options.check_inputs.pop_back();
  (void)trace(f, {randn({2, 3})}, options);
}

TEST(JitTraceCheck, FindsOtherBranches) {
  const Warnings quiet;
  const auto f = [](const Tensor& x) { return x.sum().item<float>() > 0 ? x.exp() : x.neg(); };
  TraceOptions options;
  options.check_inputs = {{full({2}, -1.0)}};
  const std::string error = error_of([&] { (void)trace(f, {ones({2})}, options); });
  expect_in(error, "- ");
  expect_in(error, "aten::exp");
  expect_in(error, "aten::neg");
}

TEST(JitTraceCheck, FindsOtherValues) {
  const auto f = [](const Tensor& x) {
    Tensor y = zeros({2});
    y.data_ptr<float>()[0] = x.const_data_ptr<float>()[0];  // the host writes: not recorded
    return y + x;
  };
  const Warnings quiet;
  expect_in(error_of([&] { (void)trace(f, {full({2}, 3.0)}); }),
            "the recorded program does not do what the function does: the result is off by 3");
  TraceOptions options;
  options.check_trace = false;
  expect_equal(trace(f, {full({2}, 3.0)}, options)(ones({2})), ones({2}));
}

TEST(JitTraceCheck, FindsFunctionsWithAState) {
  int calls = 0;
  const auto f = [&](const Tensor& x) { return x + ++calls; };
  expect_in(error_of([&] { (void)trace(f, {ones({2})}); }), "traces differ");
}

TEST(JitTraceCheck, ErrorsOfTheFunctionGoThrough) {
  const auto f = [](const Tensor& x) { return mm(x, x); };
  EXPECT_THROW((void)trace(f, {ones({2, 3})}), ValueError);
  EXPECT_FALSE(is_tracing());
  const auto nested = [](const Tensor& x) {
    return trace([](const Tensor& y) { return y + 1; }, {x})(x);
  };
  expect_in(error_of([&] { (void)trace(nested, {ones({2})}); }), "inside of a function");
}

struct Off {
  Off() { set_tracing_enabled(false); }
  ~Off() { set_tracing_enabled(true); }
};

// The tests run without TENON_JIT, and some once more with TENON_JIT=0 (CMakeLists.txt).
TEST(JitTraceSwitch, IsReadFromTheEnvironment) {
  const char* given = std::getenv("TENON_JIT");
  EXPECT_EQ(tracing_enabled(), given == nullptr || std::string(given) != "0");
}

TEST(JitTraceSwitch, GivesTheFunctionItself) {
  int calls = 0;
  const auto f = [&](const Tensor& x) {
    ++calls;
    return std::make_tuple(x.sum().item<float>() > 0 ? x * 2 : x - 1, x);
  };
  const Warnings quiet;
  const auto recorded = trace(f, {ones({2})});
  const Off off;
  const auto eager = trace(f, {ones({2})});
  calls = 0;
  expect_equal(std::get<0>(eager(ones({2}))), std::get<0>(recorded(ones({2}))));
  EXPECT_EQ(calls, 1);
  expect_equal(std::get<0>(eager(-ones({2}))), full({2}, -2.0));
}

TEST(JitTraceSwitch, GivesTheModuleItself) {
  nn::Linear net(3, 2);
  const Module recorded = trace(net, {randn({2, 3})});
  const Off off;
  Module eager = trace(net, {randn({2, 3})});
  const Tensor x = randn({4, 3});
  expect_equal(eager.forward({x}).toTensor(), recorded.forward({x}).toTensor());
  EXPECT_EQ(eager.named_parameters().size(), 2U);
  expect_in(error_of([&] { eager.setattr("training", false); }), "frozen by tracing");
  expect_in(error_of([&] { (void)saved_and_loaded(eager); }),
            "host function forward cannot be exported");
}

}  // namespace
}  // namespace tenon::jit
