// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Samples 32 to 35: several processes that meet, talk, add up and train. The texts left lines out;
// those are filled in.
#include "tenon/distributed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <sstream>

#include "tenon/distributed/parallel/data_parallel.h"
#include "tenon/distributed/tcp_store.h"
#include "tenon/tenon.h"
#include "tests/distributed_training/ranks.h"

namespace tenon::samples {
namespace {

using distributed::GroupPtr;
using distributed::test::on_ranks;
using distributed::test::shared_folder;

constexpr auto kTimeout = std::chrono::seconds(30);

// Where the ranks of the running test meet, in a file.
void meet(const GroupPtr& all) {
  distributed::init_process_group("gloo", "file://" + shared_folder() + "/meeting", all->size(),
                                  all->rank(), "", kTimeout);
}

std::string hello(const GroupPtr& all) {
  distributed::init_process_group("gloo",
                                  "tcp://239.255.11.32:" + std::string(getenv("TENON_SAMPLE_PORT")),
                                  all->size(), -1, shared_folder(), kTimeout);
  const std::string said = core::join("Hello from process ", distributed::get_rank(), " (out of ",
                                      distributed::get_world_size(), ")!");
  distributed::destroy_process_group();
  return said;
}

TEST(Samples, S32_HelloByMulticast) {
  if (getenv("TENON_SAMPLE_PORT") == nullptr) {  // in the test, not in its ranks
    distributed::TCPStoreOptions any;
    any.port = 0;
    any.isServer = true;
    const int port = distributed::TCPStore("127.0.0.1", any).getPort();
    setenv("TENON_SAMPLE_PORT", std::to_string(port).c_str(), 1);
  }
  std::vector<std::string> said;
  for (const auto& rank : on_ranks(4, hello)) said.push_back(rank.text);
  std::sort(said.begin(), said.end());
  const std::vector<std::string> expected = {
      "Hello from process 0 (out of 4)!", "Hello from process 1 (out of 4)!",
      "Hello from process 2 (out of 4)!", "Hello from process 3 (out of 4)!"};
  EXPECT_EQ(said, expected);
}

std::string send_and_receive(const GroupPtr& all) {
  meet(all);
  Tensor x = zeros({10});
  if (distributed::get_rank() == 0) {
    x = randn({10});
    distributed::send(x, 1);
  } else {
    EXPECT_EQ(distributed::recv(x), 0);  // from any source
  }
  const std::string bits(static_cast<const char*>(x.const_data_ptr()), x.nbytes());
  distributed::destroy_process_group();
  return bits;
}

TEST(Samples, S33_TenElementsAreSent) {
  const auto ranks = on_ranks(2, send_and_receive);
  EXPECT_EQ(ranks[0].text.size(), 10 * sizeof(float));
  EXPECT_EQ(ranks[1].text, ranks[0].text);
  EXPECT_NE(ranks[1].text, std::string(10 * sizeof(float), '\0'));
}

std::string sum_of_ranks(const GroupPtr& all) {
  meet(all);
  const Tensor x = tensor({static_cast<float>(distributed::get_rank())});
  distributed::all_reduce(x);
  distributed::destroy_process_group();
  return core::join(x.numel(), " of ", x.item<double>());
}

TEST(Samples, S34_AllRanksGetTheSum) {
  for (const auto& rank : on_ranks(4, sum_of_ranks)) EXPECT_EQ(rank.text, "1 of 6");
}

// Element 0 of an example is its number.
class Numbered : public data::datasets::Dataset<Numbered> {
 public:
  explicit Numbered(std::size_t n) : n_(n) {}
  data::Example<> get(std::size_t i) override {
    const float at = static_cast<float>(i);
    return {tensor({at, at / 16, 1 - at / 8}), tensor({at / 4})};
  }
  std::optional<std::size_t> size() const override { return n_; }

 private:
  std::size_t n_;
};

struct Whole {
  Tensor x, y;
};
// Of all ranks, in their order.
Whole gathered(const data::Example<>& part) {
  const auto gather = [](const Tensor& t) {
    std::vector<Tensor> parts;
    for (int r = 0; r < distributed::get_world_size(); ++r) parts.push_back(zeros_like(t));
    distributed::all_gather(parts, t);
    return cat(parts);
  };
  return {gather(part.data), gather(part.target)};
}

nn::Sequential make_net(int seed) {
  manual_seed(static_cast<uint64_t>(seed));
  return nn::Sequential(nn::Linear(3, 8), nn::Tanh(), nn::Linear(8, 1));
}

double difference(const nn::Sequential& a, const nn::Sequential& b) {
  const NoGradGuard no_grad;
  double largest = 0;
  for (std::size_t i = 0; i < a->parameters().size(); ++i) {
    const Tensor d = a->parameters()[i].sub(b->parameters()[i]);
    largest = std::max(largest, d.abs().max().item<double>());
  }
  return largest;
}

// `alone` sees the batches of all ranks at once.
std::string train(const GroupPtr& all) {
  constexpr std::size_t kExamples = 24;
  meet(all);
  nn::Sequential net = make_net(distributed::get_rank()), alone = make_net(0);
  nn::parallel::DistributedDataParallel model(net);
  optim::SGD optimizer(model.parameters(), optim::SGDOptions(0.01).momentum(0.9)),
      optimizer_alone(alone->parameters(), optim::SGDOptions(0.01).momentum(0.9));
  data::samplers::DistributedRandomSampler sampler(
      kExamples, static_cast<std::size_t>(distributed::get_world_size()),
      static_cast<std::size_t>(distributed::get_rank()));
  std::string order;
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    sampler.set_epoch(epoch);
    auto loader =
        data::make_data_loader(Numbered(kExamples).map(data::transforms::Stack<>()), sampler,
                               data::DataLoaderOptions().batch_size(4).workers(2).pin_memory(true));
    std::vector<int> seen;
    for (const data::Example<>& batch : *loader) {
      const Whole whole = gathered(batch);
      for (int64_t i = 0; i < whole.x.size(0); ++i)
        seen.push_back(static_cast<int>(whole.x[i][0].item<float>()));
      optimizer.zero_grad();
      mse_loss(model(batch.data), batch.target).backward();
      optimizer.step();
      optimizer_alone.zero_grad();
      mse_loss(alone(whole.x), whole.y).backward();
      optimizer_alone.step();
    }
    for (int i : seen) order += std::to_string(i) + " ";
    order += "\n";
    std::sort(seen.begin(), seen.end());
    std::vector<int> expected(kExamples);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(seen, expected) << "epoch " << epoch;
  }
  EXPECT_LT(difference(net, alone), 1e-6);
  EXPECT_GT(difference(net, make_net(0)), 1e-3);
  distributed::destroy_process_group();
  return order;
}

TEST(Samples, S35_TwoRanksTrainAsOne) {
  const auto ranks = on_ranks(2, train);
  EXPECT_EQ(ranks[0].text, ranks[1].text);
  std::istringstream epochs(ranks[0].text);
  std::string first, second;
  std::getline(epochs, first);
  std::getline(epochs, second);
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace tenon::samples
