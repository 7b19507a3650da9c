// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A libtorch program: datasets, transforms, samplers and data loaders, saving of tensors.
#include <torch/torch.h>

#include <cstdio>
#include <iostream>
#include <stdexcept>

namespace {

class Squares : public torch::data::datasets::Dataset<Squares> {
 public:
  explicit Squares(size_t n, size_t broken = 1000) : n_(n), broken_(broken) {}
  torch::data::Example<> get(size_t i) override {
    if (i == broken_) throw std::runtime_error("item " + std::to_string(i) + " is broken");
    auto x = static_cast<int64_t>(i);
    return {torch::full({2}, static_cast<double>(x)), torch::tensor(x * x)};
  }
  std::optional<size_t> size() const override { return n_; }

 private:
  size_t n_, broken_;
};

void sequential(size_t workers) {
  std::cout << "# " << workers << " workers\n";
  auto set = Squares(10)
                 .map(torch::data::transforms::Lambda<torch::data::Example<>>(
                     [](torch::data::Example<> e) {
                       e.data = e.data + 0.5;
                       return e;
                     }))
                 .map(torch::data::transforms::Stack<>());
  auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      std::move(set), torch::data::DataLoaderOptions().batch_size(4).workers(workers));
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (auto& batch : *loader) std::cout << batch.data.sizes() << " " << batch.target << "\n";
  }
}

void random_order() {
  auto loader =
      torch::data::make_data_loader(Squares(20).map(torch::data::transforms::Stack<>()),
                                    torch::data::DataLoaderOptions(8).workers(3).drop_last(true));
  int64_t batches = 0, items = 0;
  for (auto& batch : *loader) {
    ++batches;
    items += batch.target.size(0);
  }
  std::cout << "# random\n" << batches << " " << items << "\n";
}

void exception() {
  auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      Squares(6, 3), torch::data::DataLoaderOptions(2).workers(2));
  size_t seen = 0;
  try {
    for (auto& batch : *loader) seen += batch.size();
  } catch (const torch::data::WorkerException& e) {
    std::string text = e.what();
    std::cout << "# exception\n"
              << seen << " " << (text.find("item 3 is broken") != std::string::npos) << "\n";
  }
}

void tensor_dataset() {
  std::cout << "# tensors\n";
  auto rows = torch::arange(12, torch::kFloat32).view({4, 1, 1, 3}).expand({4, 1, 2, 3});
  auto set =
      torch::data::datasets::TensorDataset(rows)
          .map(torch::data::transforms::Normalize<torch::data::example::NoTarget>({5.5}, {2.0}))
          .map(torch::data::transforms::Stack<torch::data::TensorExample>());
  std::cout << *set.size() << "\n";
  auto loader =
      torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(std::move(set), 3);
  for (auto& batch : *loader) std::cout << batch.data << "\n";
}

void print(const std::vector<size_t>& items) {
  for (size_t i = 0; i < items.size(); ++i) std::cout << (i == 0 ? "" : " ") << items[i];
  std::cout << "\n";
}

void samplers() {
  std::cout << "# samplers\n";
  torch::data::samplers::SequentialSampler sampler(5);
  while (auto batch = sampler.next(2)) print(*batch);
  torch::data::samplers::DistributedSequentialSampler share(10, 3, 2);
  while (auto batch = share.next(3)) print(*batch);
  torch::data::samplers::StreamSampler stream(5);
  while (auto batch = stream.next(2)) std::cout << batch->size() << " ";
  std::cout << "\n";
}

void saving() {
  std::cout << "# saving\n";
  auto a = torch::arange(6, torch::kFloat64).view({2, 3});
  torch::save(a, "tensor.saved");
  torch::Tensor b;
  torch::load(b, "tensor.saved");
  std::cout << b << "\n" << torch::equal(a, b) << "\n";
  std::vector<torch::Tensor> list = {a, a.t(), torch::tensor({true, false}), torch::tensor(3)},
                             back;
  torch::save(list, "list.saved");
  torch::load(back, "list.saved");
  for (const auto& t : back)
    std::cout << t.dtype() << " " << t.sizes() << " " << t.strides() << "\n";
  back[0].add_(1);
  std::cout << back[1] << "\n";
  torch::serialize::OutputArchive out;
  out.write("x", a);
  out.write("epoch", torch::IValue(7));
  out.write("name", torch::IValue("digits"));
  torch::serialize::OutputArchive inner;
  inner.write("y", torch::ones({2}), /*is_buffer=*/true);
  out.write("inner", inner);
  out.save_to("archive.saved");
  torch::serialize::InputArchive in;
  in.load_from("archive.saved");
  torch::serialize::InputArchive nested;
  in.read("inner", nested);
  torch::Tensor x, y, z;
  in.read("x", x);
  nested.read("y", y, /*is_buffer=*/true);
  torch::IValue epoch, name;
  in.read("epoch", epoch);
  in.read("name", name);
  std::cout << x.sum().item<double>() << " " << y << " " << epoch.toInt() << " "
            << name.toStringRef() << " " << in.try_read("none", z) << "\n";
  try {
    torch::load(x, "missing.saved");
  } catch (const std::exception&) {
    std::cout << "missing file refused\n";
  }
  for (const char* f : {"tensor.saved", "list.saved", "archive.saved"}) std::remove(f);
}

}  // namespace

int main() {
  sequential(0);
  sequential(4);
  random_order();
  exception();
  tensor_dataset();
  samplers();
  saving();
}
