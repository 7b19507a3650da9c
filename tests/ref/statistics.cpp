// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Counts, the most frequent element, mantissas and the incomplete gamma functions.
#include <algorithm>

#include "number.h"
#include "tenon/sdk/ops/_histogram.h"
#include "tenon/sdk/ops/frexp.h"
#include "tenon/sdk/ops/histc.h"
#include "tenon/sdk/ops/igamma.h"
#include "tenon/sdk/ops/igammac.h"
#include "tenon/sdk/ops/mode.h"

namespace {

using namespace tenon::ref;
using tenon::sdk::Error;
using tenon::sdk::wrap_dim;

// NaN equals nothing and is greater than all.
bool less(Real a, Real b) { return !std::isnan(a) && (std::isnan(b) || a < b); }

tn_status mode(Call&, Tensor values, Tensor indices, Tensor self, int64_t d, bool keepdim) {
  const int dim = wrap_dim(d, self.ndim());
  const int64_t length = self.ndim() ? self.size(dim) : 1;
  each(values.sizes(), [&](const Index& o) {
    Index i = o;
    if (self.ndim() && !keepdim) i.insert(i.begin() + dim, 0);
    const auto element = [&](int64_t k) {
      if (self.ndim()) i[at(dim)] = k;
      return get(self, i);
    };
    int64_t best = -1, most = 0;
    for (int64_t k = 0; k < length; ++k) {
      const Real v = element(k);
      int64_t same = 0, last = k;
      for (int64_t j = 0; j < length; ++j) {
        if (element(j) == v) ++same, last = j;
      }
      same = std::max<int64_t>(same, 1);
      if (best < 0 || same > most || (same == most && less(v, element(best))))
        best = last, most = same;
    }
    put(values, o, element(best));
    put(indices, o, Real(best));
  });
  return TN_OK;
}

tn_status histc(Call&, Tensor out, Tensor self, int64_t bins, Scalar min, Scalar max) {
  Real low = number(min), high = number(max);
  const bool given = low != high;
  bool first = !given;
  each(self.sizes(), [&](const Index& i) {
    const Real v = get(self, i);
    if (given) return;
    low = first || !(v >= low) ? v : low;
    high = first || !(v <= high) ? v : high;
    first = false;
  });
  if (low == high) low -= 1, high += 1;
  if (!std::isfinite(low) || !std::isfinite(high))
    throw Error(TN_ERROR_VALUE, "histc: the range is not finite");
  std::vector<int64_t> counts(at(bins));
  each(self.sizes(), [&](const Index& i) {
    const Real v = get(self, i);
    if (!(v >= low && v <= high)) return;
    ++counts[at(std::min(bins - 1,
                         static_cast<int64_t>(std::floor((v - low) * Real(bins) / (high - low)))))];
  });
  for (int64_t i = 0; i < bins; ++i) put(out, {i}, Real(counts[at(i)]));
  return TN_OK;
}

tn_status histogram(Call&, Tensor out, Tensor self, Tensor edges, OptTensor weight) {
  const int64_t bins = out.size(0);
  std::vector<Real> sums(at(bins));
  each(self.sizes(), [&](const Index& i) {
    const Real v = get(self, i);
    for (int64_t b = 0; b < bins; ++b) {
      const Real low = get(edges, {b}), high = get(edges, {b + 1});
      if (v >= low && (v < high || (b == bins - 1 && v == high)))
        sums[at(b)] += weight.defined() ? get(weight, i) : 1;
    }
  });
  for (int64_t b = 0; b < bins; ++b) put(out, {b}, sums[at(b)]);
  return TN_OK;
}

tn_status frexp(Call&, Tensor mantissa, Tensor exponent, Tensor self) {
  each(self.sizes(), [&](const Index& i) {
    int e = 0;
    put(mantissa, i, std::frexp(get(self, i), &e));
    put(exponent, i, Real(e));
  });
  return TN_OK;
}

// By the integral of t^(a-1) e^-t from 0 to x as a power series; where most of the mass lies below
// x, its tail by the continued fraction, evaluated from its end.
Real lower(Real a, Real x) {
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x))) return NAN;
  if (a == 0 || std::isinf(x)) return 1;
  if (x == 0 || std::isinf(a)) return 0;
  const Real factor = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x > a + 40) {
    Real tail = 0;
    for (int n = 400; n > 0; --n) tail = n * (n - a) / (x + 2 * n + 1 - a - tail);
    return 1 - factor / (x + 1 - a - tail);
  }
  Real sum = 0, term = 1 / a;
  for (int n = 1; term > sum * 1e-22L; ++n) {
    sum += term;
    term *= x / (a + n);
  }
  return factor * sum;
}

template <bool upper>
tn_status gamma(Call&, Tensor out, Tensor self, Tensor other) {
  each(out.sizes(), [&](const Index& i) {
    const Real p = lower(get_broadcast(self, i), get_broadcast(other, i));
    put(out, i, upper ? 1 - p : p);
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(mode, mode, dtypes("all").any_strides());
TN_KERNEL(_histogram, histogram, dtypes("floating").any_strides());
TN_KERNEL(histc, histc, dtypes("floating").any_strides());
TN_KERNEL(frexp_Tensor, frexp, dtypes("floating").any_strides());
TN_KERNEL(igamma, gamma<false>, dtypes("floating").any_strides());
TN_KERNEL(igammac, gamma<true>, dtypes("floating").any_strides());
