// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Ranks that are killed: the others are told which, and go on in a new group from the last
// checkpoint.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "nets.h"
#include "ranks.h"
#include "tenon/distributed/parallel/data_parallel.h"

namespace {
bool g_die_in_fsync = false;
}

// Stands before the C library's, which a save calls before it renames the file.
extern "C" __attribute__((visibility("default"))) int fsync(int fd) {
  struct stat file {};
  if (g_die_in_fsync && fstat(fd, &file) == 0 && ftruncate(fd, file.st_size / 2) == 0)
    kill(getpid(), SIGKILL);
  return static_cast<int>(syscall(SYS_fsync, fd));
}

namespace tenon::distributed::test {
namespace {

using Net = nn::parallel::DistributedDataParallel<nn::Sequential>;
constexpr int64_t kBatch = 24;  // divisible by 2, 3 and 4
constexpr double kRate = 0.05;

[[noreturn]] void die() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

std::string checkpoint() { return shared_folder() + "/checkpoint.safetensors"; }

void save_checkpoint(Net& ddp, optim::SGD& sgd, uint64_t step) {
  serialize::OutputArchive all, net, optimizer;
  ddp.module()->save(net);
  sgd.save(optimizer);
  all.write("net", net);
  all.write("optimizer", optimizer);
  all.write("step", IValue(static_cast<int64_t>(step)));
  all.save_to(checkpoint());
}
uint64_t load_checkpoint(Net& ddp, optim::SGD& sgd) {
  serialize::InputArchive all, net, optimizer;
  all.load_from(checkpoint());
  all.read("net", net);
  all.read("optimizer", optimizer);
  ddp.module()->load(net);
  sgd.load(optimizer);
  IValue step;
  all.read("step", step);
  return static_cast<uint64_t>(step.toInt());
}

void step_of(Net& ddp, optim::SGD& sgd, const GroupPtr& group, uint64_t i) {
  const Batch b = share_of(batch_of(i, kBatch), group->rank(), group->size());
  sgd.zero_grad();
  mse_loss(ddp(b.x), b.y).backward();
  sgd.step();
}

nn::Sequential never_disturbed(uint64_t steps) {
  nn::Sequential net = small_net(6);
  optim::SGD sgd(net->parameters(), optim::SGDOptions(kRate).momentum(0.9));
  for (uint64_t i = 0; i < steps; ++i) {
    const Batch b = batch_of(i, kBatch);
    sgd.zero_grad();
    mse_loss(net->forward(b.x), b.y).backward();
    sgd.step();
  }
  return net;
}

nn::parallel::DistributedDataParallelOptions options_of(const GroupPtr& group) {
  return nn::parallel::DistributedDataParallelOptions().process_group(group).bucket_cap_mb(0.0001);
}

// The survivors' part; the checkpoint is of step 5.
void go_on(const std::string& name, const std::vector<int>& survivors) {
  const GroupPtr group = make_group(name, survivors);
  Net ddp(small_net(50), options_of(group));
  optim::SGD sgd(ddp.parameters(), optim::SGDOptions(kRate).momentum(0.9));
  const uint64_t begin = load_checkpoint(ddp, sgd);
  EXPECT_EQ(begin, 5u);
  for (uint64_t i = begin; i < 12; ++i) step_of(ddp, sgd, group, i);
  EXPECT_LT(largest_difference(ddp.parameters(), never_disturbed(12)->parameters()), 1e-6);
}

template <class Disturb>
std::string train_disturbed(const GroupPtr& all, int victim, Disturb disturb) {
  Net ddp(small_net(6), options_of(all));
  optim::SGD sgd(ddp.parameters(), optim::SGDOptions(kRate).momentum(0.9));
  std::string told = "nothing";
  try {
    for (uint64_t i = 0; i < 12; ++i) {
      if (i == 5 && all->rank() == 0) save_checkpoint(ddp, sgd, i);
      if (i == 8) disturb(ddp, sgd);
      step_of(ddp, sgd, all, i);
    }
  } catch (const Error& e) {
    told = e.what();
  }
  EXPECT_NE(told.find("rank " + std::to_string(victim)), std::string::npos) << told;
  std::vector<int> survivors;
  for (int r = 0; r < all->size(); ++r) {
    if (r != victim) survivors.push_back(r);
  }
  go_on("survivors", survivors);
  return "went on";
}

// Some buckets are under way, the first layer's has not been sent.
std::string killed_in_backward(const GroupPtr& all) {
  return train_disturbed(all, 2, [&](Net& ddp, optim::SGD&) {
    if (all->rank() != 2) return;
    ddp.module()->parameters()[0].register_hook([](const Tensor& grad) {
      die();
      return grad;
    });
  });
}
TEST(Faults, ARankIsKilledInBackward) {
  const auto r = on_ranks(3, killed_in_backward, {2});
  EXPECT_EQ(r[2].signal, SIGKILL);
  EXPECT_EQ(r[0].text + ", " + r[1].text, "went on, went on");
}

// With half of the file written.
std::string killed_in_save(const GroupPtr& all) {
  return train_disturbed(all, 0, [&](Net& ddp, optim::SGD& sgd) {
    if (all->rank() != 0) return;
    g_die_in_fsync = true;
    save_checkpoint(ddp, sgd, 8);
  });
}
TEST(Faults, ARankIsKilledInASave) {
  const auto r = on_ranks(3, killed_in_save, {0});
  EXPECT_EQ(r[0].signal, SIGKILL);
  EXPECT_EQ(r[1].text + ", " + r[2].text, "went on, went on");
}

// Rank 1 throws in the middle of its backward and ends; the exception is its own to handle.
std::string throws_in_backward(const GroupPtr& all) {
  Net ddp(small_net(6), options_of(all));
  const Batch b = batch_of(0, kBatch);
  if (all->rank() == 1) {
    ddp.module()->parameters()[0].register_hook([](const Tensor& grad) -> Tensor {
      throw ValueError("no gradient today");
      return grad;
    });
    EXPECT_THROW(mse_loss(ddp(b.x), b.y).backward(), ValueError);
    die();
  }
  std::string told = "nothing";
  try {
    mse_loss(ddp(b.x), b.y).backward();
  } catch (const Error& e) {
    told = e.what();
  }
  EXPECT_NE(told.find("rank 1"), std::string::npos) << told;
  return "told";
}
TEST(Faults, ARankThrowsInBackwardAndEnds) {
  EXPECT_EQ(on_ranks(2, throws_in_backward, {1})[0].text, "told");
}

}  // namespace
}  // namespace tenon::distributed::test
