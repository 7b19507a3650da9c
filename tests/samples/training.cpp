// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Samples 18 to 21: one program for every device, names of modules, and a loop of 0.3 beside that
// of 0.4.
#include <utility>

#include "tenon/compat/pytorch03.h"
#include "tests/samples/support.h"

namespace tenon::samples {
namespace {

using Batches = std::vector<std::pair<Tensor, Tensor>>;

struct NetImpl : nn::Module {
  NetImpl()
      : cell(register_module("cell", nn::RNNCell(nn::RNNCellOptions(4, 6)))),
        out(register_module("out", nn::Linear(6, 3))) {}
  Tensor forward(const Tensor& x, const Tensor& hidden) {
    return out(cell(x, hidden)).log_softmax(1);
  }
  nn::RNNCell cell;
  nn::Linear out;
};
TENON_MODULE(Net);

Batches batches(uint64_t seed) {
  manual_seed(seed);
  Batches out;
  for (int i = 0; i < 4; ++i) out.emplace_back(randn({5, 4}), randint(3, {5}, kLong));
  return out;
}

// The loop of 0.4: the loss of each step, then that of an evaluation.
std::vector<double> train(const Device& device) {
  manual_seed(1);
  Net net;
  net->to(device);
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1));
  std::vector<double> losses;
  for (const auto& [i, t] : batches(2)) {
    const Tensor input = i.to(device), target = t.to(device), hidden = input.new_zeros({5, 6});
    EXPECT_EQ(hidden.device(), device);
    const Tensor loss = nll_loss(net(input, hidden), target);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  NoGradGuard no_grad;
  double total = 0;
  for (const auto& [i, t] : batches(3)) {
    const Tensor input = i.to(device), target = t.to(device);
    const Tensor loss = nll_loss(net(input, input.new_zeros({5, 6})), target);
    EXPECT_FALSE(loss.requires_grad());
    total += loss.item<double>();
  }
  losses.push_back(total);
  return losses;
}

TEST(Samples, S18_OneDeviceChosenOnce) {
  const Device device = gpu_or_host();
  const Tensor data = ones({2}).to(device);
  EXPECT_EQ(data.to(device).data_ptr(), data.data_ptr());
  nn::Linear model(2, 2);
  model->to(device);
  EXPECT_EQ(model->weight.device(), device);
  const void* before = model->weight.data_ptr();
  model->to(device);
  EXPECT_EQ(model->weight.data_ptr(), before);
  EXPECT_EQ(model(data).device(), device);
}

TEST(Samples, S19_NamesOfModules) {
  struct Named : nn::Module {
    using nn::Module::register_buffer;
    using nn::Module::register_module;
    using nn::Module::register_parameter;
  };
  const auto refused = [](const std::string& name, const char* words) {
    const auto named = std::make_shared<Named>();
    expect_words(text_of<ValueError>([&] { named->register_module(name, nn::Linear(1, 1)); }),
                 {words});
    expect_words(text_of<ValueError>([&] { named->register_parameter(name, ones({1})); }), {words});
    expect_words(text_of<ValueError>([&] { named->register_buffer(name, ones({1})); }), {words});
    EXPECT_TRUE(named->named_parameters().is_empty() && named->named_buffers().is_empty());
  };
  refused("a.b", "name may not contain '.'");
  refused("", "name may not be empty");
}

// One note per idiom and process, and loss.data[0] is an error that says item().
TEST(Samples, S20_TheLoopOf03) {
  using compat::v03::Variable;
  const Heard heard;
  manual_seed(1);
  Net net;
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1));
  const bool use_cuda = !gpu_or_host().is_cpu();
  for (const auto& [i, t] : batches(2)) {
    Variable input(i), target(t), hidden(zeros({5, 6}));
    const Variable loss = nll_loss(net(input, hidden), target);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    expect_words(text_of<IndexError>([&] { loss.data()[0]; }),
                 {"cannot index a 0-dim tensor", "item()"});
  }
  for (const auto& [i, t] : batches(3)) {
    Variable input(i, false, /*is_volatile=*/true);
    const Tensor output = net(input, zeros({5, 6}));
    EXPECT_TRUE(output.requires_grad());  // it has no effect
    if (use_cuda) {
      EXPECT_TRUE(input.cuda().is_cuda());
    } else {
      EXPECT_THROW(input.cuda(), BackendError);
    }
  }
  ASSERT_EQ(Heard::messages().size(), 4u);
  expect_words(Heard::messages()[0], {"Variable"});
  expect_words(Heard::messages()[1], {"data", "detach()"});
  expect_words(Heard::messages()[2], {"volatile", "removed", "NoGradGuard"});
  expect_words(Heard::messages()[3], {"cuda", "to(device)"});
}

TEST(Samples, S21_TheLoopOf04OnADevice) {
  const auto here = train(Device(kCPU)), there = train(gpu_or_host());
  ASSERT_EQ(here.size(), 5u);
  for (std::size_t i = 0; i < here.size(); ++i) EXPECT_NEAR(here[i], there[i], 1e-5);
}

}  // namespace
}  // namespace tenon::samples
