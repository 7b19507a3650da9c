// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Training on a device that has the thirteen primitives alone: nothing goes through the host, and the losses are those
// of the CPU.
#include <tenon/tenon.h>

#include <map>

#include "tenon/core/device.h"
#include "tenon/core/dispatch.h"
#include "tests/support.h"

namespace tenon {
namespace {

struct MlpImpl : nn::Module {
  MlpImpl() : first(register_module("first", nn::Linear(8, 16))), last(register_module("last", nn::Linear(16, 3))) {}
  Tensor forward(const Tensor& x) { return last(tenon::relu(first(x))); }
  nn::Linear first, last;
};
TENON_MODULE(Mlp);

struct SmallNetImpl : nn::Module {
  SmallNetImpl()
      : conv(register_module("conv", nn::Conv2d(nn::Conv2dOptions(2, 6, 3).padding(1)))),
        norm(register_module("norm", nn::BatchNorm2d(6))),
        wide(register_module("wide", nn::Conv2d(nn::Conv2dOptions(6, 8, 3).stride(2).groups(2)))),
        drop(register_module("drop", nn::Dropout(0.3))),
        layer(register_module("layer", nn::LayerNorm(nn::LayerNormOptions({8})))),
        fc(register_module("fc", nn::Linear(8, 3))) {}
  Tensor forward(Tensor x) {
    x = tenon::max_pool2d(tenon::relu(norm(conv(x))), 2);
    x = drop(tenon::gelu(wide(x)).flatten(1));
    return fc(layer(x));
  }
  nn::Conv2d conv;
  nn::BatchNorm2d norm;
  nn::Conv2d wide;
  nn::Dropout drop;
  nn::LayerNorm layer;
  nn::Linear fc;
};
TENON_MODULE(SmallNet);

template <class Net, class Optimizer, class Options>
std::vector<double> losses(Device device, const Options& options, IntArrayRef shape) {
  manual_seed(7);
  Net net;
  const Tensor x = randn(shape).to(device), y = randint(0, 3, {shape[0]}).to(device);
  net->to(device);
  manual_seed(9);  // the bits of dropout are those of the seed, wherever they are drawn
  Optimizer optimizer(net->parameters(), options);
  std::vector<double> out;
  for (int step = 0; step < 12; ++step) {
    optimizer.zero_grad();
    Tensor loss = nn::functional::cross_entropy(net(x), y);
    loss.backward();
    optimizer.step();
    out.push_back(loss.item<double>());
  }
  return out;
}

std::string staged() {
  std::string out;
  for (const core::FallbackCount& c : core::fallback_counts()) {
    if (c.rung == "staged") out += c.op + " (" + c.reason + ") ";
  }
  return out;
}

template <class Net, class Optimizer, class Options>
void expect_trains(const Options& options, IntArrayRef shape) {
  const std::vector<double> cpu = losses<Net, Optimizer>(Device("cpu"), options, shape);
  core::reset_fallback_counts();
  const std::vector<double> prim = losses<Net, Optimizer>(Device("prim"), options, shape);
  EXPECT_EQ(staged(), "");
  EXPECT_FALSE(core::fallback_counts().empty()) << "the device has kernels of its own for all of it?";
  for (std::size_t i = 0; i < cpu.size(); ++i) EXPECT_NEAR(prim[i], cpu[i], 2e-4) << "step " << i;
  EXPECT_LT(cpu.back(), 0.8 * cpu.front());
}

TEST(Primitives, TrainAnMlp) { expect_trains<Mlp, optim::SGD>(optim::SGDOptions(0.5).momentum(0.5), {24, 8}); }

TEST(Primitives, TrainAConvolutionalNet) {
  expect_trains<SmallNet, optim::Adam>(optim::AdamOptions(0.02), {16, 2, 6, 6});
}

TEST(Primitives, DrawTheBitsOfTheHost) {
  const auto draw = [](const char* device) {
    manual_seed(11);
    const TensorOptions o = TensorOptions().device(Device(device));
    std::vector<Tensor> all = {rand({33}, o),
                               rand({5}, o.dtype(kDouble)),
                               rand({7}, o.dtype(kHalf)),
                               randint(0, 1000, {31}, o),
                               randperm(50, o),
                               bernoulli(full({40}, 0.3, o)),
                               empty({9}, o.dtype(kLong)).random_(),
                               empty({9}, o.dtype(kLong)).random_(-5, int64_t{1} << 40)};
    for (Tensor& t : all) t = t.cpu();
    return all;
  };
  core::reset_fallback_counts();
  const std::vector<Tensor> host = draw("cpu"), prim = draw("prim");
  EXPECT_EQ(staged(), "");
  for (std::size_t i = 0; i < host.size(); ++i) EXPECT_TRUE(test::same_bits(host[i], prim[i])) << "draw " << i;
}

std::map<std::string, core::Rung> rungs(const char* op, const char* device) {
  std::map<std::string, core::Rung> out;
  const int slot = core::device_slot(Device(device).type());
  for (const core::Rung& r : core::explain(core::get_op(op), slot, kFloat)) out.emplace(r.rung, r);
  return out;
}

// exp decomposes into prim_unary on a device that has it, and prim_unary into exp on the host: never both on one.
TEST(Primitives, DecomposeOneWayOnADevice) {
  EXPECT_TRUE(rungs("exp", "prim").at("decomposition").serves);
  EXPECT_TRUE(rungs("_softmax", "prim").at("decomposition").serves);
  EXPECT_FALSE(rungs("prim_unary", "prim").at("decomposition").serves);
  EXPECT_FALSE(rungs("exp", "cpu").at("decomposition").serves);
  EXPECT_TRUE(rungs("prim_unary", "cpu").at("decomposition").serves);
}

TEST(Primitives, ADeviceWithoutThemIsServedByTheHost) {
  const auto of = rungs("_softmax", "ref");
  EXPECT_FALSE(of.at("decomposition").serves);
  test::expect_words(of.at("decomposition").reason, {"needs all primitives", "no kernel for"});
}

}  // namespace
}  // namespace tenon
