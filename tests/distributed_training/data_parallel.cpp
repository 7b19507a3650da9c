// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/distributed/parallel/data_parallel.h"

#include <gtest/gtest.h>

#include "nets.h"
#include "ranks.h"

namespace tenon::distributed::test {
namespace {

using nn::parallel::DistributedDataParallel;
using Options = DistributedDataParallelOptions;

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing was thrown";
}
void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

Tensor loss_of(const Tensor& out, const Tensor& y) { return mse_loss(out, y); }

void train(DistributedDataParallel<nn::Sequential>& ddp, const GroupPtr& all, int steps) {
  optim::SGD sgd(ddp.parameters(), optim::SGDOptions(0.05).momentum(0.9));
  for (int i = 0; i < steps; ++i) {
    const Batch b = share_of(batch_of(static_cast<uint64_t>(i)), all->rank(), all->size());
    sgd.zero_grad();
    loss_of(ddp(b.x), b.y).backward();
    sgd.step();
  }
}

// Ranks begin with other parameters: rank 0's count.
std::string fifty_steps(const GroupPtr& all) {
  // Of 104 bytes: several buckets.
  DistributedDataParallel ddp(small_net(7 + static_cast<uint64_t>(all->rank())),
                              Options().process_group(all).bucket_cap_mb(0.0001));
  EXPECT_GT(ddp.state().bucket_count(), 2u);
  train(ddp, all, 50);
  EXPECT_LT(largest_difference(ddp.parameters(), trained_alone(7, 50)->parameters()), 1e-6);
  return bits_of(ddp.parameters());
}
TEST(DataParallel, FourQuartersAreTheWholeAndEveryRunHasTheSameBits) {
  const auto first = on_ranks(4, fifty_steps), second = on_ranks(4, fifty_steps);
  ASSERT_FALSE(first[0].text.empty());
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(first[r].text, first[0].text) << "rank " << r;
    EXPECT_EQ(second[r].text, first[0].text) << "second run, rank " << r;
  }
}

std::string buckets(const GroupPtr& all) {
  DistributedDataParallel ddp(small_net(1),
                              Options().process_group(all).bucket_cap_mb(100.0 / (1 << 20)));
  EXPECT_EQ(ddp.state().bucket(0), std::vector<std::string>({"4.bias", "4.weight"}));
  train(ddp, all, 2);  // the order in which gradients came
  EXPECT_EQ(ddp.state().bucket(0)[0].substr(0, 1), "4");
  EXPECT_THROW(ddp.state().bucket(99), IndexError);
  return "";
}
TEST(DataParallel, BucketsAreInReverseOrderOfUse) { on_ranks(2, buckets); }

std::string gradients_are_views(const GroupPtr& all) {
  DistributedDataParallel ddp(small_net(1), Options().process_group(all));
  train(ddp, all, 3);
  const auto p = ddp.parameters();
  EXPECT_TRUE(p[0].grad().is_alias_of(p[1].grad()));
  return "";
}
TEST(DataParallel, GradientsAreViewsOfTheirBucket) { on_ranks(2, gradients_are_views); }

std::string buffers(const GroupPtr& all) {
  nn::Sequential net(nn::Linear(6, 4), nn::BatchNorm1d(4));
  DistributedDataParallel ddp(net, Options().process_group(all));
  for (uint64_t i = 0; i < 3; ++i) {
    const Batch b = share_of(batch_of(i), all->rank(), all->size());
    ddp(b.x).sum().backward();
  }
  ddp.eval();
  const Tensor own = flat_of({net->buffers()[0]}).clone();
  ddp.train();
  ddp(batch_of(9).x).sum().backward();  // begins with rank 0's buffers
  ddp(batch_of(9).x);
  return bits_of({net->buffers()[0]}) + " " + bits_of({own});
}
TEST(DataParallel, BuffersAreThoseOfRankZero) {
  const auto r = on_ranks(2, buffers);
  EXPECT_EQ(r[0].text.substr(0, 32), r[1].text.substr(0, 32));
  EXPECT_NE(r[0].text.substr(32), r[1].text.substr(32)) << "the last forward updates its own";
}

