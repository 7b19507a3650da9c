// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Steps of training on a device: the losses are those of the host, and no call is staged through
// it.
#include <tenon/tenon.h>

#include <cmath>

#include "device.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::check {
namespace {

struct MlpImpl : nn::Module {
  MlpImpl()
      : first(register_module("first", nn::Linear(8, 16))),
        last(register_module("last", nn::Linear(16, 3))) {}
  Tensor forward(const Tensor& x) { return last(tenon::relu(first(x))); }
  nn::Linear first, last;
};
TENON_MODULE(Mlp);

struct ConvNetImpl : nn::Module {
  ConvNetImpl()
      : conv(register_module("conv", nn::Conv2d(nn::Conv2dOptions(2, 6, 3).padding(1)))),
        norm(register_module("norm", nn::BatchNorm2d(6))),
        wide(register_module("wide", nn::Conv2d(nn::Conv2dOptions(6, 8, 3).stride(2).groups(2)))),
        drop(register_module("drop", nn::Dropout(0.3))),
        layer(register_module("layer", nn::LayerNorm(nn::LayerNormOptions({8})))),
        fc(register_module("fc", nn::Linear(8, 3))) {}
  Tensor forward(Tensor x) {
    x = tenon::max_pool2d(tenon::relu(norm(conv(x))), 2);
    return fc(layer(drop(tenon::gelu(wide(x)).flatten(1))));
  }
  nn::Conv2d conv;
  nn::BatchNorm2d norm;
  nn::Conv2d wide;
  nn::Dropout drop;
  nn::LayerNorm layer;
  nn::Linear fc;
};
TENON_MODULE(ConvNet);

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
    out.push_back(loss.template item<double>());
  }
  return out;
}

template <class Net, class Optimizer, class Options>
std::string train(DeviceId place, const Options& options, IntArrayRef shape) {
  const std::vector<double> host = losses<Net, Optimizer>(Device("cpu"), options, shape);
  core::reset_fallback_counts();
  const std::vector<double> ours = losses<Net, Optimizer>(core::device_of(place), options, shape);
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (!(std::fabs(ours[i] - host[i]) <= 5e-4)) {
      return core::join("loss ", ours[i], " in step ", i, ", ", host[i], " on the host");
    }
  }
  if (!(host.back() < 0.8 * host.front())) {
    return core::join("the host does not learn: ", host.front(), " to ", host.back());
  }
  std::string staged;
  for (const core::FallbackCount& c : core::fallback_counts()) {
    if (c.by == core::ServedBy::Staged)
      staged += core::join(staged.empty() ? "" : ", ", c.op, " ", c.calls);
  }
  return staged.empty() ? "" : "staged through the host: " + staged;
}

}  // namespace

std::string check_mlp(DeviceId place) {
  return train<Mlp, optim::SGD>(place, optim::SGDOptions(0.5).momentum(0.5), {24, 8});
}
std::string check_conv_net(DeviceId place) {
  return train<ConvNet, optim::Adam>(place, optim::AdamOptions(0.02), {16, 2, 6, 6});
}

}  // namespace tenon::check
