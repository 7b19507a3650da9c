// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The same over the default engine and group.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "nets.h"
#include "ranks.h"
#include "tables.h"
#include "tenon/distributed.h"
#include "tenon/distributed/parallel/data_parallel.h"
#include "tenon/distributed/sharded/fully_sharded.h"
#include "tenon/distributed/sharded/zero_redundancy_optimizer.h"

namespace tenon::distributed::test {
namespace {

constexpr auto kGlooTimeout = std::chrono::seconds(10);

void meet(const GroupPtr& all) {
  init_process_group("gloo", "file://" + shared_folder() + "/meeting", all->size(), all->rank(), "",
                     kGlooTimeout);
}

std::string fifty_sharded_steps(const GroupPtr& all) {
  meet(all);
  nn::parallel::DistributedDataParallel ddp(
      small_net(7 + static_cast<uint64_t>(all->rank())),
      nn::parallel::DistributedDataParallelOptions().bucket_cap_mb(0.0001));
  ZeroRedundancyOptimizer<optim::SGD> sgd(ddp.parameters(), optim::SGDOptions(0.05).momentum(0.9));
  for (uint64_t i = 0; i < 50; ++i) {
    const Batch b = share_of(batch_of(i), all->rank(), all->size());
    sgd.zero_grad();
    mse_loss(ddp(b.x), b.y).backward();
    sgd.step();
  }
  EXPECT_LT(largest_difference(ddp.parameters(), trained_alone(7, 50)->parameters()), 1e-6);
  const std::string bits = bits_of(ddp.parameters());
  destroy_process_group();
  return bits;
}
TEST(Gloo, FourQuartersAreTheWholeAndEveryRunHasTheSameBits) {
  const auto first = on_ranks(4, fifty_sharded_steps), second = on_ranks(4, fifty_sharded_steps);
  ASSERT_FALSE(first[0].text.empty());
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(first[r].text, first[0].text) << "rank " << r;
    EXPECT_EQ(second[r].text, first[0].text) << "second run, rank " << r;
  }
}

std::string sharded(const GroupPtr& all) {
  meet(all);
  nn::Sequential net = small_net(7);
  FullyShardedDataParallel parts(net, {net->children()[0], net->children()[2]});
  optim::SGD sgd(parts.parameters(), optim::SGDOptions(0.05).momentum(0.9));
  for (uint64_t i = 0; i < 50; ++i) {
    const Batch b = share_of(batch_of(i), all->rank(), all->size());
    sgd.zero_grad();
    mse_loss(parts(b.x), b.y).backward();
    sgd.step();
  }
  std::vector<Tensor> got;
  for (const auto& item : parts.full_state_dict()) got.push_back(item.value());
  EXPECT_LT(largest_difference(got, trained_alone(7, 50)->parameters()), 1e-6);
  destroy_process_group();
  return bits_of(got);
}
TEST(Gloo, ShardedQuartersAreTheWhole) {
  const auto r = on_ranks(4, sharded);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(r[i].text, r[0].text);
}

std::string tables_of_halves(const GroupPtr& all) {
  meet(all);
  nn::parallel::DistributedDataParallel ddp(tables(7 + static_cast<uint64_t>(all->rank())));
  const std::string bits = train_tables(ddp, all->rank(), all->size());
  destroy_process_group();
  return bits;
}
TEST(Gloo, SparseGradientsOfHalvesAreThoseOfTheWhole) {
  const auto r = on_ranks(2, tables_of_halves);
  EXPECT_EQ(r[0].text, r[1].text);
  EXPECT_FALSE(r[0].text.empty());
}

std::string killed(const GroupPtr& all) {
  meet(all);
  nn::parallel::DistributedDataParallel ddp(
      small_net(6), nn::parallel::DistributedDataParallelOptions().bucket_cap_mb(0.0001));
  if (all->rank() == 2) {
    ddp.module()->parameters()[0].register_hook([](const Tensor& grad) {
      kill(getpid(), SIGKILL);
      return grad;
    });
  }
  const Batch b = batch_of(0);
  std::vector<int> causes;
  try {
    mse_loss(ddp(b.x), b.y).backward();
  } catch (const DistributedError& e) {
    causes = e.ranks();
    EXPECT_NE(std::string(e.what()).find("2"), std::string::npos) << e.what();
  }
  EXPECT_EQ(causes, std::vector<int>{2});
  fflush(nullptr);
  return "told";
}
TEST(Gloo, ARankIsKilledInBackward) {
  const auto r = on_ranks(3, killed, {2});
  EXPECT_EQ(r[0].text + r[1].text, "toldtold");
}

}  // namespace
}  // namespace tenon::distributed::test
