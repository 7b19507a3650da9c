// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// argmax, argmin, and max and min along a dimension with their indices: of equal elements the
// first, NaN before all. Inputs arrive contiguous, as [outer, length, inner].
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/argmax.h"
#include "tenon/sdk/ops/argmin.h"
#include "tenon/sdk/ops/max.h"
#include "tenon/sdk/ops/min.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

constexpr int64_t kGrain = 32768;
constexpr int64_t kColumns = 256;

struct Shape {
  int64_t outer = 1, length = 1, inner = 1;
  Shape(const Tensor& t, int64_t dim) {
    if (t.ndim() == 0) return;
    const int d = wrap_dim(dim, t.ndim());
    for (int i = 0; i < d; ++i) outer *= t.size(i);
    length = t.size(d);
    for (int i = d + 1; i < t.ndim(); ++i) inner *= t.size(i);
  }
};

template <bool kMax, class C>
bool better(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (b != b) return false;
    return a != a || (kMax ? a > b : a < b);
  } else {
    return kMax ? a > b : a < b;
  }
}

// Eight candidates side by side, so that comparisons do not wait for each other.
template <bool kMax, class T>
int64_t best_of_row(const T* p, int64_t n) {
  using C = compute_t<T>;
  constexpr int kLanes = 8;
  C value[kLanes] = {};
  int64_t at[kLanes];
  const int lanes = n < kLanes ? static_cast<int>(n) : kLanes;
  for (int l = 0; l < lanes; ++l) value[l] = static_cast<C>(p[l]), at[l] = l;
  int64_t i = lanes;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const C v = static_cast<C>(p[i + l]);
      const bool take = better<kMax>(v, value[l]);
      value[l] = take ? v : value[l];
      at[l] = take ? i + l : at[l];
    }
  }
  for (int l = 0; i < n; ++i, ++l) {
    const C v = static_cast<C>(p[i]);
    if (better<kMax>(v, value[l])) value[l] = v, at[l] = i;
  }
  int best = 0;
  for (int l = 1; l < lanes; ++l) {
    const bool tie = !better<kMax>(value[l], value[best]) && !better<kMax>(value[best], value[l]);
    if (tie ? at[l] < at[best] : better<kMax>(value[l], value[best])) best = l;
  }
  return at[best];
}

template <bool kMax, class T>
void best_of_columns(const T* p, int64_t length, int64_t inner, int64_t n, int64_t* at) {
  using C = compute_t<T>;
  C value[kColumns];
  for (int64_t j = 0; j < n; ++j) value[j] = static_cast<C>(p[j]), at[j] = 0;
  for (int64_t r = 1; r < length; ++r) {
    const T* row = p + r * inner;
    for (int64_t j = 0; j < n; ++j) {
      const C v = static_cast<C>(row[j]);
      const bool take = better<kMax>(v, value[j]);
      value[j] = take ? v : value[j];
      at[j] = take ? r : at[j];
    }
  }
}

// values may be undefined.
template <bool kMax>
void run(const Tensor& self, const Shape& s, const Tensor& values, const Tensor& indices) {
  if (s.outer * s.inner == 0) return;
  if (s.length == 0) throw Error(TN_ERROR_INDEX, "cannot reduce over a dimension of size 0");
  dispatch_all(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T* in = self.data<T>();
    T* v = values.defined() ? values.data<T>() : nullptr;
    int64_t* at = indices.data<int64_t>();
    const int64_t blocks = (s.inner + kColumns - 1) / kColumns;
    const int64_t width = s.inner < kColumns ? s.inner : kColumns;
    const int64_t grain = kGrain / (width * s.length) + 1;
    parallel_for(s.outer * blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t o = task / blocks, j0 = task % blocks * kColumns;
        const int64_t n = s.inner - j0 < kColumns ? s.inner - j0 : kColumns, out = o * s.inner + j0;
        const T* p = in + o * s.length * s.inner + j0;
        if (s.inner == 1)
          at[out] = best_of_row<kMax>(p, s.length);
        else
          best_of_columns<kMax>(p, s.length, s.inner, n, at + out);
        for (int64_t j = 0; v && j < n; ++j) v[out + j] = p[at[out + j] * s.inner + j];
      }
    });
  });
}

template <bool kMax>
tn_status arg(Call&, Tensor out, Tensor self, std::optional<int64_t> dim, bool) {
  Shape s(self, dim.value_or(0));
  if (!dim) {
    s.outer = s.inner = 1;
    s.length = self.numel();
  }
  run<kMax>(self, s, Tensor(), out);
  return TN_OK;
}

template <bool kMax>
tn_status along(Call&, Tensor values, Tensor indices, Tensor self, int64_t dim, bool) {
  run<kMax>(self, Shape(self, dim), values, indices);
  return TN_OK;
}

}  // namespace

TN_KERNEL(argmax, arg<true>, dtypes("number"));
TN_KERNEL(argmin, arg<false>, dtypes("number"));
TN_KERNEL(max_dim, along<true>, dtypes("all"));
TN_KERNEL(min_dim, along<false>, dtypes("all"));

}  // namespace tenon::cpu
