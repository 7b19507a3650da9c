// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A libtorch program: creation, views, indexing, arithmetic, reductions, products, autograd,
// printing.
#include <torch/torch.h>

#include <iostream>

namespace {

using torch::indexing::Ellipsis;
using torch::indexing::None;
using torch::indexing::Slice;

void creation() {
  std::cout << "# creation\n";
  std::cout << torch::arange(6) << "\n" << torch::arange(0, 1, 0.25) << "\n";
  std::cout << torch::eye(3) << "\n" << torch::full({2, 2}, 7) << "\n";
  std::cout << torch::linspace(-1, 1, 5) << "\n" << torch::tensor({1.5, -2.0, 3.25}) << "\n";
  std::cout << torch::tensor({{1, 2}, {3, 4}}) << "\n" << torch::tensor(3.5) << "\n";
  std::cout << torch::zeros({2, 3}, torch::dtype(torch::kInt64)) << "\n";
  std::cout << torch::tensor({true, false}) << "\n" << torch::empty({0}) << "\n";
  auto x = torch::ones({2, 3}, torch::TensorOptions().dtype(torch::kFloat64).requires_grad(true));
  std::cout << x.dtype() << " " << x.sizes() << " " << x.strides() << " " << x.device() << " "
            << x.requires_grad() << " " << x.dim() << " " << x.numel() << "\n";
}

void views() {
  std::cout << "# views\n";
  auto x = torch::arange(24, torch::kFloat32).view({2, 3, 4});
  std::cout << x << "\n" << x.transpose(0, 2).sizes() << " " << x.transpose(0, 2).strides() << "\n";
  std::cout << x.permute({2, 0, 1}).contiguous().view({4, 6}) << "\n";
  std::cout << x.select(0, 1) << "\n" << x.narrow(2, 1, 2) << "\n" << x.flatten(1).t() << "\n";
  std::cout << x.unsqueeze(1).squeeze(1).expand({2, 3, 4}).is_contiguous() << "\n";
  auto parts = x.chunk(2, 2);
  std::cout << parts.size() << " " << parts[1] << "\n";
  x.select(0, 0).fill_(-1);
  std::cout << x[0][0] << "\n"
            << torch::cat({x[0], x[1]}, 0).sizes() << torch::stack({x[0], x[1]}, 1).sizes() << "\n";
}

void indexing() {
  std::cout << "# indexing\n";
  auto x = torch::arange(12).view({3, 4});
  std::cout << x.index({1}) << "\n"
            << x.index({Slice(), 2}) << "\n"
            << x.index({Slice(None, None, 2), Slice(1, 3)});
  std::cout << "\n" << x.index({Ellipsis, 0}) << "\n" << x.index({torch::tensor({2, 0})}) << "\n";
  std::cout << x.index({x > 6}) << "\n";
  x.index_put_({0, Slice()}, 100);
  std::cout << x << "\n" << x.index_select(1, torch::tensor({3, 0})) << "\n";
  std::cout << x.gather(1, torch::tensor({{0}, {1}, {2}})) << "\n"
            << x.masked_fill(x.eq(100), 0) << "\n";
}

void arithmetic() {
  std::cout << "# arithmetic\n";
  auto a = torch::tensor({1.0, 2.0, 3.0, 4.0}).view({2, 2});
  auto b = torch::tensor({0.5, -1.5});
  std::cout << a + b << "\n" << a * b << "\n" << a - 1 << "\n" << 2 / a << "\n" << -a << "\n";
  std::cout << torch::tensor({7, 8}) / 2 << "\n" << (torch::tensor({1, 2}) + 0.5).dtype() << "\n";
  std::cout << a.add(b, 2) << "\n"
            << a.pow(2) << "\n"
            << (a * 0.5).exp() << "\n"
            << a.sqrt() << "\n";
  std::cout << (a >= 2) << "\n" << torch::where(a > 2, a, torch::zeros_like(a)) << "\n";
  std::cout << b.abs().clamp(0.75, 1.0) << "\n"
            << torch::relu(b) << "\n"
            << torch::sigmoid(b) << "\n";
  a += b;
  a.mul_(2);
  std::cout << a << "\n"
            << a.matmul(b) << "\n"
            << torch::mm(a, a) << "\n"
            << a.to(torch::kInt32) << "\n";
  std::cout << torch::tensor({1e-5, 1.0, 12345.0}) << "\n" << torch::tensor({1e10, 1.0}) << "\n";
}

void reductions() {
  std::cout << "# reductions\n";
  auto x = torch::tensor({{3.0, 1.0, 2.0}, {-4.0, 6.0, 5.0}});
  std::cout << x.sum() << "\n"
            << x.sum(0) << "\n"
            << x.mean(1, true) << "\n"
            << x.max() << "\n"
            << x.argmax(1) << "\n";
  auto [values, where] = x.max(1);
  std::cout << values << "\n"
            << where << "\n"
            << x.var({1}, true) << "\n"
            << x.norm().item<float>() << "\n";
  std::cout << x.softmax(1) << "\n"
            << x.log_softmax(0) << "\n"
            << x.cumsum(1) << "\n"
            << x.prod() << "\n";
  auto sorted = x.sort(1, /*descending=*/true);
  std::cout << std::get<0>(sorted) << "\n"
            << std::get<1>(sorted) << "\n"
            << x.all().item<bool>() << "\n";
  std::cout << torch::allclose(x, x + 1e-9) << torch::equal(x, x + 1) << "\n";
}

void gradients() {
  std::cout << "# autograd\n";
  auto x = torch::tensor({1.0, 2.0, 3.0}, torch::requires_grad());
  auto w = torch::full({3}, 0.5, torch::requires_grad());
  auto y = (x * x * w).sum();
  y.backward();
  std::cout << x.grad() << "\n"
            << w.grad() << "\n"
            << y.item<double>() << " " << y.requires_grad() << "\n";
  auto z = torch::tensor({2.0}, torch::requires_grad());
  auto first =
      torch::autograd::grad({z.pow(3)}, {z}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
  auto second = torch::autograd::grad({first}, {z})[0];
  std::cout << first << "\n" << second << "\n";
  {
    torch::NoGradGuard no_grad;
    std::cout << (x * 2).requires_grad() << (x.detach() + 1).requires_grad() << "\n";
  }
  x.mutable_grad().zero_();
  (x.tanh().narrow(0, 0, 2) * torch::tensor({1.0, -1.0})).sum().backward();
  std::cout << x.grad() << "\n";
  try {
    torch::ones({2, 3}).matmul(torch::ones({2, 3}));
  } catch (const c10::Error&) {
    std::cout << "shapes refused\n";
  }
}

}  // namespace

int main() {
  creation();
  views();
  indexing();
  arithmetic();
  reductions();
  gradients();
}