std::string accumulation(const GroupPtr& all) {
  DistributedDataParallel ddp(small_net(3), Options().process_group(all));
  nn::Sequential alone = small_net(3);
  for (uint64_t i = 0; i < 6; i += 2) {
    ddp.zero_grad();
    alone->zero_grad();
    for (uint64_t half = 0; half < 2; ++half) {
      const Batch b = batch_of(i + half), mine = share_of(b, all->rank(), all->size());
      std::unique_ptr<NoSync> quiet;
      if (half == 0) quiet = std::make_unique<NoSync>(ddp.state());
      loss_of(ddp(mine.x), mine.y).backward();
      loss_of(alone->forward(b.x), b.y).backward();
    }
    const auto p = ddp.parameters(), q = alone->parameters();
    for (std::size_t k = 0; k < p.size(); ++k)
      EXPECT_LT(largest_difference({p[k].grad()}, {q[k].grad()}), 1e-6) << k;
  }
  EXPECT_TRUE(ddp.state().sync());
  return "";
}
TEST(DataParallel, NoSyncAddsUp) { on_ranks(2, accumulation); }

struct BranchesImpl : nn::Module {
  BranchesImpl() {
    manual_seed(5);
    a = register_module("a", nn::Linear(6, 3));
    b = register_module("b", nn::Linear(6, 3));
  }
  Tensor forward(const Tensor& x, bool use_b) { return use_b ? a(x) + b(x) : a(x); }
  nn::Linear a{nullptr}, b{nullptr};
};
TENON_MODULE(Branches);

std::string unused(const GroupPtr& all) {
  Branches net;
  DistributedDataParallel ddp(net, Options().process_group(all).find_unused_parameters(true));
  const Batch batch = batch_of(0);
  loss_of(ddp(batch.x, all->rank() == 1), batch.y).backward();  // on one rank alone
  EXPECT_TRUE(net->b->weight.grad().defined());
  const Tensor once = net->b->weight.grad().clone();
  EXPECT_GT(once.abs().max().item<float>(), 0);
  loss_of(ddp(batch.x, false), batch.y).backward();  // on none: as it was
  EXPECT_EQ(largest_difference({net->b->weight.grad()}, {once}), 0);
  return bits_of({net->a->weight.grad(), net->b->weight.grad()});
}
TEST(DataParallel, UnusedParameters) {
  const auto r = on_ranks(2, unused);
  EXPECT_EQ(r[0].text, r[1].text);
}

std::string unused_not_told(const GroupPtr& all) {
  Branches net;
  DistributedDataParallel ddp(net, Options().process_group(all));
  const Batch batch = batch_of(0);
  loss_of(ddp(batch.x, false), batch.y).backward();
  expect_in("'b.weight', 'b.bias'", message_of([&] { ddp(batch.x, false); }));
  return "";
}
TEST(DataParallel, UnusedParametersThatNobodyAllowedAreNamed) { on_ranks(2, unused_not_told); }

std::string static_graph(const GroupPtr& all) {
  Branches net;
  DistributedDataParallel ddp(net, Options().process_group(all).static_graph(true));
  for (uint64_t i = 0; i < 4; ++i) {
    const Batch b = batch_of(i), mine = share_of(b, all->rank(), all->size());
    ddp.zero_grad();
    loss_of(ddp(mine.x, false), mine.y).backward();
    Branches alone;
    loss_of(alone(b.x, false), b.y).backward();
    EXPECT_LT(largest_difference({net->a->weight.grad()}, {alone->a->weight.grad()}), 1e-6);
    EXPECT_FALSE(net->b->weight.grad().defined());
  }
  return "";
}
TEST(DataParallel, StaticGraph) { on_ranks(2, static_graph); }

// Rank r has r + 1 batches.
std::string join_uneven(const GroupPtr& all) {
  DistributedDataParallel ddp(small_net(2), Options().process_group(all));
  nn::Sequential alone = small_net(2);
  optim::SGD sgd(ddp.parameters(), 0.1), same(alone->parameters(), 0.1);
  ddp.join([&] {
    for (int i = 0; i <= all->rank(); ++i) {
      const Batch b = batch_of(static_cast<uint64_t>(10 * i + all->rank()));
      sgd.zero_grad();
      loss_of(ddp(b.x), b.y).backward();
      sgd.step();
    }
  });
  for (int i = 0; i < all->size(); ++i) {  // the ranks from i on have an input
    same.zero_grad();
    for (int r = i; r < all->size(); ++r) {
      const Batch b = batch_of(static_cast<uint64_t>(10 * i + r));
      loss_of(alone->forward(b.x), b.y).div(all->size()).backward();
    }
    same.step();
  }
  EXPECT_LT(largest_difference(ddp.parameters(), alone->parameters()), 1e-6);
  return bits_of(ddp.parameters());
}
TEST(DataParallel, JoinOfUnevenInputs) {
  const auto r = on_ranks(3, join_uneven);
  EXPECT_EQ(r[0].text, r[2].text);
  EXPECT_EQ(r[1].text, r[2].text);
}

