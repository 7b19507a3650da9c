// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reductions: each result reads every element that belongs to it.
#include <algorithm>

#include "number.h"
#include "tenon/sdk/ops/all.h"
#include "tenon/sdk/ops/amax.h"
#include "tenon/sdk/ops/amin.h"
#include "tenon/sdk/ops/any.h"
#include "tenon/sdk/ops/argmax.h"
#include "tenon/sdk/ops/argmin.h"
#include "tenon/sdk/ops/max.h"
#include "tenon/sdk/ops/mean.h"
#include "tenon/sdk/ops/min.h"
#include "tenon/sdk/ops/norm.h"
#include "tenon/sdk/ops/prod.h"
#include "tenon/sdk/ops/sum.h"
#include "tenon/sdk/ops/var.h"
#include "tenon/sdk/ops/var_mean.h"

namespace {

using namespace tenon::ref;
using tenon::sdk::wrap_dim;
using MaybeDType = std::optional<DType>;
using MaybeInts = std::optional<Ints>;

// The dimensions to reduce. None given, or an empty list: all.
std::vector<bool> reduced(const Tensor& t, const int64_t* dims, int64_t n) {
  std::vector<bool> out(at(t.ndim()), n == 0);
  for (int64_t k = 0; k < n; ++k) {
    if (t.ndim()) out[at(wrap_dim(dims[k], t.ndim()))] = true;
  }
  return out;
}
std::vector<bool> reduced(const Tensor& t, const MaybeInts& dims) {
  return dims ? reduced(t, dims->data(), dims->size()) : reduced(t, nullptr, 0);
}

// f(position in the result, elements, their flat positions among the reduced dimensions) for every
// result.
template <class F>
void each_group(const Tensor& out, const Tensor& self, const std::vector<bool>& gone, F f) {
  const bool keep = out.ndim() == self.ndim();
  each(out.sizes(), [&](const Index& o) {
    std::vector<Real> group;
    each(self.sizes(), [&](const Index& i) {
      std::size_t next = 0;
      for (std::size_t d = 0; d < i.size(); ++d) {
        if (!gone[d] && i[d] != o[keep ? d : next]) return;
        next += !gone[d];
      }
      group.push_back(get(self, i));
    });
    f(o, group);
  });
}

template <class F>
tn_status reduce(Tensor out, Tensor self, const std::vector<bool>& gone, F f) {
  each_group(out, self, gone,
             [&](const Index& o, const std::vector<Real>& g) { put(out, o, f(g)); });
  return TN_OK;
}

using Group = std::vector<Real>;

Real total(const Group& g) {
  Real s = 0;
  for (Real v : g) s += v;
  return s;
}
Real product(const Group& g) {
  Real s = 1;
  for (Real v : g) s *= v;
  return s;
}
// NaN propagates.
std::size_t where_extreme(const Group& g, bool greatest) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (std::isnan(g[i])) return i;
    if (greatest ? g[i] > g[best] : g[i] < g[best]) best = i;
  }
  return best;
}
Real greatest(const Group& g) { return g[where_extreme(g, true)]; }
Real least(const Group& g) { return g[where_extreme(g, false)]; }
Real every(const Group& g) {
  return std::all_of(g.begin(), g.end(), [](Real v) { return v != 0; });
}
Real some(const Group& g) {
  return std::any_of(g.begin(), g.end(), [](Real v) { return v != 0; });
}
Real mean_of(const Group& g) { return total(g) / Real(g.size()); }
Real variance(const Group& g, Real correction) {
  const Real m = mean_of(g);
  Real s = 0;
  for (Real v : g) s += (v - m) * (v - m);
  return s / std::max(Real(0), Real(g.size()) - correction);
}
Real norm_of(const Group& g, Real p) {
  Real s = p == -HUGE_VALL ? HUGE_VALL : 0;
  for (Real v : g) {
    const Real a = std::fabs(v);
    if (p == 0)
      s += v != 0;
    else if (std::isinf(p))
      s = std::isnan(a) || std::isnan(s) ? a + s : p > 0 ? std::max(s, a) : std::min(s, a);
    else
      s += std::pow(a, p);
  }
  return p == 0 || std::isinf(p) ? s : std::pow(s, 1 / p);
}

tn_status sum(Call&, Tensor out, Tensor self, MaybeInts dim, bool, MaybeDType) {
  return reduce(out, self, reduced(self, dim), total);
}
tn_status mean(Call&, Tensor out, Tensor self, MaybeInts dim, bool, MaybeDType) {
  return reduce(out, self, reduced(self, dim), mean_of);
}
tn_status prod(Call&, Tensor out, Tensor self, MaybeDType) {
  return reduce(out, self, reduced(self, nullptr, 0), product);
}
tn_status prod_dim(Call&, Tensor out, Tensor self, int64_t dim, bool, MaybeDType) {
  return reduce(out, self, reduced(self, &dim, 1), product);
}
tn_status amax(Call&, Tensor out, Tensor self, Ints dim, bool) {
  return reduce(out, self, reduced(self, dim.data(), dim.size()), greatest);
}
tn_status amin(Call&, Tensor out, Tensor self, Ints dim, bool) {
  return reduce(out, self, reduced(self, dim.data(), dim.size()), least);
}
tn_status max_all(Call&, Tensor out, Tensor self) {
  return reduce(out, self, reduced(self, nullptr, 0), greatest);
}
tn_status min_all(Call&, Tensor out, Tensor self) {
  return reduce(out, self, reduced(self, nullptr, 0), least);
}

