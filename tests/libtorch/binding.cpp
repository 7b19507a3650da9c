// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a binding for another language does: arrays of the caller in column order, results written
// into them, enumerations translated, objects behind void pointers.
#include <torch/nn/functional/loss.h>
#include <torch/torch.h>

#include <algorithm>
#include <iostream>
#include <tuple>
#include <vector>

namespace {

int code_of(caffe2::TypeMeta dtype) {
  if (dtype == torch::kInt8) return 1;
  if (dtype == torch::kInt64) return 4;
  if (dtype == torch::kFloat32) return 6;
  return dtype == torch::kFloat64 ? 7 : -1;
}

const char* name_of(torch::DeviceType type) {
  switch (type) {
    case torch::kCPU:
      return "cpu";
    case torch::kCUDA:
      return "cuda";
    case torch::kXPU:
      return "xpu";
    case torch::kMPS:
      return "mps";
    default:
      return type == torch::kHIP ? "hip" : "another";
  }
}

torch::nn::MSELossOptions::reduction_t reduction_of(int code) {
  switch (code) {
    case 0:
      return torch::kNone;
    case 1:
      return torch::kMean;
    default:
      return torch::kSum;
  }
}

// A tensor over the caller's array, whose first index is the fastest.
void* tensor_of(float* data, const std::vector<int64_t>& shape, bool requires_grad) {
  torch::AutoGradMode grad(requires_grad);
  std::vector<int64_t> strides(shape.size(), 1);
  for (std::size_t i = 1; i < shape.size(); ++i) strides[i] = strides[i - 1] * shape[i - 1];
  auto options = torch::TensorOptions().dtype(torch::kFloat32).requires_grad(requires_grad);
  auto tensor = new torch::Tensor;
  *tensor = torch::from_blob(data, c10::IntArrayRef(shape.data(), shape.size()),
                             c10::IntArrayRef(strides.data(), strides.size()), options)
                .to(torch::Device(torch::kCPU));
  return tensor;
}

torch::Tensor& at_handle(void* handle) { return *reinterpret_cast<torch::Tensor*>(handle); }

void print(const char* what, const std::vector<float>& values) {
  std::cout << what;
  for (float v : values) std::cout << " " << v;
  std::cout << "\n";
}

// Results are written into the caller's arrays by assignments to temporaries.
void write_into_arrays() {
  std::vector<float> in = {1, 2, 3, 4, 5, 6}, out(6, 0), sum(1, 0);
  void* x = tensor_of(in.data(), {2, 3}, false);
  void* y = tensor_of(out.data(), {2, 3}, false);
  void* s = tensor_of(sum.data(), {1}, false);
  std::cout << at_handle(x) << "\n" << at_handle(x).strides() << "\n";
  std::move(at_handle(y)) = at_handle(x) * 2;
  std::move(at_handle(s)) = at_handle(x).sum();
  print("out", out);
  print("sum", sum);
  std::move(at_handle(y)) = at_handle(x);
  at_handle(y).requires_grad_(at_handle(x).requires_grad());
  at_handle(x).zero_();
  print("in", in);
  print("out", out);
  at_handle(y) = at_handle(y) + 1;  // another tensor: the array keeps its values
  print("out", out);
  for (void* handle : {x, y, s}) delete &at_handle(handle);
}

void differentiate() {
  std::vector<float> in = {1, 2, 3, 4}, gradient(4, 0);
  void* x = tensor_of(in.data(), {2, 2}, true);
  void* g = tensor_of(gradient.data(), {2, 2}, false);
  auto y = pow(at_handle(x), 2) / 2;
  y.backward(torch::ones({2, 2}), true);
  std::move(at_handle(g)) = at_handle(x).grad();
  print("gradient", gradient);
  y.backward(torch::full({2, 2}, 3.0), false);
  std::move(at_handle(g)) = at_handle(x).grad();
  print("gradient", gradient);
  at_handle(x).mutable_grad().zero_();
  at_handle(x).sum().backward({}, false);
  std::move(at_handle(g)) = at_handle(x).grad();
  print("gradient", gradient);
  for (void* handle : {x, g}) delete &at_handle(handle);
}

void* optimizer_of(int code, const std::vector<torch::Tensor>& parameters) {
  using namespace torch::optim;
  const auto betas = std::make_tuple(0.8, 0.99);
  if (code == 0) return new SGD(parameters, SGDOptions(0.1).momentum(0.9).dampening(0.1));
  if (code == 1) return new Adam(parameters, AdamOptions(0.1).betas(betas).amsgrad(true));
  return new AdamW(parameters, AdamWOptions(0.1).betas(betas).weight_decay(0.1));
}

void train(int code) {
  std::vector<float> weights = {1, -1, 0.5, 2};
  void* w = tensor_of(weights.data(), {4}, true);
  auto optimizer = static_cast<torch::optim::Optimizer*>(optimizer_of(code, {at_handle(w)}));
  for (int i = 0; i < 5; ++i) {
    optimizer->zero_grad();
    at_handle(w).pow(2).sum().backward();
    optimizer->step();
  }
  print("weights", weights);
  delete optimizer;
  delete &at_handle(w);
}

void losses() {
  namespace F = torch::nn::functional;
  const auto x = torch::tensor({{0.5f, 1.5f}, {2.0f, -1.0f}});
  for (int code : {0, 1, 2}) {
    F::MSELossFuncOptions options;
    options.reduction(reduction_of(code));
    auto loss = F::mse_loss(x, torch::ones({2, 2}), options);
    std::cout << loss.sizes() << " " << loss.sum().item<float>() << "\n";
    F::CrossEntropyFuncOptions entropy;
    entropy.reduction(reduction_of(code));
    loss = F::cross_entropy(x, torch::tensor({0, 1}), entropy);
    std::cout << loss.sizes() << " " << loss.sum().item<float>() << "\n";
  }
}

}  // namespace

int main() {
  for (auto type : {torch::kInt8, torch::kInt64, torch::kFloat32, torch::kFloat64, torch::kHalf})
    std::cout << code_of(torch::empty({1}, type).dtype()) << " ";
  for (auto type : {torch::kCPU, torch::kCUDA, torch::kHIP, torch::kXPU, torch::kMPS, torch::kMeta})
    std::cout << name_of(type) << " ";
  std::cout << torch::xpu::device_count() << torch::mps::is_available() << at::hasHIP() << "\n";
  write_into_arrays();
  differentiate();
  for (int code : {0, 1, 2}) train(code);
  losses();
}
