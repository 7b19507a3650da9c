// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Schedules against closed forms, and those that are saved and go on in another process.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <sstream>

#include "tenon/ops.h"
#include "tenon/optim.h"
#include "tenon/serialize.h"
#include "tests/support.h"

namespace tenon {
namespace {

optim::SGD two_groups() {
  return optim::SGD({optim::OptimizerParamGroup({rand({2}, requires_grad())},
                                                std::make_unique<optim::SGDOptions>(0.5)),
                     optim::OptimizerParamGroup({rand({2}, requires_grad())},
                                                std::make_unique<optim::SGDOptions>(0.1))},
                    optim::SGDOptions(0.1));
}

std::vector<double> rates(optim::Optimizer& o) {
  std::vector<double> out;
  for (auto& g : o.param_groups()) out.push_back(g.options().get_lr());
  return out;
}

using Factor = std::function<double(int64_t epoch)>;

// The rates of both groups over 100 epochs, of which epoch 0 is before the first step.
void expect_factors(optim::Optimizer& o, optim::LRScheduler& schedule, const Factor& factor,
                    double offset = 0) {
  for (int64_t epoch = 0; epoch <= 100; ++epoch) {
    const std::vector<double> got = rates(o);
    EXPECT_NEAR(got[0], offset + (0.5 - offset) * factor(epoch), 1e-12) << epoch;
    EXPECT_NEAR(got[1], offset + (0.1 - offset) * factor(epoch), 1e-12) << epoch;
    schedule.step();
  }
}

TEST(Schedulers, FollowTheirClosedFormsOver100Epochs) {
  const auto power = [](double base, int64_t n) { return std::pow(base, double(n)); };
  auto a = two_groups();
  optim::StepLR step(a, 7, 0.8);
  expect_factors(a, step, [&](int64_t e) { return power(0.8, e / 7); });
  auto b = two_groups();
  optim::MultiStepLR steps(b, {1, 10, 55, 99}, 0.3);
  expect_factors(b, steps, [&](int64_t e) {
    return power(0.3, int{e >= 1} + int{e >= 10} + int{e >= 55} + int{e >= 99});
  });
  auto c = two_groups();
  optim::ExponentialLR decay(c, 0.97);
  expect_factors(c, decay, [&](int64_t e) { return power(0.97, e); });
  auto d = two_groups();
  const auto inverse = [](int64_t e) { return 1 / std::sqrt(1 + double(e)); };
  optim::LambdaLR lambda(d, inverse);
  expect_factors(d, lambda, inverse);
}

TEST(Schedulers, ALambdaPerGroup) {
  auto o = two_groups();
  optim::LambdaLR schedule(o, {[](int64_t e) { return 1 + double(e); },
                               [](int64_t e) { return e % 2 == 0 ? 1.0 : 0.5; }});
  for (int64_t epoch = 0; epoch <= 100; ++epoch) {
    EXPECT_EQ(rates(o), (std::vector<double>{0.5 * (1 + double(epoch)), epoch % 2 ? 0.05 : 0.1}));
    schedule.step();
  }
}

// Down to eta_min in 20 epochs, up again in the next 20, and so on.
TEST(Schedulers, CosinesGoOnBehindTheirLastEpoch) {
  for (const double eta_min : {0.0, 0.02}) {
    auto o = two_groups();
    optim::CosineAnnealingLR schedule(o, 20, eta_min);
    const auto cosine = [](int64_t e) {
      return (1 + std::cos(std::acos(-1.0) * double(e) / 20)) / 2;
    };
    expect_factors(o, schedule, cosine, eta_min);
  }
}

using Plateau = optim::ReduceLROnPlateauScheduler;

// What the scheduler does, written out for one group.
struct PlateauByHand {
  Plateau::SchedulerMode mode;
  Plateau::ThresholdMode threshold_mode;
  double rate, min_rate;
  double best = (mode == Plateau::min ? 1 : -1) * std::numeric_limits<double>::infinity();
  int bad = 0, cooldown = 0;

