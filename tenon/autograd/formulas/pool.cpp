// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas.h"

namespace tenon::autograd::formulas {

Tensor max_pool_gather(const Tensor& t, const Tensor& indices, int64_t spatial) {
  return t.flatten(-spatial).gather(-1, indices.flatten(-spatial)).view(indices.sizes());
}

IntArrayRef last_sizes(const Tensor& t, int64_t n) {
  return t.sizes().slice(static_cast<std::size_t>(t.dim() - n));
}

}  // namespace tenon::autograd::formulas
