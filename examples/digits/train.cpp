// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "train.h"

#include <tenon/distributed.h>
#include <tenon/distributed/parallel/data_parallel.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ranks.h"

namespace digits {
namespace {

using Sample = tenon::data::Example<>;

class DigitSet : public tenon::data::datasets::Dataset<DigitSet> {
 public:
  DigitSet(tenon::Tensor images, tenon::Tensor labels)
      : images_(std::move(images)), labels_(std::move(labels)) {}
  Sample get(std::size_t i) override {
    auto at = static_cast<int64_t>(i);
    return {images_[at], labels_[at]};
  }
  std::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(images_.size(0));
  }

 private:
  tenon::Tensor images_, labels_;
};

tenon::Tensor pixels_of(const Images& images) {
  return tenon::tensor(images.pixels).view({images.size(), 1, images.rows, images.cols});
}

// Half a cosine from the given rate to nothing.
void set_rate(tenon::optim::Adam& adam, double rate, double done) {
  double now = 0.5 * rate * (1 + std::cos(3.14159265358979 * done));
  for (auto& group : adam.param_groups()) {
    static_cast<tenon::optim::AdamOptions&>(group.options()).lr(now);
  }
}

int64_t count_equal(const tenon::Tensor& a, const tenon::Tensor& b) {
  return a.eq(b).sum().item<int64_t>();
}

// The sum of the losses and the number of right answers, of this rank's part of a batch or of all.
struct Sums {
  double loss, right;
};
Sums sums_of(const tenon::Tensor& mean_loss, const tenon::Tensor& out, const tenon::Tensor& y,
             int ranks) {
  Sums s{mean_loss.item<double>() * static_cast<double>(y.size(0)),
         static_cast<double>(count_equal(out.argmax(1), y))};
  if (ranks < 2) return s;
  const auto all = tenon::tensor({s.loss, s.right}, tenon::kDouble);
  tenon::distributed::all_reduce(all);
  return {all[0].item<double>(), all[1].item<double>()};
}

// Small buckets: the network is small, and the exchange is to begin before backward ends.
tenon::distributed::DistributedDataParallelOptions bucket_options() {
  return tenon::distributed::DistributedDataParallelOptions().bucket_cap_mb(0.1);
}

// The output and the mean loss of a batch, before the network was changed by them.
template <class F>
std::pair<tenon::Tensor, tenon::Tensor> update(F forward, const tenon::Tensor& target,
                                               tenon::optim::Adam& adam) {
  tenon::Tensor out, loss;
  {
    TENON_RECORD_USER_SCOPE("forward");
    out = forward();
    loss = tenon::nn::functional::cross_entropy(out, target);
  }
  adam.zero_grad();
  loss.backward();
  TENON_RECORD_USER_SCOPE("optimizer");
  adam.step();
  return {out, loss};
}

}  // namespace

Net make_net(const Images& images, const tenon::Device& device, const Options& options) {
  Net net(images.rows, images.cols, /*plain=*/options.ranks > 0);
  net->to(device);
  return net;
}

std::vector<Epoch> train(Net& net, const Images& images, const tenon::Device& device,
                         const Options& options, const Progress& progress,
                         tenon::autograd::profiler::Profile* step) {
  namespace data = tenon::data;
  const int64_t ranks = std::max(options.ranks, 1);
  auto set =
      DigitSet(pixels_of(images), tenon::tensor(images.labels)).map(data::transforms::Stack<>());
  auto loader = data::make_data_loader(
      std::move(set), PartSampler(images.size(), options.rank, options.ranks),
      data::DataLoaderOptions().batch_size(options.batch / ranks).workers(options.workers));
  net->train();
  std::optional<tenon::nn::parallel::DistributedDataParallel<Net>> parallel;
  if (ranks > 1) parallel.emplace(net, bucket_options());
  tenon::optim::Adam adam(net->parameters(),
                          tenon::optim::AdamOptions(options.learning_rate).weight_decay(1e-4));
  int64_t steps = std::min<int64_t>(6, options.epochs * (images.size() / options.batch));
  std::vector<Epoch> history;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    double loss_sum = 0, right = 0;
    int64_t seen = 0;
    const auto so_far = [&] {
      return Epoch{loss_sum / static_cast<double>(seen), right / static_cast<double>(seen)};
    };
    for (auto& batch : *loader) {
      set_rate(adam, options.learning_rate,
               (epoch + static_cast<double>(seen) / static_cast<double>(images.size())) /
                   options.epochs);
      auto x = batch.data.to(device);
      auto y = batch.target.to(device);
      std::optional<tenon::autograd::profiler::Profiler> profiler;
      if (--steps == 0 && step) profiler.emplace();
      const auto [out, loss] = update([&] { return parallel ? (*parallel)(x) : net(x); }, y, adam);
      if (profiler) *step = profiler->stop();
      const Sums sums = sums_of(loss, out, y, options.ranks);
      loss_sum += sums.loss;
      right += sums.right;
      seen += y.size(0) * ranks;
      progress(epoch, seen, so_far());
    }
    history.push_back(so_far());
  }
  return history;
}

Judgment judge(Net& net, const Images& images, const tenon::Device& device) {
  tenon::NoGradGuard no_grad;
  net->eval();
  auto all = pixels_of(images);
  Judgment out;
  constexpr int64_t kBlock = 256;
  for (int64_t begin = 0; begin < images.size(); begin += kBlock) {
    int64_t n = std::min(kBlock, images.size() - begin);
    auto answers = net(all.narrow(0, begin, n).to(device)).argmax(1).cpu();
    const int64_t* answer = answers.data_ptr<int64_t>();
    for (int64_t i = 0; i < n; ++i) {
      auto truth = images.labels[static_cast<std::size_t>(begin + i)];
      ++out.confusion[static_cast<std::size_t>(truth)][static_cast<std::size_t>(answer[i])];
      if (answer[i] != truth) out.wrong.push_back({begin + i, answer[i]});
    }
  }
  out.accuracy = 1 - static_cast<double>(out.wrong.size()) / static_cast<double>(images.size());
  return out;
}

}  // namespace digits
