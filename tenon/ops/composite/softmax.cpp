// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"

namespace tenon::composite {

Tensor softmax_int(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return tenon::_softmax(dtype && *dtype != self.scalar_type() ? self.to(*dtype) : self, dim,
                         false);
}

Tensor log_softmax_int(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return tenon::_log_softmax(dtype && *dtype != self.scalar_type() ? self.to(*dtype) : self, dim,
                             false);
}

Tensor softmin(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return tenon::softmax(-self, dim, dtype);
}

}  // namespace tenon::composite
