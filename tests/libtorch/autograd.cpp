// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What surrounds autograd, by libtorch's names and headers.
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/profiler_legacy.h>
#include <torch/torch.h>

namespace {

struct Heard : c10::WarningHandler {
  void process(const c10::Warning& w) override { texts.push_back(w.msg()); }
  std::vector<std::string> texts;
};

struct Listen {
  Heard heard;
  c10::WarningUtils::WarningHandlerGuard guard{&heard};
};

TEST(LibtorchAutograd, AnomaliesAreWarnedOf) {
  const Listen listen;
  torch::autograd::DetectAnomalyGuard detect;
  auto x = torch::tensor({0.}, torch::requires_grad());
  auto y = x.sqrt() * torch::zeros({1});
  EXPECT_THROW(y.backward(), c10::Error);
  ASSERT_EQ(listen.heard.texts.size(), 1u);
  EXPECT_NE(listen.heard.texts[0].find("Traceback of forward call"), std::string::npos);
}

TEST(LibtorchAutograd, NodesHaveHooks) {
  struct Count : torch::autograd::FunctionPreHook {
    explicit Count(int& n) : calls(n) {}
    torch::autograd::variable_list operator()(
        const torch::autograd::variable_list& grads) override {
      ++calls;
      return grads;
    }
    int& calls;
  };
  int calls = 0;
  auto x = torch::ones({2}, torch::requires_grad());
  auto y = x * 2;
  y.grad_fn()->add_pre_hook(std::make_unique<Count>(calls));
  y.sum().backward();
  EXPECT_EQ(calls, 1);
}

TEST(LibtorchAutograd, DualLevels) {
  const uint64_t level = torch::autograd::forward_ad::enter_dual_level();
  auto x = torch::full({2}, 3.);
  auto dual = at::_make_dual(x, torch::ones({2}), static_cast<int64_t>(level));
  auto [primal, tangent] = at::_unpack_dual(dual * dual, static_cast<int64_t>(level));
  EXPECT_TRUE(torch::equal(primal, torch::full({2}, 9.)));
  EXPECT_TRUE(torch::equal(tangent, torch::full({2}, 6.)));
  torch::autograd::forward_ad::exit_dual_level(level);
}

TEST(LibtorchAutograd, AutocastIsSwitchedByDeviceType) {
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::increment_nesting();
  auto y = torch::mm(torch::ones({2, 2}), torch::ones({2, 2}));
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
}

TEST(LibtorchAutograd, RangesAreProfiled) {
  std::ostringstream trace;
  {
    torch::autograd::profiler::RecordProfile guard(trace);
    auto x = torch::ones({2});
    RECORD_FUNCTION("of_the_program", std::vector<c10::IValue>({x}));
    x.exp();
  }
  EXPECT_NE(trace.str().find("of_the_program"), std::string::npos);
  EXPECT_NE(trace.str().find("exp"), std::string::npos);
}

// A range is two events: its begin has the name and the shapes.
TEST(LibtorchAutograd, RangesAreListsOfEvents) {
  using namespace torch::autograd::profiler;
  enableProfilerLegacy(ProfilerConfig(ProfilerState::CPU, /*report_input_shapes=*/true, false));
  torch::ones({2, 3}).exp();
  const thread_event_lists lists = disableProfilerLegacy();
  ASSERT_EQ(lists.size(), 1u);
  const auto begin = std::find_if(lists[0].begin(), lists[0].end(),
                                  [](const LegacyEvent& e) { return !strcmp(e.name(), "exp"); });
  ASSERT_TRUE(begin != lists[0].end() && begin + 1 != lists[0].end());
  EXPECT_STREQ(begin->kindStr(), "push");
  EXPECT_EQ(begin->shapes(), (std::vector<std::vector<int64_t>>{{2, 3}}));
  EXPECT_STREQ((begin + 1)->kindStr(), "pop");
  EXPECT_STREQ((begin + 1)->name(), "");
  EXPECT_GE(begin->cpuElapsedUs(*(begin + 1)), 0);
  EXPECT_THROW(disableProfilerLegacy(), c10::Error);
}

TEST(LibtorchAutograd, GuardsBelowAutogradRecordNothing) {
  auto x = torch::ones({2}, torch::requires_grad());
  {
    at::AutoDispatchBelowAutograd guard;
    EXPECT_FALSE((x * 2).requires_grad());
    x.mul_(3);  // a leaf may be written
  }
  EXPECT_TRUE((x * 2).requires_grad());
  const Listen listen;
  at::AutoNonVariableTypeMode old;
  EXPECT_FALSE((x * 2).requires_grad());
  ASSERT_EQ(listen.heard.texts.size(), 1u);
  EXPECT_NE(listen.heard.texts[0].find("AutoNonVariableTypeMode is deprecated"), std::string::npos);
}

TEST(LibtorchAutograd, VolatileWarnsOnce) {
  const Listen listen;
  for (int i = 0; i < 2; ++i) {
    auto x = torch::autograd::make_variable(torch::ones({2}), true, /*is_volatile=*/true);
    EXPECT_TRUE((x * 2).requires_grad());
  }
  ASSERT_EQ(listen.heard.texts.size(), 1u);
  EXPECT_NE(listen.heard.texts[0].find("volatile was removed"), std::string::npos);
  EXPECT_NE(listen.heard.texts[0].find("NoGradGuard"), std::string::npos);
}

TEST(LibtorchAutograd, TheEngineByItsEdges) {
  using torch::autograd::impl::gradient_edge;
  auto& engine = torch::autograd::Engine::get_default_engine();
  const auto x = torch::full({1}, 3., torch::requires_grad()), y = x * x, z = y * 2;
  const auto unused = torch::ones({1}, torch::requires_grad());
  const auto grads = engine.execute({gradient_edge(z)}, {torch::ones({1})}, /*keep_graph=*/true,
                                    /*create_graph=*/false, /*accumulate_grad=*/false,
                                    {gradient_edge(x), gradient_edge(y), gradient_edge(unused)});
  ASSERT_EQ(grads.size(), 3u);
  EXPECT_EQ(grads[0].item<float>(), 12);
  EXPECT_EQ(grads[1].item<float>(), 2);
  EXPECT_FALSE(grads[2].defined());
  EXPECT_FALSE(x.grad().defined());
  engine.execute({gradient_edge(z)}, {torch::ones({1})}, false, false, true);
  EXPECT_EQ(x.grad().item<float>(), 12);
  EXPECT_THROW(engine.execute({gradient_edge(x)}, {}, false, false, true), c10::ValueError);
  EXPECT_THROW(engine.execute({{}}, {torch::ones({1})}, false, false, true), c10::ValueError);
}

}  // namespace
