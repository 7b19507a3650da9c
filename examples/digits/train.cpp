// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "train.h"

#include <cmath>

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

}  // namespace

Net make_net(const Images& images, const tenon::Device& device) {
  Net net(images.rows, images.cols);
  net->to(device);
  return net;
}

std::vector<Epoch> train(Net& net, const Images& images, const tenon::Device& device,
                         const Options& options, const Progress& progress) {
  namespace data = tenon::data;
  auto set =
      DigitSet(pixels_of(images), tenon::tensor(images.labels)).map(data::transforms::Stack<>());
  auto loader = data::make_data_loader<data::samplers::RandomSampler>(
      std::move(set), data::DataLoaderOptions().batch_size(options.batch).workers(options.workers));
  tenon::optim::Adam adam(net->parameters(),
                          tenon::optim::AdamOptions(options.learning_rate).weight_decay(1e-4));
  std::vector<Epoch> history;
  net->train();
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    double loss_sum = 0;
    int64_t right = 0, seen = 0;
    for (auto& batch : *loader) {
      set_rate(adam, options.learning_rate,
               (epoch + static_cast<double>(seen) / static_cast<double>(images.size())) /
                   options.epochs);
      auto x = batch.data.to(device);
      auto y = batch.target.to(device);
      adam.zero_grad();
      auto out = net(x);
      auto loss = tenon::nn::functional::cross_entropy(out, y);
      loss.backward();
      adam.step();
      loss_sum += loss.item<double>() * static_cast<double>(y.size(0));
      right += count_equal(out.argmax(1), y);
      seen += y.size(0);
      auto n = static_cast<double>(seen);
      progress(epoch, seen, {loss_sum / n, static_cast<double>(right) / n});
    }
    auto n = static_cast<double>(seen);
    history.push_back({loss_sum / n, static_cast<double>(right) / n});
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
