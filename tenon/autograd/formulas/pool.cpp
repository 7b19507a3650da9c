// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas.h"

namespace tenon::autograd::formulas {

Tensor max_pool2d_indices(const Tensor& self, IntArrayRef kernel, IntArrayRef stride,
                          IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  return std::get<1>(
      tenon::max_pool2d_with_indices(self.detach(), kernel, stride, padding, dilation, ceil_mode));
}

Tensor max_pool_gather(const Tensor& t, const Tensor& indices, int64_t spatial) {
  return t.flatten(-spatial).gather(-1, indices.flatten(-spatial)).view(indices.sizes());
}

IntArrayRef last_sizes(const Tensor& t, int64_t n) {
  return t.sizes().slice(static_cast<std::size_t>(t.dim() - n));
}

}  // namespace tenon::autograd::formulas
