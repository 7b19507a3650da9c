// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "number.h"
#include "tenon/sdk/ops/_log_softmax.h"
#include "tenon/sdk/ops/_log_softmax_backward_data.h"
#include "tenon/sdk/ops/_softmax.h"
#include "tenon/sdk/ops/_softmax_backward_data.h"

namespace {

using namespace tenon::ref;

// f(values of a slice of each tensor) gives the slice of the result.
template <class F>
tn_status slices(Tensor out, Tensor a, Tensor b, int64_t d, F f) {
  const int dim = tenon::sdk::wrap_dim(d, a.ndim());
  each(a.sizes(), [&](const Index& i) {
    if (a.ndim() && i[at(dim)] != 0) return;
    std::vector<Real> x, y;
    Index j = i;
    const int64_t n = a.ndim() ? a.size(dim) : 1;
    for (int64_t k = 0; k < n; ++k) {
      if (a.ndim()) j[at(dim)] = k;
      x.push_back(get(a, j));
      y.push_back(get(b, j));
    }
    const std::vector<Real> r = f(x, y);
    for (int64_t k = 0; k < n; ++k) {
      if (a.ndim()) j[at(dim)] = k;
      put(out, j, r[at(k)]);
    }
  });
  return TN_OK;
}

std::vector<Real> log_softmax_of(const std::vector<Real>& x) {
  const Real most = *std::max_element(x.begin(), x.end());
  Real sum = 0;
  for (Real v : x) sum += std::exp(v - most);
  std::vector<Real> r;
  r.reserve(x.size());
  for (Real v : x) r.push_back(v - most - std::log(sum));
  return r;
}

tn_status log_softmax(Call&, Tensor out, Tensor self, int64_t dim, bool) {
  return slices(out, self, self, dim, [](auto& x, auto&) { return log_softmax_of(x); });
}
tn_status softmax(Call&, Tensor out, Tensor self, int64_t dim, bool) {
  return slices(out, self, self, dim, [](auto& x, auto&) {
    std::vector<Real> r = log_softmax_of(x);
    for (Real& v : r) v = std::exp(v);
    return r;
  });
}
tn_status softmax_backward(Call&, Tensor out, Tensor grad, Tensor output, int64_t dim, DType) {
  return slices(out, grad, output, dim, [](auto& g, auto& y) {
    Real dot = 0;
    for (std::size_t k = 0; k < g.size(); ++k) dot += g[k] * y[k];
    std::vector<Real> r;
    for (std::size_t k = 0; k < g.size(); ++k) r.push_back(y[k] * (g[k] - dot));
    return r;
  });
}
tn_status log_softmax_backward(Call&, Tensor out, Tensor grad, Tensor output, int64_t dim, DType) {
  return slices(out, grad, output, dim, [](auto& g, auto& y) {
    Real sum = 0;
    for (Real v : g) sum += v;
    std::vector<Real> r;
    for (std::size_t k = 0; k < g.size(); ++k) r.push_back(g[k] - std::exp(y[k]) * sum);
    return r;
  });
}

}  // namespace

TN_KERNEL(_softmax, softmax, any_strides());
TN_KERNEL(_log_softmax, log_softmax, any_strides());
TN_KERNEL(_softmax_backward_data, softmax_backward, any_strides());
TN_KERNEL(_log_softmax_backward_data, log_softmax_backward, any_strides());
