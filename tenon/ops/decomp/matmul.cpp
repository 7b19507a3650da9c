// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products, as products of batches.
#include "tenon/ops/decomp/decomp.h"

namespace tenon::decomp {
namespace {

// beta * self + alpha * product; a beta of zero takes no NaN over. Integer tensors have integer
// factors.
Tensor scaled_sum(const Tensor& self, const Tensor& product, const Scalar& beta,
                  const Scalar& alpha) {
  const bool whole = !isFloatingType(product.scalar_type());
  const auto factor = [&](const Scalar& v) { return whole ? Scalar(v.toLong()) : v; };
  const auto times = [&](const Tensor& t, const Scalar& v) {
    return v.toDouble() == 1 ? t : t * v;
  };
  const Scalar b = factor(beta);
  const Tensor scaled = times(wide(product), factor(alpha));
  return b.toDouble() == 0 ? scaled.expand(product.sizes()) : times(wide(self), b) + scaled;
}

}  // namespace

Tensor mm(const Tensor& self, const Tensor& mat2) {
  return self.unsqueeze(0).bmm(mat2.unsqueeze(0)).squeeze(0);
}
Tensor mv(const Tensor& self, const Tensor& vec) {
  return decomp::mm(self, vec.unsqueeze(1)).squeeze(1);
}
Tensor dot(const Tensor& self, const Tensor& other) {
  return decomp::mm(self.unsqueeze(0), other.unsqueeze(1)).reshape({});
}
Tensor addmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
             const Scalar& alpha) {
  return scaled_sum(self, decomp::mm(a, b), beta, alpha);
}
Tensor baddbmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
               const Scalar& alpha) {
  return scaled_sum(self, a.bmm(b), beta, alpha);
}
Tensor addmv(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
             const Scalar& alpha) {
  return scaled_sum(self, decomp::mv(a, b), beta, alpha);
}

Tensor _addmm_activation(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                         const Scalar& alpha, bool use_gelu) {
  const Tensor sum = tenon::addmm(self, a, b, beta, alpha);
  return use_gelu ? tenon::gelu(sum, "tanh") : tenon::relu(sum);
}

}  // namespace tenon::decomp
