// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Hooks of modules.
#include <gtest/gtest.h>

#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon {
namespace {

using nn::HookTensors;
using nn::Module;

TEST(Hooks, RunInTheirOrderAroundACall) {
  nn::Linear fc(2, 2);
  std::vector<std::string> log;
  auto note = [&](const char* what) { return [&log, what](auto&&...) { log.emplace_back(what); }; };
  fc->register_forward_pre_hook(note("pre 1"));
  fc->register_forward_pre_hook(note("pre 2"));
  fc->register_forward_pre_hook(note("pre 0"), /*prepend=*/true);
  fc->register_forward_hook(note("post"));
  fc(ones({1, 2}));
  EXPECT_EQ(log, (std::vector<std::string>{"pre 0", "pre 1", "pre 2", "post"}));
  log.clear();
  fc->forward(ones({1, 2}));  // as in PyTorch, forward() is the layer alone
  EXPECT_TRUE(log.empty());
}

TEST(Hooks, ReplaceInputsAndOutputs) {
  nn::Linear fc(2, 3);
  const Tensor x = rand({4, 2}), given = x.clone();
  fc->register_forward_pre_hook([](Module&, HookTensors& inputs) { inputs[0] = inputs[0] * 2; });
  fc->register_forward_hook([&](Module& m, const HookTensors& inputs, HookTensors& outputs) {
    EXPECT_TRUE(m.as<nn::LinearImpl>());
    EXPECT_TRUE(inputs[0].equal(given * 2));
    outputs[0] = outputs[0] + 1;
  });
  EXPECT_TRUE(allclose(fc(x), fc->forward(x * 2) + 1));
  EXPECT_TRUE(x.equal(given));
}

TEST(Hooks, SeeTheTensorsOfTuples) {
  nn::LSTM lstm(2, 3);
  std::size_t in = 0, out = 0;
  lstm->register_forward_hook([&](Module&, const HookTensors& inputs, HookTensors& outputs) {
    in = inputs.size();
    out = outputs.size();
  });
  lstm(rand({5, 1, 2}));
  EXPECT_EQ(in, 1u);
  EXPECT_EQ(out, 3u);
  lstm(rand({5, 1, 2}), std::make_tuple(zeros({1, 1, 3}), zeros({1, 1, 3})));
  EXPECT_EQ(in, 3u);
}

TEST(Hooks, HandlesRemoveThem) {
  nn::RemovableHandle left;
  {
    nn::Linear fc(2, 2);
    int calls = 0;
    auto first = fc->register_forward_hook([&](auto&&...) { calls += 1; });
    left = fc->register_forward_pre_hook([&](auto&&...) { calls += 10; });
    fc(ones({1, 2}));
    EXPECT_EQ(calls, 11);
    first.remove();
    first.remove();
    fc(ones({1, 2}));
    EXPECT_EQ(calls, 21);
    left.remove();
    EXPECT_FALSE(fc->has_hooks());
    left = fc->register_forward_pre_hook([](auto&&...) {});
  }
  left.remove();  // the module is gone
  EXPECT_TEXT(nn::Linear(1, 1)->register_forward_hook(nullptr), "empty");
}

TEST(Hooks, SequentialAndAnyModuleCallThem) {
  nn::Linear fc(2, 2);
  int calls = 0;
  fc->register_forward_hook([&](Module&, const HookTensors&, HookTensors& outputs) {
    ++calls;
    outputs[0] = zeros_like(outputs[0]);
  });
  nn::Sequential net(fc, nn::Tanh());
  EXPECT_TRUE(net->forward(ones({1, 2})).equal(zeros({1, 2})));
  EXPECT_TRUE(nn::AnyModule(fc).forward(ones({1, 2})).equal(zeros({1, 2})));
  EXPECT_EQ(calls, 2);
}

TEST(Hooks, ACloneHasItsOwn) {
  nn::Linear fc(2, 2);
  int calls = 0;
  auto handle = fc->register_forward_hook([&](auto&&...) { ++calls; });
  nn::Linear copy(std::dynamic_pointer_cast<nn::LinearImpl>(fc->clone()));
  handle.remove();
  fc(ones({1, 2}));
  EXPECT_EQ(calls, 0);
  copy(ones({1, 2}));
  EXPECT_EQ(calls, 1);
}

TEST(Hooks, BackwardHooksSeeTheGradientsOfTheCall) {
  nn::Linear fc(3, 2);
  const Tensor x = rand({4, 3}, requires_grad()), upstream = rand({4, 2});
  std::vector<std::string> log;
  fc->register_full_backward_pre_hook([&](Module&, HookTensors& grad_output) {
    log.emplace_back("pre");
    EXPECT_TRUE(grad_output[0].equal(upstream));
    grad_output[0] = grad_output[0] * 2;
  });
  fc->register_full_backward_hook(
      [&](Module&, HookTensors& grad_input, const HookTensors& grad_output) {
        log.emplace_back("full");
        EXPECT_TRUE(grad_output[0].equal(upstream * 2));
        EXPECT_TRUE(allclose(grad_input[0], (upstream * 2).mm(fc->weight)));
        grad_input[0] = grad_input[0] * 10;
      });
  fc(x).backward(upstream);
  EXPECT_EQ(log, (std::vector<std::string>{"pre", "full"}));
  EXPECT_TRUE(allclose(x.grad(), upstream.mm(fc->weight.detach()) * 20));
  EXPECT_TRUE(allclose(fc->weight.grad(), (upstream * 2).t().mm(x.detach())));
}

TEST(Hooks, BackwardHooksOfInputsWithoutGradients) {
  nn::Linear fc(3, 2);
  std::size_t inputs = 7;
  int calls = 0;
  fc->register_full_backward_hook([&](Module&, HookTensors& grad_input, const HookTensors&) {
    ++calls;
    inputs = grad_input.size();
  });
  fc(rand({4, 3})).sum().backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(inputs, 0u);
  {
    NoGradGuard no_grad;
    fc(rand({4, 3}));
  }
  // Two calls of one module each have their gradients.
  const Tensor x = rand({1, 3}, requires_grad());
  (fc(x).sum() + fc(x * 2).sum()).backward();
  EXPECT_EQ(calls, 3);
}

TEST(Hooks, ErrorsNameTheModule) {
  nn::Linear fc(2, 2);
  fc->register_forward_pre_hook([](Module&, HookTensors& inputs) { inputs.clear(); });
  EXPECT_TEXT(fc(ones({1, 2})), "LinearImpl: the call has 1 inputs, and the hook left 0");
}

}  // namespace
}  // namespace tenon
