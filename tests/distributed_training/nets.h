// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Small nets and their data, the same in every process.
#pragma once

#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::distributed::test {

inline nn::Sequential small_net(uint64_t seed) {
  manual_seed(seed);
  return nn::Sequential(nn::Linear(6, 16), nn::Tanh(), nn::Linear(16, 12), nn::ReLU(),
                        nn::Linear(12, 3));
}

struct Batch {
  Tensor x, y;
};
inline Batch batch_of(uint64_t step, int64_t n = 16) {
  manual_seed(1000 + step);
  const Tensor x = randn({n, 6});
  return {x, cat({x.narrow(1, 0, 2).sin(), x.sum(1, true).tanh()}, 1)};
}
inline Batch share_of(const Batch& b, int rank, int ranks) {
  const int64_t n = b.x.size(0) / ranks;
  return {b.x.narrow(0, n * rank, n), b.y.narrow(0, n * rank, n)};
}

inline Tensor flat_of(const std::vector<Tensor>& tensors) {
  const NoGradGuard no_grad;
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (const Tensor& t : tensors) parts.push_back(t.reshape({-1}));
  return cat(parts);
}
// All bits of the tensors, in hexadecimal.
inline std::string bits_of(const std::vector<Tensor>& tensors) {
  const Tensor flat = flat_of(tensors);
  const auto* at = static_cast<const unsigned char*>(flat.const_data_ptr());
  std::string out;
  for (std::size_t i = 0; i < flat.nbytes(); ++i) {
    const char* digits = "0123456789abcdef";
    out += digits[at[i] >> 4];
    out += digits[at[i] & 15];
  }
  return out;
}
inline double largest_difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return flat_of(a).sub(flat_of(b)).abs().max().item<double>();
}

// What the parameters are after some steps of one process.
inline nn::Sequential trained_alone(uint64_t seed, int steps, double lr = 0.05) {
  nn::Sequential net = small_net(seed);
  optim::SGD sgd(net->parameters(), optim::SGDOptions(lr).momentum(0.9));
  for (int i = 0; i < steps; ++i) {
    const Batch b = batch_of(static_cast<uint64_t>(i));
    sgd.zero_grad();
    mse_loss(net->forward(b.x), b.y).backward();
    sgd.step();
  }
  return net;
}

}  // namespace tenon::distributed::test
