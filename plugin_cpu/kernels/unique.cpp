// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The unique operators: elements, or slices of a dimension, are ordered or kept in their order, and
// equal neighbors become one.
#include "tenon/sdk/ops/_unique2.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "plugin_cpu/rowwise/sort_keys.h"
#include "tenon/sdk/ops/unique_consecutive.h"
#include "tenon/sdk/ops/unique_dim.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

// Which of `order` begin a run of equal ones, as group numbers by position in the order.
template <class Same>
std::vector<int64_t> group(const std::vector<int64_t>& order, Same&& same) {
  std::vector<int64_t> out(order.size());
  int64_t g = -1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !same(order[i - 1], order[i])) ++g;
    out[i] = g;
  }
  return out;
}

int64_t groups_of(const std::vector<int64_t>& group) {
  return group.empty() ? 0 : group.back() + 1;
}

// Outputs 1 and 2: the group of each element in the shape of `inverse_sizes`, and how many elements
// a group has.
void write_inverse_counts(Call& call, const std::vector<int64_t>& order,
                          const std::vector<int64_t>& group, Ints inverse_sizes, bool inverse,
                          bool counts) {
  const int64_t none = 0, n = groups_of(group);
  Tensor in = call.alloc_out(1, inverse ? inverse_sizes : Ints(&none, 1), kInt64);
  Tensor ct = call.alloc_out(2, Ints(counts ? &n : &none, 1), kInt64);
  if (inverse) {
    int64_t* p = in.data<int64_t>();
    for (std::size_t i = 0; i < order.size(); ++i) p[order[i]] = group[i];
  }
  if (counts) {
    int64_t* p = ct.data<int64_t>();
    std::fill_n(p, n, int64_t{0});
    for (int64_t g : group) ++p[g];
  }
}

template <class T>
void unique_elements(Call& call, const Tensor& self, bool sorted, bool inverse, bool counts) {
  const T* x = self.data<T>();
  const int64_t n = self.numel();
  std::vector<int64_t> order(static_cast<std::size_t>(n));
  if (sorted) {
    std::vector<Keyed<key_t<T>>> keys(order.size());
    for (int64_t i = 0; i < n; ++i)
      keys[static_cast<std::size_t>(i)] = {sort_key(x[i]), static_cast<uint32_t>(i)};
    sort_keys(keys);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = keys[i].index;
  } else {
    std::iota(order.begin(), order.end(), 0);
  }
  // Two NaN are two different elements.
  const std::vector<int64_t> groups =
      group(order, [&](int64_t a, int64_t b) { return x[a] == x[b]; });
  const int64_t size = groups_of(groups);
  T* out = call.alloc_out(0, Ints(&size, 1), self.dtype()).data<T>();
  for (std::size_t i = order.size(); i-- > 0;) out[groups[i]] = x[order[i]];
  write_inverse_counts(call, order, groups, self.sizes(), inverse, counts);
}

tn_status unique2(Call& call, Tensor, Tensor, Tensor, Tensor self, bool, bool inverse,
                  bool counts) {
  dispatch_all(self.dtype(),
               [&](auto tag) { unique_elements<tn_type(tag)>(call, self, true, inverse, counts); });
  return TN_OK;
}
TN_KERNEL(_unique2, unique2, dtypes("all").dynamic());

// Slices of a dimension as rows of a matrix. As in ATen, inverse and counts are given whether asked
// for or not.
template <class T>
void unique_slices(Call& call, const Tensor& self, int64_t given, bool sorted) {
  const int dim = wrap_dim(given, self.ndim());
  if (self.ndim() == 0) return unique_elements<T>(call, self, sorted, true, true);
  const int64_t n = self.size(dim);
  int64_t outer = 1, inner = 1;
  for (int d = 0; d < dim; ++d) outer *= self.size(d);
  for (int d = dim + 1; d < self.ndim(); ++d) inner *= self.size(d);
  const T* x = self.data<T>();
  // f(element of slice a, of slice b) until it is true.
  auto any = [&](int64_t a, int64_t b, auto&& f) {
    for (int64_t o = 0; o < outer; ++o) {
      const T *p = x + (o * n + a) * inner, *q = x + (o * n + b) * inner;
      for (int64_t i = 0; i < inner; ++i) {
        if (f(p[i], q[i])) return true;
      }
    }
    return false;
  };
  auto before = [&](int64_t a, int64_t b) {
    bool less = false;
    any(a, b, [&](T p, T q) {
      if (p == q) return false;
      less = sort_key(p) < sort_key(q);
      return sort_key(p) != sort_key(q);  // two NaN do not decide
    });
    return less;
  };
  auto same = [&](int64_t a, int64_t b) { return !any(a, b, [](T p, T q) { return p != q; }); };
  std::vector<int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (sorted) std::stable_sort(order.begin(), order.end(), before);
  const std::vector<int64_t> groups = group(order, same);
  const int64_t kept = groups_of(groups);
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  sizes[static_cast<std::size_t>(dim)] = kept;
  T* out = call.alloc_out(0, Ints(sizes.data(), self.ndim()), self.dtype()).data<T>();
  for (std::size_t i = order.size(); i-- > 0;) {
    for (int64_t o = 0; o < outer; ++o) {
      std::copy_n(x + (o * n + order[i]) * inner, inner, out + (o * kept + groups[i]) * inner);
    }
  }
  write_inverse_counts(call, order, groups, Ints(&n, 1), true, true);
}

tn_status unique_dim(Call& call, Tensor, Tensor, Tensor, Tensor self, int64_t dim, bool, bool,
                     bool) {
  dispatch_all(self.dtype(), [&](auto tag) { unique_slices<tn_type(tag)>(call, self, dim, true); });
  return TN_OK;
}
TN_KERNEL(unique_dim, unique_dim, dtypes("all").dynamic());

tn_status unique_consecutive(Call& call, Tensor, Tensor, Tensor, Tensor self, bool inverse,
                             bool counts, std::optional<int64_t> dim) {
  dispatch_all(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    if (dim && !(*dim == 0 && self.ndim() == 1))
      unique_slices<T>(call, self, *dim, false);
    else
      unique_elements<T>(call, self, false, inverse, counts);
  });
  return TN_OK;
}
TN_KERNEL(unique_consecutive, unique_consecutive, dtypes("all").dynamic());

}  // namespace
}  // namespace tenon::cpu
