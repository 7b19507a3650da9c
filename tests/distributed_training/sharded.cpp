// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>

#include "nets.h"
#include "ranks.h"
#include "tenon/distributed/parallel/data_parallel.h"
#include "tenon/distributed/sharded/fully_sharded.h"
#include "tenon/distributed/sharded/zero_redundancy_optimizer.h"

namespace tenon::distributed::test {
namespace {

using nn::parallel::DistributedDataParallel;
using Options = DistributedDataParallelOptions;
using Zero = ZeroRedundancyOptimizer<optim::Adam>;

constexpr double kShardedRate = 0.01;

// One process, steps from `begin` on.
void train_alone(nn::Sequential& net, optim::Adam& adam, uint64_t begin, uint64_t end) {
  for (uint64_t i = begin; i < end; ++i) {
    const Batch b = batch_of(i, 24);
    adam.zero_grad();
    mse_loss(net->forward(b.x), b.y).backward();
    adam.step();
  }
}
nn::Sequential adam_alone(uint64_t steps) {
  nn::Sequential net = small_net(4);
  optim::Adam adam(net->parameters(), kShardedRate);
  train_alone(net, adam, 0, steps);
  return net;
}
template <class Module>
void train_shares(Module& module, optim::Optimizer& optimizer, const GroupPtr& all, uint64_t begin,
                  uint64_t end) {
  for (uint64_t i = begin; i < end; ++i) {
    const Batch b = share_of(batch_of(i, 24), all->rank(), all->size());
    optimizer.zero_grad();
    mse_loss(module(b.x), b.y).backward();
    optimizer.step();
  }
}

std::string zero(const GroupPtr& all) {
  DistributedDataParallel ddp(small_net(4), Options().process_group(all));
  Zero adam(ddp.parameters(), optim::AdamOptions(kShardedRate), all);
  train_shares(ddp, adam, all, 0, 30);
  EXPECT_LT(largest_difference(ddp.parameters(), adam_alone(30)->parameters()), 1e-6);
  EXPECT_LT(adam.local_optimizer().parameters().size(), ddp.parameters().size());
  EXPECT_GT(adam.local_optimizer().parameters().size(), 0u);
  std::ostringstream early;
  EXPECT_THROW(save(adam, early), Error);  // a part of the state
  adam.consolidate_state_dict(0);
  if (all->rank() == 0) {
    save(ddp.module(), shared_folder() + "/net.safetensors");
    save(adam, shared_folder() + "/adam.safetensors");
  }
  return bits_of(ddp.parameters());
}
TEST(ZeroRedundancy, IsTheOptimizerAndRanksAgree) {
  const auto r = on_ranks(4, zero);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(r[i].text, r[0].text);
}

// Saved by all ranks, loaded by groups of three and of one: both go on as one process would.
std::string reload_zero(const GroupPtr& all) {
  zero(all);
  nn::Sequential whole = adam_alone(36);
  if (all->rank() == 3) {
    nn::Sequential net = small_net(99);
    optim::Adam adam(net->parameters(), kShardedRate);
    make_group("meet", {0, 1, 2, 3})->all_reduce(zeros({1}))();
    load(net, shared_folder() + "/net.safetensors");
    load(adam, shared_folder() + "/adam.safetensors");
    train_alone(net, adam, 30, 36);
    EXPECT_LT(largest_difference(net->parameters(), whole->parameters()), 1e-6);
    return "";
  }
  make_group("meet", {0, 1, 2, 3})->all_reduce(zeros({1}))();
  const GroupPtr three = make_group("three", {0, 1, 2});
  nn::Sequential net = small_net(98);
  load(net, shared_folder() + "/net.safetensors");
  DistributedDataParallel ddp(net, Options().process_group(three));
  Zero adam(ddp.parameters(), optim::AdamOptions(kShardedRate), three);
  load(adam, shared_folder() + "/adam.safetensors");
  train_shares(ddp, adam, three, 30, 36);
  EXPECT_LT(largest_difference(ddp.parameters(), whole->parameters()), 1e-6);
  return "";
}
TEST(ZeroRedundancy, StateOfFourRanksLoadsOnThreeAndOnOne) { on_ranks(4, reload_zero); }

std::string schedule(const GroupPtr& all) {
  nn::Sequential net = small_net(1), alone = small_net(1);
  ZeroRedundancyOptimizer<optim::SGD> sgd(net->parameters(), optim::SGDOptions(0.1), all);
  optim::SGD same(alone->parameters(), 0.1);
  optim::StepLR a(sgd, 1, 0.5), b(same, 1, 0.5);
  const Batch x = batch_of(0);
  for (int i = 0; i < 3; ++i) {
    sgd.zero_grad();
    same.zero_grad();
    mse_loss(net->forward(x.x), x.y).backward();
    mse_loss(alone->forward(x.x), x.y).backward();
    sgd.step();
    same.step();
    a.step();
    b.step();
  }
  EXPECT_EQ(bits_of(net->parameters()), bits_of(alone->parameters()));
  EXPECT_THROW(sgd.owner(ones({1})), ValueError);
  return "";
}
TEST(ZeroRedundancy, SchedulersWork) { on_ranks(2, schedule); }

std::vector<std::shared_ptr<nn::Module>> units_of(nn::Sequential& net) {
  return {net->children()[0], net->children()[2]};  // the last layer is what no unit holds
}

void save_sharded(FullyShardedDataParallel<nn::Sequential>& sharded, optim::Adam& adam,
                  const GroupPtr& all) {
  serialize::OutputArchive state;
  sharded.state().save_optimizer(adam, state);
  const auto net = sharded.full_state_dict();
  if (all->rank() != 0) return;
  state.save_to(shared_folder() + "/adam.safetensors");
  serialize::OutputArchive archive;
  for (const auto& item : net) archive.write(item.key(), item.value());
  archive.save_to(shared_folder() + "/net.safetensors");
}

OrderedDict<std::string, Tensor> load_whole(nn::Sequential& like) {
  serialize::InputArchive archive;
  archive.load_from(shared_folder() + "/net.safetensors");
  OrderedDict<std::string, Tensor> out;
  for (const auto& p : like->named_parameters()) {
    Tensor t;
    archive.read(p.key(), t);
    out.insert(p.key(), t);
  }
  return out;
}

std::string sharded_training(const GroupPtr& all) {
  nn::Sequential net = small_net(4 + static_cast<uint64_t>(all->rank()));
  FullyShardedDataParallel sharded(net, units_of(net), all);
  for (const Tensor& p : net->parameters()) EXPECT_EQ(p.numel(), 0);
  int64_t parts = 0;
  for (const Tensor& p : sharded.parameters()) parts += p.numel();
  EXPECT_LE(parts, 355 / all->size() + 3);
  optim::Adam adam(sharded.parameters(), kShardedRate);
  train_shares(sharded, adam, all, 0, 30);
  nn::Sequential whole = adam_alone(30);
  std::vector<Tensor> got;
  for (const auto& item : sharded.full_state_dict()) got.push_back(item.value());
  EXPECT_LT(largest_difference(got, whole->parameters()), 1e-6);
  for (const Tensor& p : net->parameters()) EXPECT_EQ(p.numel(), 0);
  save_sharded(sharded, adam, all);
  return bits_of(got);
}
TEST(FullySharded, FourQuartersAreTheWhole) {
  const auto r = on_ranks(4, sharded_training);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(r[i].text, r[0].text);
}

std::string reload_sharded(const GroupPtr& all) {
  sharded_training(all);
  make_group("meet", {0, 1, 2, 3})->all_reduce(zeros({1}))();
  nn::Sequential whole = adam_alone(36);
  const bool single = all->rank() == 3;
  const GroupPtr group = single ? make_group("one", {3}) : make_group("three", {0, 1, 2});
  nn::Sequential net = small_net(98), like = small_net(1);
  FullyShardedDataParallel sharded(net, units_of(net), group);
  optim::Adam adam(sharded.parameters(), kShardedRate);
  sharded.load_full_state_dict(load_whole(like));
  serialize::InputArchive archive;
  archive.load_from(shared_folder() + "/adam.safetensors");
  sharded.state().load_optimizer(adam, archive);
  train_shares(sharded, adam, group, 30, 36);
  std::vector<Tensor> got;
  for (const auto& item : sharded.full_state_dict()) got.push_back(item.value());
  EXPECT_LT(largest_difference(got, whole->parameters()), 1e-6);
  return "";
}
TEST(FullySharded, StateOfFourRanksLoadsOnThreeAndOnOne) { on_ranks(4, reload_sharded); }

std::string foreign_unit(const GroupPtr& all) {
  nn::Sequential net = small_net(1);
  EXPECT_THROW(FullyShardedDataParallel(net, {nn::Linear(2, 2).ptr()}, all), ValueError);
  return "";
}
TEST(FullySharded, RefusesUnitsOfOthers) { on_ranks(1, foreign_unit); }

}  // namespace
}  // namespace tenon::distributed::test
