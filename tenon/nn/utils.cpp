// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/utils.h"

#include <cmath>

#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace utils {

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  NoGradGuard no_grad;
  std::vector<Tensor> grads;
  for (const Tensor& p : parameters) {
    if (p.grad().defined()) grads.push_back(p.grad());
  }
  if (grads.empty()) return 0;
  // As libtorch: order 0 counts the gradients. Others are norms of the norms, which is also right
  // for the two infinities.
  double total = static_cast<double>(grads.size());
  if (norm_type != 0) {
    std::vector<double> norms;
    norms.reserve(grads.size());
    for (const Tensor& g : grads)
      norms.push_back(g.detach().norm(Scalar(norm_type)).to(kDouble).item<double>());
    total = tenon::tensor(norms, kDouble).norm(Scalar(norm_type)).item<double>();
  }
  TENON_CHECK(!error_if_nonfinite || std::isfinite(total), ValueError,
              "clip_grad_norm_: the norm of order ", norm_type,
              " of the gradients is not finite, so they cannot be clipped");
  const double factor = max_norm / (total + 1e-6);
  if (factor < 1 || std::isnan(factor)) {
    for (Tensor& g : grads) g.mul_(factor);
  }
  return total;
}

double clip_grad_norm_(Tensor parameter, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  return clip_grad_norm_(std::vector<Tensor>{std::move(parameter)}, max_norm, norm_type,
                         error_if_nonfinite);
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  NoGradGuard no_grad;
  for (const Tensor& p : parameters) {
    if (const Tensor& g = p.grad(); g.defined()) g.clamp_(-clip_value, clip_value);
  }
}

void clip_grad_value_(Tensor parameter, double clip_value) {
  clip_grad_value_(std::vector<Tensor>{std::move(parameter)}, clip_value);
}

Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> flat;
  flat.reserve(parameters.size());
  for (const Tensor& p : parameters) flat.push_back(p.reshape({-1}));
  return tenon::cat(flat);
}

void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters) {
  int64_t total = 0;
  for (const Tensor& p : parameters) total += p.numel();
  TENON_CHECK(vec.dim() == 1 && vec.numel() == total, ValueError,
              "vector_to_parameters: the parameters have ", total, " elements, the vector ",
              vec.numel());
  NoGradGuard no_grad;
  int64_t begin = 0;
  for (const Tensor& p : parameters) {
    p.copy_(vec.narrow(0, begin, p.numel()).reshape(p.sizes()));
    begin += p.numel();
  }
}

}  // namespace utils
}  // namespace nn
}  // namespace tenon
