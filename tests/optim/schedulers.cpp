// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Schedules that are saved and go on in another process.
#include <gtest/gtest.h>

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
