// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients that are sparse: tables of which a batch uses few rows.
#include <gtest/gtest.h>

#include "nets.h"
#include "ranks.h"
#include "tables.h"
#include "tenon/distributed/parallel/data_parallel.h"

namespace tenon::distributed::test {
namespace {

using nn::parallel::DistributedDataParallel;
using Options = DistributedDataParallelOptions;

std::string halves(const GroupPtr& all) {
  DistributedDataParallel ddp(tables(7 + static_cast<uint64_t>(all->rank())),
                              Options().process_group(all).bucket_cap_mb(0.0001));
  return train_tables(ddp, all->rank(), all->size());
}
TEST(SparseGradients, HalvesAreTheWholeAndRanksHaveTheSameBits) {
  const auto r = on_ranks(2, halves);
  EXPECT_EQ(r[0].text, r[1].text);
  EXPECT_FALSE(r[0].text.empty());
}

std::string static_graph(const GroupPtr& all) {
  DistributedDataParallel ddp(tables(7), Options().process_group(all).static_graph(true));
  return train_tables(ddp, all->rank(), all->size());
}
std::string compressed(const GroupPtr& all) {
  DistributedDataParallel ddp(tables(7),
                              Options().process_group(all).comm_hook(allreduce_hook(all)));
  return train_tables(ddp, all->rank(), all->size());
}
TEST(SparseGradients, WithAStaticGraphAndWithAHookOfTheOthers) {
  on_ranks(2, static_graph);
  on_ranks(2, compressed);
}

// Rank 1 uses one table, rank 0 both; then nobody uses the first.
std::string unused(const GroupPtr& all) {
  auto net = tables(7);
  DistributedDataParallel ddp(net, Options().process_group(all).find_unused_parameters(true));
  const TableBatch b = share_of(table_batch(0), all->rank(), all->size());
  net->leaves_out_words = all->rank() == 1;
  mse_loss(ddp(b.words, b.tags), b.y).backward();
  const Tensor first = net->words->weight.grad();
  EXPECT_TRUE(first.defined() && first.is_sparse());
  EXPECT_GT(first.coalesce()._values().abs().sum().item<double>(), 0);
  const std::string bits = bits_of({first.to_dense(), net->tags->weight.grad().to_dense()});
  ddp.zero_grad();
  net->leaves_out_words = true;
  mse_loss(ddp(b.words, b.tags), b.y).backward();
  EXPECT_FALSE(net->words->weight.grad().defined());
  EXPECT_TRUE(net->tags->weight.grad().is_sparse());
  return bits;
}
TEST(SparseGradients, OfATableThatARankDoesNotUse) {
  const auto r = on_ranks(2, unused);
  EXPECT_EQ(r[0].text, r[1].text);
}

// Two batches on each rank, averaged with the second; and ranks of different numbers of batches.
std::string added_up(const GroupPtr& all) {
  auto net = tables(7), alone = tables(7);
  DistributedDataParallel ddp(net, Options().process_group(all));
  for (uint64_t i = 0; i < 2; ++i) {
    const TableBatch whole = table_batch(i), b = share_of(whole, all->rank(), all->size());
    mse_loss(alone(whole.words, whole.tags), whole.y).backward();
    if (i == 0) {
      const auto quiet = ddp.no_sync();
      mse_loss(ddp(b.words, b.tags), b.y).backward();
    } else {
      mse_loss(ddp(b.words, b.tags), b.y).backward();
    }
  }
  EXPECT_LT(largest_gradient_difference(*net, *alone), 1e-6);
  ddp.join([&] {
    for (int i = 0; i <= all->rank(); ++i) {
      const TableBatch b = share_of(table_batch(5), all->rank(), all->size());
      ddp.zero_grad();
      mse_loss(ddp(b.words, b.tags), b.y).backward();
    }
  });
  return "joined";
}
TEST(SparseGradients, AddUpWithoutCommunicationAndJoin) { on_ranks(2, added_up); }

// A table whose gradient is sparse where nobody says so.
struct LooseImpl : public nn::Module {
  LooseImpl()
      : weight(register_parameter("weight", sin(arange(10, kFloat)).reshape({5, 2}))),
        out(register_module("out", nn::Linear(2, 1))) {}
  Tensor forward(const Tensor& x) {
    const auto how = nn::functional::EmbeddingFuncOptions().sparse(is_sparse);
    const Tensor rows = nn::functional::embedding(x, weight, how);
    return out(uses_table ? rows : ones({1, 2})).sum();
  }
  Tensor weight;
  nn::Linear out;
  bool is_sparse = true, uses_table = true;
};
TENON_MODULE(Loose);

Tensor rows_of(int rank, int64_t step) { return tensor({rank, (rank + step) % 5}, kLong); }

// Beside one process that has the mean of what both ranks have. From `begins` on rank 1 uses it.
std::string found(const GroupPtr& all, const Options& options, int64_t begins) {
  manual_seed(3);
  Loose net, alone;
  alone->out->load_state_dict(net->out->state_dict());
  DistributedDataParallel ddp(net, Options(options).process_group(all));
  for (int64_t step = 0; step < 4; ++step) {
    ddp.zero_grad();
    alone->zero_grad();
    net->uses_table = all->rank() == 0 || step >= begins;
    ddp(rows_of(all->rank(), step)).backward();
    alone->uses_table = true;
    alone(rows_of(0, step)).div(2).backward();
    alone->uses_table = step >= begins;
    alone(rows_of(1, step)).div(2).backward();
    EXPECT_TRUE(net->weight.grad().is_sparse() && net->weight.grad().is_coalesced());
    EXPECT_LT(largest_gradient_difference(*net, *alone), 1e-6) << step;
  }
  EXPECT_EQ(ddp.state().bucket_count(), 2u);  // what is sparse travels alone
  EXPECT_EQ(ddp.state().bucket(1), std::vector<std::string>{"weight"});
  return bits_of({net->weight.grad().to_dense(), net->out->weight.grad()});
}
TEST(SparseGradients, AreFoundInTheFirstIteration) {
  const auto r = on_ranks(2, [](const GroupPtr& all) { return found(all, Options(), 0); });
  EXPECT_EQ(r[0].text, r[1].text);
}
TEST(SparseGradients, AreFoundInTheFirstIterationOfAStaticGraph) {
  on_ranks(2, [](const GroupPtr& all) { return found(all, Options().static_graph(true), 0); });
}
TEST(SparseGradients, AreFoundWhereOneRankBeginsLater) {
  const auto r = on_ranks(
      2, [](const GroupPtr& all) { return found(all, Options().find_unused_parameters(true), 2); });
  EXPECT_EQ(r[0].text, r[1].text);
}

std::string error_of_steps(const GroupPtr& all, std::vector<bool> sparse) {
  Loose net;
  DistributedDataParallel ddp(net, Options().process_group(all));
  try {
    for (const bool is : sparse) {
      net->is_sparse = is;
      ddp.zero_grad();
      ddp(rows_of(0, 1)).backward();
    }
  } catch (const Error& e) {
    return e.msg();
  }
  return "nothing was thrown";
}
TEST(SparseGradients, ThatComeLaterAreRefusedByName) {
  for (const RankResult& r : on_ranks(2, [](const GroupPtr& all) {
         return error_of_steps(all, {false, true});
       })) {
    EXPECT_NE(r.text.find("the gradient of 'weight' has layout"), std::string::npos) << r.text;
    EXPECT_NE(r.text.find("nn::Embedding"), std::string::npos) << r.text;
  }
}
TEST(SparseGradients, OfOneRankAloneAreRefusedOnAll) {
  for (const RankResult& r :
       on_ranks(2, [](const GroupPtr& all) { return error_of_steps(all, {all->rank() == 1}); })) {
    EXPECT_NE(r.text.find("the gradient of 'weight' is sparse on 1 of the 2 ranks"),
              std::string::npos)
        << r.text;
  }
}

}  // namespace
}  // namespace tenon::distributed::test
