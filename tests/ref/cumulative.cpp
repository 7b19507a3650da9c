// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Running sums, products and extrema along one dimension.
#include <algorithm>

#include "number.h"
#include "tenon/sdk/ops/cummax.h"
#include "tenon/sdk/ops/cummin.h"
#include "tenon/sdk/ops/cumprod.h"
#include "tenon/sdk/ops/cumsum.h"
#include "tenon/sdk/ops/logcumsumexp.h"

namespace {

using namespace tenon::ref;
using tenon::sdk::wrap_dim;

// f(position, is it the first of its run) for every element, along the dimension in order.
template <class F>
void each_along(Tensor self, int64_t dim, F f) {
  const int d = wrap_dim(dim, self.ndim());
  each(self.sizes(), [&](const Index& i) {
    if (!i.empty() && i[at(d)] != 0) return;
    Index j = i;
    for (int64_t k = 0; k < (i.empty() ? 1 : self.size(d)); ++k) {
      if (!j.empty()) j[at(d)] = k;
      f(j, k);
    }
  });
}

template <class Step>
tn_status scan(Tensor out, Tensor self, int64_t dim, Step step) {
  Real running = 0;
  const bool whole = !tenon::sdk::is_floating(out.dtype());
  each_along(self, dim, [&](const Index& i, int64_t k) {
    const Real x = get(self, i);
    running = k == 0 ? x : step(running, x);
    if (whole) running = Real(to_int(running));
    put(out, i, running);
  });
  return TN_OK;
}

Real log_add(Real a, Real b) {
  if (a == b && std::isinf(a)) return a;
  return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}

// Of equal elements the last; NaN stays.
tn_status extreme(Tensor values, Tensor indices, Tensor self, int64_t dim, bool greatest) {
  Real best = 0;
  int64_t where = 0;
  each_along(self, dim, [&](const Index& i, int64_t k) {
    const Real x = get(self, i);
    if (k == 0 || std::isnan(x) || (!std::isnan(best) && (greatest ? x >= best : x <= best))) {
      best = x;
      where = k;
    }
    put(values, i, best);
    put(indices, i, Real(where));
  });
  return TN_OK;
}

tn_status cumsum(Call&, Tensor out, Tensor self, int64_t dim, std::optional<DType>) {
  return scan(out, self, dim, [](Real a, Real b) { return a + b; });
}
tn_status cumprod(Call&, Tensor out, Tensor self, int64_t dim, std::optional<DType>) {
  return scan(out, self, dim, [](Real a, Real b) { return a * b; });
}
tn_status logcumsumexp(Call&, Tensor out, Tensor self, int64_t dim) {
  return scan(out, self, dim, log_add);
}
tn_status cummax(Call&, Tensor values, Tensor indices, Tensor self, int64_t dim) {
  return extreme(values, indices, self, dim, true);
}
tn_status cummin(Call&, Tensor values, Tensor indices, Tensor self, int64_t dim) {
  return extreme(values, indices, self, dim, false);
}

}  // namespace

TN_KERNEL(cumsum, cumsum, any_strides());
TN_KERNEL(cumprod, cumprod, any_strides());
TN_KERNEL(logcumsumexp, logcumsumexp, dtypes("floating").any_strides());
TN_KERNEL(cummax, cummax, any_strides());
TN_KERNEL(cummin, cummin, any_strides());
