// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas.h"

namespace tenon::autograd::formulas {

Tensor scaled_sum_to(const Tensor& grad, const Scalar& factor, IntArrayRef sizes) {
  const Tensor g = scaled(grad, factor);
  return g.sizes() == sizes ? g : g.sum_to_size(sizes);
}

}  // namespace tenon::autograd::formulas
