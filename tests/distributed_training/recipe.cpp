// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Goyal et al., "Accurate, large minibatch SGD: training ImageNet in 1 hour" (2017), scaled down: a
// batch k times as large, a rate k times as high that is warmed up, and shards for each rank.
#include <gtest/gtest.h>

#include <algorithm>

#include "nets.h"
#include "ranks.h"
#include "tenon/distributed/parallel/data_parallel.h"

namespace tenon::distributed::test {
namespace {

constexpr int64_t kExamples = 512, kSmall = 8;  // examples, the batch of one rank
constexpr double kRecipeRate = 0.02;            // for that batch
constexpr int kEpochs = 12, kWarmUp = 3;

struct Set {
  Tensor x, y;
};
// Two arms of a spiral, with noise.
Set spirals(uint64_t seed) {
  manual_seed(seed);
  const Tensor r = rand({kExamples}) * 2 + 0.3;
  const Tensor y = (arange(kExamples) % 2).to(kLong);
  const Tensor angle = r * 2 + y.to(kFloat) * 3.14159265;
  const Tensor x = stack({r * angle.cos(), r * angle.sin()}, 1) + randn({kExamples, 2}) * 0.05;
  return {x, y};
}
nn::Sequential net_of(uint64_t seed) {
  manual_seed(seed);
  return nn::Sequential(nn::Linear(2, 32), nn::Tanh(), nn::Linear(32, 32), nn::Tanh(),
                        nn::Linear(32, 2));
}
double accuracy_of(nn::Sequential& net, const Set& set) {
  const NoGradGuard no_grad;
  return net->forward(set.x).argmax(1).eq(set.y).to(kDouble).mean().item<double>();
}

template <class Module>
void train(Module& module, optim::SGD& sgd, optim::LRScheduler* warm_up, const Set& set,
           std::size_t ranks, std::size_t rank) {
  data::samplers::DistributedRandomSampler sampler(kExamples, ranks, rank);
  for (std::size_t epoch = 0; epoch < kEpochs; ++epoch) {
    sampler.set_epoch(epoch);
    sampler.reset();
    while (const auto indices = sampler.next(kSmall)) {
      const Tensor at = tensor(std::vector<int64_t>(indices->begin(), indices->end()), kLong);
      sgd.zero_grad();
      const Tensor out = module(set.x.index_select(0, at));
      nn::functional::cross_entropy(out, set.y.index_select(0, at)).backward();
      sgd.step();
      if (warm_up != nullptr) warm_up->step();
    }
  }
}

// From the small batch's rate to `ranks` times as much, in equal steps; from then on constant.
std::string large(const GroupPtr& all) {
  const Set set = spirals(1), held_out = spirals(2);
  const auto ranks = static_cast<double>(all->size());
  nn::Sequential net = net_of(3);
  nn::parallel::DistributedDataParallel ddp(
      net, nn::parallel::DistributedDataParallelOptions().process_group(all));
  optim::SGD sgd(ddp.parameters(), optim::SGDOptions(kRecipeRate).momentum(0.9));
  const int64_t steps_of_epoch = kExamples / kSmall;
  const double steps = kWarmUp * static_cast<double>(steps_of_epoch) / ranks;
  optim::LambdaLR warm_up(sgd, [=](int64_t step) {
    return 1 + (ranks - 1) * std::min(1.0, static_cast<double>(step) / steps);
  });
  train(ddp, sgd, &warm_up, set, static_cast<std::size_t>(all->size()),
        static_cast<std::size_t>(all->rank()));
  EXPECT_NEAR(sgd.param_groups()[0].options().get_lr(), kRecipeRate * ranks, 1e-9);
  return std::to_string(accuracy_of(net, held_out));
}
TEST(LargeMinibatch, FourTimesTheBatchLearnsAsWell) {
  const auto r = on_ranks(4, large);
  const Set set = spirals(1), held_out = spirals(2);
  nn::Sequential net = net_of(3);
  optim::SGD sgd(net->parameters(), optim::SGDOptions(kRecipeRate).momentum(0.9));
  auto call = [&](const Tensor& x) { return net->forward(x); };
  train(call, sgd, nullptr, set, 1, 0);
  const double small = accuracy_of(net, held_out);
  EXPECT_GT(small, 0.9);
  for (const RankResult& rank : r) EXPECT_GT(std::stod(rank.text), small - 0.02);
}

}  // namespace
}  // namespace tenon::distributed::test
