// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// cumsum, cumprod, logcumsumexp, cummax and cummin along a dimension. Inputs arrive contiguous, as
// [outer, length, inner]. Floats accumulate in float64, integers in int64.
#include <cmath>
#include <limits>

#include "plugin_cpu/rowwise/scan.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/cummax.h"
#include "tenon/sdk/ops/cummin.h"
#include "tenon/sdk/ops/cumprod.h"
#include "tenon/sdk/ops/cumsum.h"
#include "tenon/sdk/ops/logcumsumexp.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

constexpr int64_t kGrain = 32768;

// f(first element, step, length) for each line along `dim`.
template <class F>
void for_lines(const Tensor& t, int64_t dim, F&& f) {
  if (t.numel() == 0) return;
  int64_t length = 1, inner = 1;
  if (t.ndim() > 0) {
    const int d = wrap_dim(dim, t.ndim());
    length = t.size(d);
    for (int i = d + 1; i < t.ndim(); ++i) inner *= t.size(i);
  }
  parallel_for(t.numel() / length, kGrain / length + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i / inner * inner * length + i % inner, inner, length);
  });
}

template <class T>
using Sum = std::conditional_t<std::is_same_v<accumulate_t<T>, int64_t>, int64_t, double>;

struct Add {
  template <class A>
  static A start() {
    return A(0);
  }
  template <class A>
  static A step(A a, A v) {
    return a + v;
  }
};
struct Multiply {
  template <class A>
  static A start() {
    return A(1);
  }
  template <class A>
  static A step(A a, A v) {
    return a * v;
  }
};
struct LogAddExp {
  template <class A>
  static A start() {
    return -std::numeric_limits<A>::infinity();
  }
  template <class A>
  static A step(A a, A v) {
    const A high = a > v || a != a ? a : v, low = a > v || a != a ? v : a;
    if (std::isinf(high) && high == low) return high;
    return high + std::log1p(std::exp(low - high));
  }
};

// Four elements at a time where they are neighbors: what each adds to the running sum does not
// depend on it. Not in float64, which has no wider type: there a partial sum of four may overflow
// or underflow although no result does.
template <class Op, class T>
void scan_run(const T* in, T* to, int64_t n) {
  using A = Sum<T>;
  if constexpr (std::is_same_v<Op, Add> && std::is_same_v<T, float>) return running_sum(in, to, n);
  const auto load = [&](int64_t i) { return static_cast<A>(static_cast<compute_t<T>>(in[i])); };
  const auto store = [&](int64_t i, A a) { to[i] = static_cast<T>(static_cast<compute_t<T>>(a)); };
  A a = Op::template start<A>();
  int64_t i = 0;
  for (; !std::is_same_v<T, double> && i + 4 <= n; i += 4) {
    const A first = load(i), second = Op::step(first, load(i + 1)), next = load(i + 2);
    const A third = Op::step(second, next), all = Op::step(second, Op::step(next, load(i + 3)));
    store(i, Op::step(a, first));
    store(i + 1, Op::step(a, second));
    store(i + 2, Op::step(a, third));
    a = Op::step(a, all);
    store(i + 3, a);
  }
  for (; i < n; ++i) {
    a = Op::step(a, load(i));
    store(i, a);
  }
}

template <class Op>
void scan(const Tensor& out, const Tensor& self, int64_t dim) {
  const auto body = [&](auto tag) {
    using T = tn_type(tag);
    const T* in = self.data<T>();
    T* to = out.data<T>();
    for_lines(self, dim, [&](int64_t at, int64_t step, int64_t n) {
      if (!std::is_same_v<Op, LogAddExp> && step == 1) return scan_run<Op>(in + at, to + at, n);
      auto a = Op::template start<Sum<T>>();
      for (int64_t i = 0; i < n; ++i, at += step) {
        a = Op::step(a, static_cast<Sum<T>>(static_cast<compute_t<T>>(in[at])));
        to[at] = static_cast<T>(static_cast<compute_t<T>>(a));
      }
    });
  };
  if constexpr (std::is_same_v<Op, LogAddExp>)
    dispatch_floating(self.dtype(), body);
  else
    dispatch_all(self.dtype(), body);
}

tn_status cumsum(Call&, Tensor out, Tensor self, int64_t dim, std::optional<DType>) {
  scan<Add>(out, self, dim);
  return TN_OK;
}
tn_status cumprod(Call&, Tensor out, Tensor self, int64_t dim, std::optional<DType>) {
  scan<Multiply>(out, self, dim);
  return TN_OK;
}
tn_status logcumsumexp(Call&, Tensor out, Tensor self, int64_t dim) {
  scan<LogAddExp>(out, self, dim);
  return TN_OK;
}

// Of equal elements the last; NaN stays.
template <bool kMax>
tn_status extremum(Call&, Tensor values, Tensor indices, Tensor self, int64_t dim) {
  dispatch_all(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = compute_t<T>;
    const T* in = self.data<T>();
    T* to = values.data<T>();
    int64_t* where = indices.data<int64_t>();
    for_lines(self, dim, [&](int64_t at, int64_t step, int64_t n) {
      C best = static_cast<C>(in[at]);
      int64_t index = 0;
      for (int64_t i = 0; i < n; ++i, at += step) {
        const C v = static_cast<C>(in[at]);
        if (v != v || (best == best && (kMax ? v >= best : v <= best))) best = v, index = i;
        to[at] = static_cast<T>(best);
        where[at] = index;
      }
    });
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(cumsum, cumsum, dtypes("all"));
TN_KERNEL(cumprod, cumprod, dtypes("all"));
TN_KERNEL(logcumsumexp, logcumsumexp, dtypes("floating"));
TN_KERNEL(cummax, extremum<true>, dtypes("all"));
TN_KERNEL(cummin, extremum<false>, dtypes("all"));

}  // namespace tenon::cpu