tn_status extreme_dim(Tensor values, Tensor indices, Tensor self, int64_t dim, bool most) {
  each_group(values, self, reduced(self, &dim, 1), [&](const Index& o, const Group& g) {
    const std::size_t k = where_extreme(g, most);
    put(values, o, g[k]);
    put(indices, o, Real(k));
  });
  return TN_OK;
}
tn_status max_dim(Call&, Tensor values, Tensor indices, Tensor self, int64_t dim, bool) {
  return extreme_dim(values, indices, self, dim, true);
}
tn_status min_dim(Call&, Tensor values, Tensor indices, Tensor self, int64_t dim, bool) {
  return extreme_dim(values, indices, self, dim, false);
}

tn_status arg(Tensor out, Tensor self, std::optional<int64_t> dim, bool most) {
  const int64_t d = dim.value_or(0);
  return reduce(out, self, reduced(self, &d, dim ? 1 : 0),
                [&](const Group& g) { return Real(where_extreme(g, most)); });
}
tn_status argmax(Call&, Tensor out, Tensor self, std::optional<int64_t> dim, bool) {
  return arg(out, self, dim, true);
}
tn_status argmin(Call&, Tensor out, Tensor self, std::optional<int64_t> dim, bool) {
  return arg(out, self, dim, false);
}

tn_status all(Call&, Tensor out, Tensor self) {
  return reduce(out, self, reduced(self, nullptr, 0), every);
}
tn_status any(Call&, Tensor out, Tensor self) {
  return reduce(out, self, reduced(self, nullptr, 0), some);
}
tn_status all_dim(Call&, Tensor out, Tensor self, int64_t dim, bool) {
  return reduce(out, self, reduced(self, &dim, 1), every);
}
tn_status any_dim(Call&, Tensor out, Tensor self, int64_t dim, bool) {
  return reduce(out, self, reduced(self, &dim, 1), some);
}

// Without a list all dimensions are reduced; with an empty one none.
std::vector<bool> listed(const Tensor& t, const MaybeInts& dims) {
  if (dims && dims->size() == 0) return std::vector<bool>(at(t.ndim()), false);
  return reduced(t, dims);
}
tn_status all_dims(Call&, Tensor out, Tensor self, MaybeInts dim, bool) {
  return reduce(out, self, listed(self, dim), every);
}
tn_status any_dims(Call&, Tensor out, Tensor self, MaybeInts dim, bool) {
  return reduce(out, self, listed(self, dim), some);
}

tn_status var(Call&, Tensor out, Tensor self, MaybeInts dim, std::optional<Scalar> correction,
              bool) {
  const Real c = correction ? number(*correction) : 1;
  return reduce(out, self, reduced(self, dim), [&](const Group& g) { return variance(g, c); });
}
tn_status var_mean(Call&, Tensor v, Tensor m, Tensor self, MaybeInts dim,
                   std::optional<Scalar> correction, bool) {
  const Real c = correction ? number(*correction) : 1;
  reduce(v, self, reduced(self, dim), [&](const Group& g) { return variance(g, c); });
  return reduce(m, self, reduced(self, dim), mean_of);
}
tn_status norm(Call&, Tensor out, Tensor self, std::optional<Scalar> p, Ints dim, bool) {
  const Real e = p ? number(*p) : 2;
  return reduce(out, self, reduced(self, dim.data(), dim.size()),
                [&](const Group& g) { return norm_of(g, e); });
}

}  // namespace

TN_KERNEL(sum_dim_IntList, sum, any_strides());
TN_KERNEL(mean_dim, mean, any_strides());
TN_KERNEL(prod, prod, any_strides());
TN_KERNEL(prod_dim_int, prod_dim, any_strides());
TN_KERNEL(amax, amax, any_strides());
TN_KERNEL(amin, amin, any_strides());
TN_KERNEL(max, max_all, any_strides());
TN_KERNEL(min, min_all, any_strides());
TN_KERNEL(max_dim, max_dim, any_strides());
TN_KERNEL(min_dim, min_dim, any_strides());
TN_KERNEL(argmax, argmax, any_strides());
TN_KERNEL(argmin, argmin, any_strides());
TN_KERNEL(all, all, any_strides());
TN_KERNEL(any, any, any_strides());
TN_KERNEL(all_dim, all_dim, any_strides());
TN_KERNEL(any_dim, any_dim, any_strides());
TN_KERNEL(all_dims, all_dims, any_strides());
TN_KERNEL(any_dims, any_dims, any_strides());
TN_KERNEL(var_correction, var, any_strides());
TN_KERNEL(var_mean_correction, var_mean, any_strides());
TN_KERNEL(norm_ScalarOpt_dim, norm, any_strides());
