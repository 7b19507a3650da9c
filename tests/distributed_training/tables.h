// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A net with two tables whose gradients are sparse, and its data, the same in every process.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "nets.h"
#include "tenon/distributed/parallel/data_parallel.h"

namespace tenon::distributed::test {

struct TablesImpl : public nn::Module {
  TablesImpl()
      : words(register_module("words", nn::Embedding(nn::EmbeddingOptions(50, 6).sparse(true)))),
        tags(register_module(
            "tags", nn::EmbeddingBag(nn::EmbeddingBagOptions(9, 6).sparse(true).mode(kSum)))),
        out(register_module("out", nn::Linear(6, 3))) {}
  Tensor forward(const Tensor& w, const Tensor& t) {
    const Tensor bag = tags(t);
    return out(leaves_out_words ? bag : words(w).sum(1) + bag);
  }
  nn::Embedding words;
  nn::EmbeddingBag tags;
  nn::Linear out;
  bool leaves_out_words = false;
};
TENON_MODULE(Tables);

inline Tables tables(uint64_t seed) {
  manual_seed(seed);
  return Tables();
}

struct TableBatch {
  Tensor words, tags, y;
};
// Ranks have some rows in common, and rows of their own.
inline TableBatch table_batch(uint64_t step) {
  manual_seed(2000 + step);
  return {randint(0, 50, {8, 4}, kLong), randint(0, 9, {8, 3}, kLong), randn({8, 3})};
}
inline TableBatch share_of(const TableBatch& b, int rank, int ranks) {
  const int64_t n = b.words.size(0) / ranks;
  const auto part = [&](const Tensor& t) { return t.narrow(0, n * rank, n); };
  return {part(b.words), part(b.tags), part(b.y)};
}

inline double largest_gradient_difference(const nn::Module& a, const nn::Module& b) {
  const auto dense = [](const nn::Module& m) {
    std::vector<Tensor> out;
    for (const Tensor& p : m.parameters())
      out.push_back(p.grad().is_sparse() ? p.grad().to_dense() : p.grad());
    return out;
  };
  return largest_difference(dense(a), dense(b));
}

// Thirty steps on this rank's shares beside one process with whole batches: parameters and
// gradients agree to 1e-6. The parameters' bits.
inline std::string train_tables(nn::parallel::DistributedDataParallel<Tables>& ddp, int rank,
                                int ranks) {
  Tables alone = tables(7);
  optim::SGD sgd(ddp.parameters(), optim::SGDOptions(0.1)),
      sgd_alone(alone->parameters(), optim::SGDOptions(0.1));
  for (uint64_t i = 0; i < 30; ++i) {
    const TableBatch whole = table_batch(i), b = share_of(whole, rank, ranks);
    sgd.zero_grad();
    sgd_alone.zero_grad();
    mse_loss(ddp(b.words, b.tags), b.y).backward();
    mse_loss(alone(whole.words, whole.tags), whole.y).backward();
    EXPECT_TRUE(ddp.module()->words->weight.grad().is_sparse());
    EXPECT_TRUE(ddp.module()->words->weight.grad().is_coalesced());
    EXPECT_LT(largest_gradient_difference(*ddp.module(), *alone), 1e-6) << i;
    sgd.step();
    sgd_alone.step();
  }
  EXPECT_LT(largest_difference(ddp.parameters(), alone->parameters()), 1e-6);
  return bits_of(ddp.parameters());
}

}  // namespace tenon::distributed::test