std::string refusals(const GroupPtr& all) {
  expect_in("not initialized", message_of([&] { DistributedDataParallel ddp(small_net(1)); }));
  const int64_t width = all->rank() == 1 ? 5 : 4;
  const std::string shapes = message_of([&] {
    DistributedDataParallel ddp(nn::Sequential(nn::Linear(3, 2), nn::Linear(2, width)),
                                Options().process_group(all));
  });
  expect_in(
      "rank 0 has parameter '1.weight' float32 [4, 2] requires grad, rank 1 has parameter "
      "'1.weight' float32 [5, 2]",
      shapes);
  nn::Linear frozen(2, 2);
  for (Tensor& p : frozen->parameters()) p.requires_grad_(false);
  expect_in("no parameter that requires grad",
            message_of([&] { DistributedDataParallel ddp(frozen, Options().process_group(all)); }));
  DistributedDataParallel ddp(small_net(1), Options().process_group(all));
  const Batch b = batch_of(0);
  expect_in("gradients must not require grad, that of", message_of([&] {
              loss_of(ddp(b.x), b.y).backward({}, std::nullopt, /*create_graph=*/true);
            }));
  ddp.zero_grad();
  loss_of(ddp(b.x), b.y).backward();  // goes on after the error
  return bits_of({ddp.parameters()[0].grad()});
}
TEST(DataParallel, RefusesByName) {
  const auto r = on_ranks(2, refusals);
  EXPECT_EQ(r[0].text, r[1].text);
}

std::string names(const GroupPtr& all) {
  DistributedDataParallel ddp(small_net(1), Options().process_group(all));
  EXPECT_EQ(ddp.named_parameters().keys()[0], "module.0.weight");
  const NoGradGuard no_grad;  // evaluation of one rank alone
  if (all->rank() == 0) ddp(batch_of(0).x);
  return "";
}
TEST(DataParallel, NamesAndEvaluationOfOneRank) { on_ranks(2, names); }

template <class Hook>
double after_hook(const GroupPtr& all, Hook hook, int steps) {
  DistributedDataParallel ddp(small_net(7), Options().process_group(all).comm_hook(hook));
  train(ddp, all, steps);
  return largest_difference(ddp.parameters(), trained_alone(7, steps)->parameters());
}
std::string hooks(const GroupPtr& all) {
  EXPECT_LT(after_hook(all, allreduce_hook(all), 20), 1e-6);
  const double half = after_hook(all, fp16_compress_hook(all), 20);
  EXPECT_LT(half, 5e-3);
  EXPECT_GT(half, 0);
  EXPECT_LT(after_hook(all, bf16_compress_hook(all), 20), 5e-2);
  // As averages before it starts; later an approximation.
  EXPECT_LT(after_hook(all, power_sgd_hook({}, all), 10), 1e-6);
  PowerSGDOptions full;
  full.matrix_approximation_rank = 3;
  full.start_iteration = 0;
  full.min_compression_rate = 0.1;
  const double approximated = after_hook(all, power_sgd_hook(full, all), 20);
  EXPECT_LT(approximated, 0.3);
  DistributedDataParallel ddp(small_net(7),
                              Options().process_group(all).comm_hook(power_sgd_hook(full, all)));
  const Batch b = batch_of(77);
  const double before = loss_of(ddp.module()->forward(b.x), b.y).item<double>();
  train(ddp, all, 60);
  EXPECT_LT(loss_of(ddp.module()->forward(b.x), b.y).item<double>(), before / 2);
  return bits_of(ddp.parameters());
}
TEST(DataParallel, HooksCompress) {
  const auto r = on_ranks(2, hooks);
  EXPECT_EQ(r[0].text, r[1].text);
}

}  // namespace
}  // namespace tenon::distributed::test