  bool is_better(double metric) const {
    const double sign = mode == Plateau::min ? -1 : 1;
    const double limit =
        threshold_mode == Plateau::rel ? best * (1 + sign * 0.01) : best + sign * 0.01;
    return mode == Plateau::min ? metric < limit : metric > limit;
  }
  void step(double metric) {
    if (is_better(metric)) {
      best = metric;
      bad = 0;
    } else {
      ++bad;
    }
    if (cooldown > 0) {
      --cooldown;
      bad = 0;
    }
    if (bad <= 3) return;
    rate = std::max(rate * 0.5, min_rate);
    cooldown = 2;
    bad = 0;
  }
};

TEST(Schedulers, PlateausAreThoseOfALoopByHand) {
  for (const auto mode : {Plateau::min, Plateau::max}) {
    for (const auto threshold : {Plateau::rel, Plateau::abs}) {
      auto o = two_groups();
      Plateau schedule(o, mode, 0.5, 3, 0.01, threshold, 2, {0.01f, 0.004f});
      PlateauByHand first{mode, threshold, 0.5, 0.01f}, second{mode, threshold, 0.1, 0.004f};
      for (int epoch = 0; epoch < 100; ++epoch) {
        const double fall = 1 + std::exp(-epoch / 9.0) + 0.05 * std::sin(epoch * 1.7);
        const double metric = mode == Plateau::min ? fall : 3 - fall;
        schedule.step(metric);
        first.step(metric);
        second.step(metric);
        EXPECT_EQ(rates(o), (std::vector<double>{first.rate, second.rate})) << epoch;
      }
      EXPECT_EQ(rates(o), (std::vector<double>{0.01f, 0.004f})) << "it came to the least";
    }
  }
}

// 20 epochs in one run and in two, of which the second loads what the first saved.
template <class Make>
void expect_resumes(Make make) {
  auto whole = two_groups(), first = two_groups(), second = two_groups();
  auto all = make(whole), begin = make(first);
  for (int i = 0; i < 8; ++i) {
    all.step();
    begin.step();
  }
  std::stringstream file;
  save(begin, file);
  auto rest = make(second);
  load(rest, file);
  EXPECT_EQ(rest.last_epoch(), 8);
  EXPECT_EQ(rates(second), rates(whole));
  for (int i = 0; i < 12; ++i) {
    all.step();
    rest.step();
    EXPECT_EQ(rates(second), rates(whole)) << i;
  }
}

TEST(Schedulers, GoOnFromAFile) {
  using optim::Optimizer;
  expect_resumes([](Optimizer& o) { return optim::StepLR(o, 3); });
  expect_resumes([](Optimizer& o) { return optim::MultiStepLR(o, {4, 9, 15}); });
  expect_resumes([](Optimizer& o) { return optim::ExponentialLR(o, 0.9); });
  expect_resumes([](Optimizer& o) {
    return optim::LambdaLR(o, [](int64_t e) { return 1.0 / static_cast<double>(1 + e); });
  });
  expect_resumes([](Optimizer& o) { return optim::LinearLR(o, 0.2, 1, 10); });
  expect_resumes([](Optimizer& o) { return optim::CosineAnnealingLR(o, 10); });
  expect_resumes([](Optimizer& o) { return optim::CyclicLR(o, 0.1, 1, 5); });
}

TEST(Schedulers, PlateausGoOnFromAFile) {
  auto whole = two_groups(), first = two_groups(), second = two_groups();
  auto make = [](optim::Optimizer& o) {
    using S = optim::ReduceLROnPlateauScheduler;
    return S(o, S::min, 0.5, 2, 1e-4, S::rel, 1);
  };
  auto all = make(whole), begin = make(first);
  for (double metric : {3., 2., 2., 2., 2., 1.5}) {
    all.step(metric);
    begin.step(metric);
  }
  std::stringstream file;
  save(begin, file);
  auto rest = make(second);
  load(rest, file);
  for (double metric : {2., 2., 2., 2., 2., 2., 1., 1., 1., 1.}) {
    all.step(metric);
    rest.step(metric);
    EXPECT_EQ(rates(second), rates(whole));
  }
}

TEST(Schedulers, RefuseTheStateOfOthers) {
  auto two = two_groups();
  optim::SGD one({rand({2}, requires_grad())}, 0.3);
  optim::StepLR from(one, 2), to(two, 2);
  std::stringstream file;
  save(from, file);
  to.step();
  EXPECT_TEXT(load(to, file), "expected 2 numbers");
  EXPECT_EQ(to.last_epoch(), 1);
  EXPECT_EQ(rates(two), (std::vector<double>{0.5, 0.1}));
}

}  // namespace
}  // namespace tenon
