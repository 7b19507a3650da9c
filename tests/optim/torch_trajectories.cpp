// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// 1001 steps of LBFGS and SparseAdam against torch's, every 50th of which is stored: the loss,
// parameters, and calls of the closure and iterations so far, whose numbers are exact.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tenon/ops.h"
#include "tenon/optim.h"
#include "tests/optim/torch_values.h"

namespace tenon::test {
namespace {

using optim::LBFGS;
using optim::LBFGSOptions;

constexpr int kSteps = 1001;
constexpr double kTolerance = 1e-8;

void expect_row(const torch_values::Rows& rows, int step, const std::vector<double>& got) {
  const auto row = rows.find(step);
  if (row == rows.end()) return;
  ASSERT_EQ(got.size(), row->second.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double want = row->second[i];
    EXPECT_NEAR(got[i], want, kTolerance * (1 + std::fabs(want)))
        << "value " << i << " after step " << step;
  }
}

std::vector<double> numbers(const Tensor& t) {
  const Tensor flat = t.detach().reshape({-1});
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

Tensor waves(int64_t n, double by) { return (arange(n, kDouble) * by).sin(); }

template <class Loss>
std::vector<double> lbfgs_step(LBFGS& optimizer, const Tensor& x, Loss&& loss_of) {
  const Tensor loss = optimizer.step([&] {
    optimizer.zero_grad();
    const Tensor l = loss_of(x);
    l.backward();
    return l;
  });
  const auto& state =
      static_cast<optim::LBFGSParamState&>(*optimizer.state().at(x.unsafeGetTensorImpl()));
  std::vector<double> row = numbers(x);
  row.insert(row.begin(), loss.item<double>());
  row.push_back(static_cast<double>(state.func_evals()));
  row.push_back(static_cast<double>(state.n_iter()));
  return row;
}

// A convex function of fourth order, one iteration a step.
void follow_quartic(LBFGSOptions options, const torch_values::Rows& rows) {
  const Tensor a = waves(48, 1.3).reshape({12, 4}), b = arange(12, kDouble).cos();
  const Tensor x = tensor({1.5, -1., 0.8, -2.}, kDouble).requires_grad_();
  LBFGS optimizer({x}, options.max_iter(1).history_size(3).max_eval(1000));
  for (int step = 1; step <= kSteps; ++step) {
    expect_row(rows, step, lbfgs_step(optimizer, x, [&](const Tensor& at) {
                 return (a.matmul(at) - b).pow(4).sum();
               }));
  }
}

TEST(TorchTrajectories, LBFGSOfFixedLength) {
  follow_quartic(LBFGSOptions(0.005), torch_values::kFixedLength);
}
TEST(TorchTrajectories, LBFGSWithLineSearch) {
  follow_quartic(LBFGSOptions(0.02).line_search_fn("strong_wolfe"), torch_values::kLineSearch);
}

// Rosenbrock's function, from a new start every seven steps.
TEST(TorchTrajectories, LBFGSInAValley) {
  const auto rosenbrock = [](const Tensor& x) {
    const Tensor head = x.narrow(0, 0, 2), tail = x.narrow(0, 1, 2);
    return ((tail - head * head).pow(2) * 100 + (1 - head).pow(2)).sum();
  };
  Tensor x;
  std::unique_ptr<LBFGS> optimizer;
  for (int step = 1; step <= kSteps; ++step) {
    if (step % 7 == 1) {
      x = ((arange(3, kDouble) + 1) * step).sin().mul_(2).requires_grad_();
      optimizer = std::make_unique<LBFGS>(
          std::vector<Tensor>{x},
          LBFGSOptions(1).max_iter(4).history_size(3).max_eval(1000).line_search_fn(
              "strong_wolfe"));
    }
    expect_row(torch_values::kValley, step, lbfgs_step(*optimizer, x, rosenbrock));
  }
}

// Rows that come and go, one of them twice in a gradient.
TEST(TorchTrajectories, SparseAdam) {
  const Tensor w = linspace(-1, 1, 12, TensorOptions(kDouble)).reshape({6, 2}).requires_grad_();
  optim::SparseAdam adam({w}, optim::SparseAdamOptions(0.05).betas({0.8, 0.95}).eps(1e-6));
  for (int step = 1; step <= kSteps; ++step) {
    const Tensor at = tensor({step % 6, (2 * step + 1) % 6, step % 6}).to(kLong);
    const Tensor values = (w.detach().index_select(0, at) * 2 + step).sin();
    Tensor(w).mutable_grad() = sparse_coo_tensor(at.unsqueeze(0), values, {6, 2});
    adam.step();
    expect_row(torch_values::kSparseAdam, step, numbers(w));
  }
}

}  // namespace
}  // namespace tenon::test
