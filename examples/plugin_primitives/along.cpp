// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// prim_reduce, prim_scan, prim_scatter, prim_argsort, gather and bmm: operators along a dimension.
#include <algorithm>
#include <numeric>
#include <vector>

#include "tenon/abi/primitives.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/bmm.h"
#include "tenon/sdk/ops/gather.h"
#include "tenon/sdk/ops/prim_argsort.h"
#include "tenon/sdk/ops/prim_reduce.h"
#include "tenon/sdk/ops/prim_scan.h"
#include "tenon/sdk/ops/prim_scatter.h"
#include "tenon/sdk/scalar_math.h"

namespace {

using namespace tenon::sdk;

// Elements of a tensor along a dimension. A 0-dim tensor counts as one dimension of size 1.
template <class T>
struct Line {
  T* p;
  int64_t stride;
  T& operator[](int64_t i) const { return p[i * stride]; }
};
template <class T>
Line<T> line(const Tensor& t, int dim, const std::vector<int64_t>& at) {
  T* p = t.data<T>();
  for (int d = 0; d < t.ndim(); ++d)
    p += d == dim ? 0 : at[static_cast<std::size_t>(d)] * t.stride(d);
  return {p, t.ndim() ? t.stride(dim) : 0};
}
int64_t length(const Tensor& t, int dim) { return t.ndim() ? t.size(dim) : 1; }

// f(position) for each line along `dim` of a shape; if dim is -1, for each element.
template <class F>
void for_each_line(const Tensor& t, int dim, F f) {
  std::vector<int64_t> at(static_cast<std::size_t>(t.ndim()));
  int64_t n = 1;
  for (int d = 0; d < t.ndim(); ++d) n *= d == dim ? 1 : t.size(d);
  for (; n > 0; --n) {
    f(at);
    for (int d = t.ndim() - 1; d >= 0; --d) {
      if (d == dim) continue;
      if (++at[static_cast<std::size_t>(d)] < t.size(d)) break;
      at[static_cast<std::size_t>(d)] = 0;
    }
  }
}

// The type of accumulation: double, or 64 bits that wrap.
template <class T>
using Sum = std::conditional_t<is_half_v<T> || std::is_floating_point_v<T>, double,
                               std::conditional_t<std::is_same_v<T, bool>, bool, uint64_t>>;

template <class A>
A combine(int64_t code, A a, A b) {
  switch (code) {
    case TN_REDUCE_SUM:
      return static_cast<A>(a + b);
    case TN_REDUCE_PROD:
      return static_cast<A>(a * b);
    case TN_REDUCE_MAX:
      return math::maximum(a, b);
    default:
      return math::minimum(a, b);
  }
}

template <class T>
T convert_sum(Sum<T> v) {
  if constexpr (is_half_v<T>)
    return T(static_cast<float>(v));
  else
    return static_cast<T>(v);
}

template <class T>
void reduce_or_scan(const Tensor& out, const Tensor& self, int dim, int64_t code, bool scan) {
  const int64_t n = length(self, dim);
  for_each_line(self, dim, [&](const std::vector<int64_t>& at) {
    const Line<T> x = line<T>(self, dim, at), y = line<T>(out, dim, at);
    if (n == 0 && !scan) y[0] = T(code == TN_REDUCE_PROD ? 1 : 0);
    const auto run = [&](auto acc) {
      using A = decltype(acc);
      for (int64_t i = 0; i < n; ++i) {
        acc = i == 0 ? static_cast<A>(x[0]) : combine<A>(code, acc, static_cast<A>(x[i]));
        if (!scan && i + 1 < n) continue;
        if constexpr (std::is_same_v<A, Sum<T>>)
          y[scan ? i : 0] = convert_sum<T>(acc);
        else
          y[scan ? i : 0] = T(acc);
      }
    };
    if (code <= TN_REDUCE_PROD)
      run(Sum<T>());
    else
      run(compute_t<T>());
  });
}

template <class T>
int64_t find_extremum(const Line<T>& x, int64_t n, bool largest) {
  using C = compute_t<T>;
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i) {
    const C a = x[best], b = x[i];
    if (a == a && (b != b || (largest ? b > a : b < a))) best = i;
  }
  return best;
}

tn_status prim_reduce(Call&, Tensor out, Tensor self, int64_t d, int64_t code) {
  const int dim = wrap_dim(d, self.ndim());
  const int64_t n = length(self, dim);
  dispatch_all(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    if (code <= TN_REDUCE_MIN) return reduce_or_scan<T>(out, self, dim, code, false);
    for_each_line(self, dim, [&](const std::vector<int64_t>& at) {
      const Line<T> x = line<T>(self, dim, at);
      if (code <= TN_REDUCE_ARGMIN) {
        line<int64_t>(out, dim, at)[0] = find_extremum(x, n, code == TN_REDUCE_ARGMAX);
        return;
      }
      bool any = false, all = true;
      for (int64_t i = 0; i < n; ++i)
        (static_cast<compute_t<T>>(x[i]) != 0 ? any : all) = x[i] != compute_t<T>(0);
      line<bool>(out, dim, at)[0] = code == TN_REDUCE_ANY ? any : all;
    });
  });
  return TN_OK;
}

