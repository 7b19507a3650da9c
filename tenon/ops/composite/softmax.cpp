// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"

namespace tenon::composite {

namespace {

// Relative to the largest real part.
Tensor complex_log_softmax(const Tensor& self, int64_t dim) {
  const Tensor top = tenon::amax(tenon::real(self.detach()), IntArrayRef(dim), true);
  const Tensor x = self - top;
  return x - tenon::log(tenon::sum(tenon::exp(x), IntArrayRef(dim), true));
}

}  // namespace

Tensor softmax_int(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const Tensor x = dtype && *dtype != self.scalar_type() ? self.to(*dtype) : self;
  return x.is_complex() ? tenon::exp(complex_log_softmax(x, dim)) : tenon::_softmax(x, dim, false);
}

Tensor log_softmax_int(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const Tensor x = dtype && *dtype != self.scalar_type() ? self.to(*dtype) : self;
  return x.is_complex() ? complex_log_softmax(x, dim) : tenon::_log_softmax(x, dim, false);
}

Tensor softmin(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return tenon::softmax(-self, dim, dtype);
}

}  // namespace tenon::composite
