// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas.h"

namespace tenon::autograd::formulas {
namespace {

int64_t last_of(IntArrayRef dim, int64_t rank) {
  const int64_t d = dim[dim.size() - 1];
  return d < 0 ? d + rank : d;
}
// Zeros behind t along d, up to size n.
Tensor lengthened(const Tensor& t, int64_t d, int64_t n) {
  if (t.size(d) == n) return t;
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes[static_cast<std::size_t>(d)] = n - t.size(d);
  return tenon::cat({t, tenon::zeros(sizes, t.options().requires_grad(false))}, d);
}

}  // namespace

Tensor fft_r2c_backward(const Tensor& grad, IntArrayRef sizes, IntArrayRef dim,
                        int64_t normalization) {
  const int64_t d = last_of(dim, grad.dim());
  return tenon::real(tenon::_fft_c2c(lengthened(grad, d, sizes[static_cast<std::size_t>(d)]), dim,
                                     normalization, false));
}

// The elements between the first and the middle of the spectrum stand for two.
Tensor fft_c2r_backward(const Tensor& grad, IntArrayRef sizes, IntArrayRef dim,
                        int64_t normalization) {
  const int64_t d = last_of(dim, grad.dim()), n = grad.size(d);
  const Tensor half = tenon::_fft_r2c(grad, dim, normalization, true);
  const int64_t twice = n - half.size(d), rest = half.size(d) - 1 - twice;
  Tensor out = half;
  if (twice > 0) {
    std::vector<Tensor> parts = {half.narrow(d, 0, 1), half.narrow(d, 1, twice) * 2};
    if (rest > 0) parts.push_back(half.narrow(d, 1 + twice, rest));
    out = tenon::cat(parts, d);
  }
  return lengthened(out, d, sizes[static_cast<std::size_t>(d)]);
}

}  // namespace tenon::autograd::formulas
