// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Slices of a dimension as keys, for sorting and selecting. Elements become unsigned keys in the
// order of their values, NaN greatest, both zeros equal; descending order flips the keys, so that
// equal elements keep their order in both.
#pragma once

#include <algorithm>
#include <vector>

#include "plugin_cpu/rowwise/sort_keys.h"

namespace tenon::cpu {

// `at` points to the first element, `stride` is in bytes.
template <class T>
void read_keys(const char* at, int64_t stride, int64_t n, bool flip,
               std::vector<Keyed<key_t<T>>>& out) {
  out.resize(static_cast<std::size_t>(n));
  using K = key_t<T>;
  const K mask = flip ? static_cast<K>(~K{0}) : K{0};
  for (int64_t i = 0; i < n; ++i) {
    const K key = static_cast<K>(sort_key(*reinterpret_cast<const T*>(at + i * stride)) ^ mask);
    out[static_cast<std::size_t>(i)] = {key, static_cast<uint32_t>(i)};
  }
}

// The first n of `order`; operands: values, indices, self.
template <class T>
void write_sorted(char* const* p, const int64_t* stride, const Keyed<key_t<T>>* order, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t from = order[i].index;
    *reinterpret_cast<T*>(p[0] + i * stride[0]) =
        *reinterpret_cast<const T*>(p[2] + from * stride[2]);
    *reinterpret_cast<int64_t*>(p[1] + i * stride[1]) = from;
  }
}

inline void check_sortable(int64_t n) {
  if (n > int64_t{UINT32_MAX})
    throw sdk::Error(TN_ERROR_UNSUPPORTED, "a dimension of ", n, " elements is too long to sort");
}

// f(pointers to values, indices and self, strides, length, scratch for keys) for each slice.
template <class T, class F>
void each_slice(const sdk::Tensor& values, const sdk::Tensor& indices, const sdk::Tensor& self,
                int64_t dim, F&& f) {
  check_sortable(self.ndim() ? self.size(sdk::wrap_dim(dim, self.ndim())) : 1);
  AlongDim loop(self.sizes(), dim);
  if (loop.rest.numel == 0) return;
  loop.add(values);
  loop.add(indices);
  loop.add(self);
  loop.rest.finish(2);
  const int64_t grain = std::max<int64_t>(1, (kMoveGrain / 8) / std::max<int64_t>(1, loop.length));
  sdk::parallel_for(loop.rest.numel, grain, [&](int64_t begin, int64_t end) {
    std::vector<Keyed<key_t<T>>> keys;
    loop.rest.run(begin, end, [&](char* const* base, const int64_t* s, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        char* p[3] = {base[0] + i * s[0], base[1] + i * s[1], base[2] + i * s[2]};
        f(p, loop.stride, loop.length, keys);
      }
    });
  });
}

}  // namespace tenon::cpu
