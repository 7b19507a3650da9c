// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients on a device: those of the host. The formulas are core's, but what they are made of runs
// on the device, and they must not read its memory from the host.
#include <tenon/tenon.h>

#include "device.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::check {
namespace {

using Gradients = std::vector<Tensor>;

Gradients of_dense(Device device) {
  const TensorOptions options = TensorOptions(kFloat);
  const Tensor x = (arange(0, 12, options).reshape({4, 3}) / 7 - 0.8).to(device).requires_grad_();
  const Tensor w = (arange(0, 15, options).reshape({3, 5}) / -9 + 0.7).to(device).requires_grad_();
  const Tensor rows = tensor(std::vector<int64_t>{3, 0, 3}, TensorOptions(kLong)).to(device);
  const Tensor y = log_softmax(matmul(x, w).tanh() + w.sum(0), 1);
  y.index_select(0, rows).pow(2).mean().backward();
  return {x.grad(), w.grad()};
}

// Of a leaf that is used twice, once more after a first call, and in a product.
Gradients of_sparse(Device device) {
  const Tensor places =
      tensor(std::vector<int64_t>{2, 1, 0, 1, 0, 2, 3, 2}, TensorOptions(kLong)).reshape({2, 4});
  const Tensor dense = (arange(0, 12, TensorOptions(kFloat)).reshape({3, 4}) / 7 - 0.8).to(device);
  const Tensor leaf =
      sparse_coo_tensor(places, tensor({1., 2., 3., 4.}).to(kFloat), {3, 4}).to(device);
  leaf.requires_grad_();
  for (int i = 0; i < 2; ++i) {
    const Tensor x = leaf * 2;
    ((x + x * 3).to_dense() * dense).sum().backward();
  }
  mm(leaf, dense.t().contiguous()).sum().backward();
  return {leaf.grad().to_dense()};
}

std::string difference(const Gradients& ours, const Gradients& host) {
  for (std::size_t i = 0; i < host.size(); ++i) {
    const Tensor a = ours[i].cpu();
    if (a.sizes() != host[i].sizes())
      return core::join("gradient ", i, " has other sizes than the host's");
    if (!a.allclose(host[i], 1e-4, 1e-5)) {
      const double worst = (a - host[i]).abs().max().item<double>();
      return core::join("gradient ", i, " differs from the host's by ", worst);
    }
  }
  return {};
}

}  // namespace

std::string check_gradients(DeviceId place) {
  return difference(of_dense(core::device_of(place)), of_dense(kCPU));
}

std::string check_sparse_gradients(DeviceId place) {
  Gradients host;
  try {
    host = of_sparse(kCPU);
  } catch (const Error& e) {
    return core::join("?the host has no sparse tensors: ", e.msg());
  }
  return difference(of_sparse(core::device_of(place)), host);
}

}  // namespace tenon::check