tn_status prim_scan(Call&, Tensor out, Tensor self, int64_t d, int64_t code) {
  dispatch_all(self.dtype(), [&](auto tag) {
    reduce_or_scan<tn_type(tag)>(out, self, wrap_dim(d, self.ndim()), code, true);
  });
  return TN_OK;
}

int64_t check_index(int64_t i, int64_t n) {
  if (i < 0 || i >= n)
    throw Error(TN_ERROR_INDEX, "index ", i, " is out of bounds for a dimension of size ", n);
  return i;
}

tn_status gather(Call&, Tensor out, Tensor self, int64_t d, Tensor index, bool) {
  const int dim = wrap_dim(d, self.ndim());
  const int64_t n = length(self, dim);
  if (index.numel() == 0) return TN_OK;  // an empty index may have any dtype
  dispatch_size(out.dtype(), [&](auto tag) {
    dispatch_index(index.dtype(), [&](auto index_tag) {
      for_each_line(index, dim, [&](const std::vector<int64_t>& at) {
        const auto x = line<tn_type(tag)>(self, dim, at), y = line<tn_type(tag)>(out, dim, at);
        const auto k = line<tn_type(index_tag)>(index, dim, at);
        for (int64_t i = 0; i < length(index, dim); ++i) y[i] = x[check_index(k[i], n)];
      });
    });
  });
  return TN_OK;
}

template <class T>
T combine_scattered(int64_t code, T a, T b) {
  using C = compute_t<T>;
  const C x = a, y = b;
  switch (code) {
    case TN_SCATTER_ADD:
      return T(static_cast<C>(x + y));
    case TN_SCATTER_MUL:
      return T(static_cast<C>(x * y));
    case TN_SCATTER_MAX:
      return T(math::maximum<C>(x, y));
    case TN_SCATTER_MIN:
      return T(math::minimum<C>(x, y));
    default:
      return b;
  }
}

tn_status prim_scatter(Call&, Tensor out, Tensor self, int64_t d, Tensor index, Tensor src,
                       int64_t code) {
  if (code > TN_SCATTER_MUL) return TN_DECLINED;
  const int dim = wrap_dim(d, self.ndim());
  const int64_t n = length(self, dim);
  dispatch_all(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    for_each_line(self, dim, [&](const std::vector<int64_t>& at) {
      const auto x = line<T>(self, dim, at), y = line<T>(out, dim, at);
      for (int64_t i = 0; i < n; ++i) y[i] = x[i];
    });
    if (index.numel() == 0) return;
    dispatch_index(index.dtype(), [&](auto index_tag) {
      for_each_line(index, dim, [&](const std::vector<int64_t>& at) {
        const auto s = line<T>(src, dim, at), y = line<T>(out, dim, at);
        const auto k = line<tn_type(index_tag)>(index, dim, at);
        for (int64_t i = 0; i < length(index, dim); ++i) {
          T& element = y[check_index(k[i], n)];
          element = combine_scattered(code, element, s[i]);
        }
      });
    });
  });
  return TN_OK;
}

tn_status prim_argsort(Call&, Tensor out, Tensor self, bool descending) {
  const int dim = self.ndim() ? self.ndim() - 1 : 0;
  dispatch_all(self.dtype(), [&](auto tag) {
    using C = compute_t<tn_type(tag)>;
    std::vector<int64_t> order(static_cast<std::size_t>(length(self, dim)));
    for_each_line(self, dim, [&](const std::vector<int64_t>& at) {
      const auto x = line<tn_type(tag)>(self, dim, at);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        const C a = x[descending ? j : i], b = x[descending ? i : j];
        return a < b || (a == a && b != b);
      });
      const auto y = line<int64_t>(out, dim, at);
      for (std::size_t i = 0; i < order.size(); ++i) y[static_cast<int64_t>(i)] = order[i];
    });
  });
  return TN_OK;
}

tn_status bmm(Call&, Tensor out, Tensor a, Tensor b) {
  dispatch_number(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    for_each_line(out, -1, [&](const std::vector<int64_t>& at) {
      const auto x = line<T>(a, 2, {at[0], at[1], 0}), y = line<T>(b, 1, {at[0], 0, at[2]});
      Sum<T> sum = 0;
      for (int64_t k = 0; k < a.size(2); ++k)
        sum += static_cast<Sum<T>>(x[k]) * static_cast<Sum<T>>(y[k]);
      line<T>(out, 2, {at[0], at[1], 0})[at[2]] = convert_sum<T>(sum);
    });
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(prim_reduce, prim_reduce, any_strides());
TN_KERNEL(prim_scan, prim_scan, any_strides());
TN_KERNEL(prim_scatter, prim_scatter, any_strides().mixed_dtypes());
TN_KERNEL(prim_argsort, prim_argsort, any_strides());
TN_KERNEL(gather, gather, any_strides().mixed_dtypes());
TN_KERNEL(bmm, bmm, dtypes("number").any_strides());
