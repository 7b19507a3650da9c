// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recorded modules: named parameters, training, saving; what is frozen.
#include "tests/jit/trace_support.h"

namespace tenon::jit {
namespace {

using namespace trace_test;

struct NetImpl : nn::Module {
  NetImpl() {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(1, 4, 3).padding(1)));
    norm = register_module("norm", nn::BatchNorm2d(4));
    drop = register_module("drop", nn::Dropout(0.25));
    fc = register_module("fc", nn::Linear(4 * 16, 5));
    scale = register_parameter("scale", ones({5}));
  }
  Tensor forward(const Tensor& x) {
    const Tensor h = drop(relu(norm(conv(x))));
    return log_softmax(fc(h.flatten(1)) * scale, 1);
  }
  nn::Conv2d conv{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Dropout drop{nullptr};
  nn::Linear fc{nullptr};
  Tensor scale;
};
TENON_MODULE(Net);

std::shared_ptr<NetImpl> copy_of(const NetImpl& net) {
  auto made = std::make_shared<NetImpl>();
  made->load_state_dict(net.state_dict());
  return made;
}

TEST(JitTraceModule, HasTheModulesParametersByTheirNames) {
  Net net;
  net->eval();
  const Module traced = trace(net, {randn({2, 1, 4, 4})});
  const auto expected = net->named_parameters();
  const auto given = traced.named_parameters();
  ASSERT_EQ(given.size(), expected.size());
  for (const NamedTensor& p : given) EXPECT_TRUE(p.value.is_same(expected[p.name])) << p.name;
  EXPECT_EQ(traced.named_buffers().size(), net->named_buffers().size());
  const Tensor x = randn({3, 1, 4, 4});
  expect_equal(traced.forward({x}).toTensor(), net->forward(x));
}

// Dropout and batch normalization are in training mode: random numbers and statistics must agree.
TEST(JitTraceModule, TrainsAsTheModuleDoes) {
  Net eager;
  const Net other(copy_of(*eager));
  const Module traced = trace(other, {randn({8, 1, 4, 4})});
  std::vector<Tensor> parameters = traced.parameters();
  optim::SGD a(eager->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  optim::SGD b(parameters, optim::SGDOptions(0.1).momentum(0.9));
  manual_seed(1);
  const Tensor data = randn({20, 8, 1, 4, 4}), target = randint(5, {20, 8}, kLong);
  for (int step = 0; step < 20; ++step) {
    a.zero_grad();
    b.zero_grad();
    manual_seed(static_cast<uint64_t>(step));
    const Tensor loss = nll_loss(eager->forward(data[step]), target[step]);
    manual_seed(static_cast<uint64_t>(step));
    const Tensor of_trace = nll_loss(traced.forward({data[step]}).toTensor(), target[step]);
    ASSERT_EQ(loss.item<float>(), of_trace.item<float>()) << step;
    loss.backward();
    of_trace.backward();
    a.step();
    b.step();
  }
  const auto state = eager->state_dict(), after = other->state_dict();
  for (const auto& item : state) expect_equal(after[item.key()], item.value());
}

TEST(JitTraceModule, TracingChangesNoBuffer) {
  Net net;
  const Tensor before = net->norm->running_mean.clone();
  (void)trace(net, {randn({8, 1, 4, 4})});
  expect_equal(net->norm->running_mean, before);
  EXPECT_EQ(net->norm->num_batches_tracked.item<int64_t>(), 0);
}

TEST(JitTraceModule, IsFrozen) {
  Net net;
  Module traced = trace(net, {randn({2, 1, 4, 4})});
  const std::string why = "is frozen by tracing";
  expect_in(error_of([&] { traced.setattr("training", false); }), why);
  expect_in(error_of([&] { traced.setattr("scale", zeros({5})); }), why);
  expect_in(error_of([&] { traced.children()[0].setattr("weight", zeros({1})); }), why);
  expect_in(error_of([&] { traced.register_parameter("more", zeros({1})); }), why);
  expect_in(error_of([&] { traced.register_buffer("more", zeros({1})); }), why);
  expect_in(error_of([&] { traced.register_attribute("n", Type::integer(), 1); }), why);
  expect_in(error_of([&] { traced.register_module("sub", Module()); }), why);
  expect_in(error_of([&] { traced.define("def g(self, x): return x"); }), why);
  const Tensor x = randn({4, 1, 4, 4});
  traced.eval();  // loops of training do; the recorded mode stays
  EXPECT_FALSE(traced.forward({x}).toTensor().equal(traced.forward({x}).toTensor()));
}

TEST(JitTraceModule, IsSavedAndLoaded) {
  Net net;
  net->eval();
  const Module traced = trace(net, {randn({2, 1, 4, 4})});
  const Module again = saved_and_loaded(traced);
  const Tensor x = randn({3, 1, 4, 4});
  expect_equal(again.forward({x}).toTensor(), net->forward(x));
  EXPECT_EQ(again.named_parameters().size(), net->named_parameters().size());
  again.setattr("scale", zeros({5}));  // what was loaded is not frozen
}

TEST(JitTraceModule, SequentialAndOtherForwards) {
  nn::Sequential net(nn::Linear(3, 4), nn::ReLU(), nn::Linear(4, 2));
  const Module traced = trace(net, {randn({2, 3})});
  const Tensor x = randn({5, 3});
  expect_equal(traced.forward({x}).toTensor(), net->forward(x));
  expect_equal(traced.attr("0").toObjectRef().getAttr("weight").toTensor(),
               net->named_parameters()["0.weight"]);
  const Module half = trace_module(net.ptr(), [&](const Tensor& t) { return net->forward(t) / 2; },
                                   {randn({2, 3})});
  expect_equal(half.forward({x}).toTensor(), net->forward(x) / 2);
}

TEST(JitTraceModule, DataOfAParameterHidesNoGradient) {
  nn::Linear net(3, 3);
  const Module traced = trace_module(net.ptr(),
                                     [net](const Tensor& x) mutable {
                                       const Tensor penalty = net->weight.data().abs().sum();
                                       return net->forward(x) + penalty;
                                     },
                                     {randn({2, 3})});
  const Tensor x = randn({2, 3});
  traced.forward({x}).toTensor().sum().backward();
  const Tensor given = net->weight.grad().clone();
  net->zero_grad();
  net->forward(x).sum().backward();
  expect_equal(given, net->weight.grad());
}

TEST(JitTraceModule, LayersOfEveryKind) {
  const auto same = [](auto layer, const Tensor& example, const Tensor& x) {
    layer->eval();
    const Warnings quiet;
    const Module traced = trace(layer, {example});
    expect_equal(saved_and_loaded(traced).forward({x}).toTensor(), layer->forward(x));
  };
  same(nn::Conv1d(2, 3, 3), randn({1, 2, 9}), randn({2, 2, 11}));
  same(nn::ConvTranspose2d(nn::ConvTranspose2dOptions(2, 3, 3).stride(2)), randn({1, 2, 5, 5}),
       randn({2, 2, 4, 6}));
  same(nn::LayerNorm(nn::LayerNormOptions({4})), randn({3, 4}), randn({2, 4}));
  same(nn::GroupNorm(nn::GroupNormOptions(2, 4)), randn({3, 4, 2}), randn({2, 4, 2}));
  same(nn::MaxPool2d(2), randn({1, 2, 4, 4}), randn({2, 2, 6, 6}));
  same(nn::AdaptiveAvgPool2d(2), randn({1, 2, 4, 4}), randn({2, 2, 6, 6}));
  same(nn::Embedding(7, 3), randint(7, {4}, kLong), randint(7, {2, 5}, kLong));
  same(nn::PReLU(), randn({3}), randn({2, 3}));
  same(nn::GELU(), randn({3}), randn({2, 3}));
  same(nn::LocalResponseNorm(2), randn({2, 4, 3, 3}), randn({2, 4, 3, 3}));
  same(nn::Upsample(nn::UpsampleOptions().scale_factor(std::vector<double>{2, 2})),
       randn({1, 2, 3, 3}), randn({1, 2, 3, 3}));
}

TEST(JitTraceModule, RecurrentLayersGiveTuples) {
  nn::LSTM lstm(nn::LSTMOptions(3, 4).num_layers(2));
  const Warnings quiet;
  const Module traced = trace(lstm, {randn({5, 2, 3})});
  const Tensor x = randn({5, 2, 3});
  const auto [out, state] = lstm->forward(x);
  const IValue result = traced.forward({x});
  expect_equal(result.toTupleRef().items[0].toTensor(), out);
  expect_equal(result.toTupleRef().items[1].toTupleRef().items[1].toTensor(), std::get<1>(state));
}

struct PowerImpl : nn::Module {
  Tensor forward(const Tensor& x, double exponent, std::optional<IntArrayRef> sizes) {
    const Tensor y = x.pow(exponent);
    return sizes ? y.view(*sizes) : y;
  }

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({1, nn::AnyValue(2.0)},
                                 {2, nn::AnyValue(std::optional<IntArrayRef>())})
};

TEST(JitTraceModule, ArgumentsThatAreLeftOutHaveTheirDefaults) {
  auto power = std::make_shared<PowerImpl>();
  const Warnings quiet;
  const Tensor x = rand({6});
  expect_equal(trace(power, {x}).forward({x}).toTensor(), x * x);
  const Module cube = trace(power, {x, 3.0, std::vector<int64_t>{2, 3}});
  expect_equal(cube.forward({x, 3.0, std::vector<int64_t>{2, 3}}).toTensor(),
               (x * x * x).view({2, 3}));
  expect_in(error_of([&] { (void)trace(power, {}); }), "Power");
}

}  // namespace
}  // namespace tenon::jit
