// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
//   step DEVICE [--native]
// Trains a small network for a few steps on the CPU and on DEVICE and compares loss and weights.
// With --native no call may have been staged through the host; without, the counts are printed.
#include <tenon/core/dispatch.h>
#include <tenon/tenon.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>

using namespace tenon;

namespace {

struct Net : nn::Module {
  Net()
      : fc1(register_module("fc1", nn::Linear(8, 16))),
        fc2(register_module("fc2", nn::Linear(16, 3))) {}
  Tensor forward(const Tensor& x) { return fc2->forward(tanh(fc1->forward(x))); }
  nn::Linear fc1, fc2;
};

// Losses of the steps, then every weight.
Tensor train(const Device& device, int steps) {
  manual_seed(1);
  Net net;
  Tensor x = randn({32, 8}).to(device), y = randint(3, {32}, kLong).to(device);
  net.to(device);
  optim::SGD sgd(net.parameters(), optim::SGDOptions(0.1).momentum(0.9));
  std::vector<Tensor> out;
  for (int i = 0; i < steps; ++i) {
    sgd.zero_grad();
    Tensor loss = nn::functional::cross_entropy(net.forward(x), y);
    loss.backward();
    sgd.step();
    out.push_back(loss.detach().reshape({1}).cpu());
  }
  for (const Tensor& p : net.parameters()) out.push_back(p.detach().flatten().cpu());
  return cat(out);
}

int compare(const char* name, bool native) {
  const int steps = 5;
  Tensor expected = train(kCPU, steps);
  core::reset_fallback_counts();
  Tensor got = train(Device(name), steps);
  double worst = (got - expected).abs().max().item<double>();
  double first = got[0].item<double>(), last = got[steps - 1].item<double>();
  unsigned long long staged = 0, decomposed = 0;
  for (const core::FallbackCount& c : core::fallback_counts()) {
    (c.by == tenon::core::ServedBy::Staged ? staged : decomposed) += c.calls;
    if (native && c.by == tenon::core::ServedBy::Staged)
      std::printf("staged: %s (%s)\n", c.op.c_str(), c.reason.c_str());
  }
  std::printf(
      "%s: loss from %.4f to %.4f, largest difference from the CPU %.2g, %llu calls staged, %llu "
      "decomposed\n",
      name, first, last, worst, staged, decomposed);
  return worst < 1e-5 && last < first && (staged == 0) == native ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return argc < 2 ? 2 : compare(argv[1], argc > 2 && std::strcmp(argv[2], "--native") == 0);
  } catch (const std::exception& e) {
    std::printf("step: %s\n", e.what());
    return 1;
  }
}
