// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "map.h"

#include <tenon/tenon.h>

#include <algorithm>
#include <cmath>

namespace packages {
namespace {

using tenon::Tensor;

constexpr int kSteps = 400, kEarly = 100;  // of which the first, with attraction made stronger
constexpr double kStronger = 12, kPerplexity = 30;

Tensor squared_distances(const Tensor& x) {
  Tensor square = (x * x).sum(1, true);
  return (square + square.t() - 2 * x.mm(x.t())).clamp_min(0);
}

// How much each point (row) thinks of each other: normal distributions, as wide as makes
// `neighbors` count.
Tensor affinities(const Tensor& distances, double neighbors) {
  int64_t n = distances.size(0);
  Tensor d = distances / distances.mean().clamp_min(1e-12);
  Tensor others = 1 - tenon::eye(n, d.options());
  Tensor low = tenon::zeros({n, 1}, d.options()), high = tenon::full({n, 1}, 1e6, d.options());
  Tensor p;
  for (int i = 0; i < 40; ++i) {  // the logarithm of the precision by halves
    Tensor beta = ((low + 1e-3).log() + (high + 1e-3).log()).mul(0.5).exp() - 1e-3;
    Tensor weight = (d * -beta).exp() * others;
    Tensor sum = weight.sum(1, true).clamp_min(1e-12);
    p = weight / sum;
    Tensor entropy = sum.log() + beta * (d * p).sum(1, true);
    Tensor wide = entropy.gt(std::log(neighbors));
    low = tenon::where(wide, beta, low);
    high = tenon::where(wide, high, beta);
  }
  return ((p + p.t()) / static_cast<double>(2 * n)).clamp_min(1e-12);
}

}  // namespace

Tensor lay_out(const Tensor& points) {
  tenon::NoGradGuard no_grad;
  int64_t n = points.size(0);
  Tensor unit = points / points.norm(2, 1, true).clamp_min(1e-12);
  Tensor p =
      affinities(squared_distances(unit), std::min(kPerplexity, static_cast<double>(n - 1) / 3));
  Tensor others = 1 - tenon::eye(n, p.options());
  Tensor y = tenon::randn({n, 2}, p.options()) * 1e-2;
  Tensor speed = tenon::zeros_like(y);
  double rate = std::max(static_cast<double>(n) / kStronger, 20.0);
  for (int step = 0; step < kSteps; ++step) {
    Tensor near = others / (1 + squared_distances(y));
    Tensor force = (p * (step < kEarly ? kStronger : 1) - near / near.sum()) * near;
    Tensor gradient = 4 * (force.sum(1, true) * y - force.mm(y));
    speed = speed * (step < kEarly ? 0.5 : 0.8) - rate * gradient;
    y = y + speed;
  }
  return y - y.mean(0, true);
}

}  // namespace packages
