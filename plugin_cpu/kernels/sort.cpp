// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// sort, topk, kthvalue over slices of a dimension. Elements become unsigned keys in the order of
// their values, NaN greatest, both zeros equal; descending order flips the keys, so that equal
// elements keep their order in both. Long slices are sorted by radix, which is stable and does not
// depend on the values.
#include <algorithm>
#include <cstring>

#include "plugin_cpu/rowwise/sort_keys.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/kernels/sort.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

constexpr int64_t kStep = 64;

template <class T>
HWY_INLINE key_t<T> min_key(const T* x, key_t<T> mask) {
  using K = key_t<T>;
  K lowest = static_cast<K>(~K{0});
  for (int64_t j = 0; j < kStep; ++j) {
    const K key = static_cast<K>(sort_key(x[j]) ^ mask);
    lowest = key < lowest ? key : lowest;
  }
  return lowest;
}

// The first multiple of 64 from which on 64 elements include a key up to `bound`, or where fewer
// than 64 are left.
int64_t skip_keys(sdk::DType dtype, const void* at, int64_t n, bool flip, uint64_t bound) {
  int64_t i = 0;
  sdk::dispatch_number(dtype, [&](auto tag) HWY_ATTR {
    using T = tn_type(tag);
    using K = key_t<T>;
    const T* x = static_cast<const T*>(at);
    const K mask = flip ? static_cast<K>(~K{0}) : K{0};
    while (i + kStep <= n && min_key(x + i, mask) > static_cast<K>(bound)) i += kStep;
  });
  return i;
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tenon/sdk/ops/kthvalue.h"
#include "tenon/sdk/ops/sort.h"
#include "tenon/sdk/ops/topk.h"

namespace tenon::cpu {

TENON_EXPORT(skip_keys);

namespace {

using namespace sdk;

// One slice: `at` points to its first element, `stride` is in bytes.
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

// Operands: values, indices, self.
template <class T>
void write_sorted(char* const* p, const int64_t* stride, const Keyed<key_t<T>>* order, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t from = order[i].index;
    *reinterpret_cast<T*>(p[0] + i * stride[0]) =
        *reinterpret_cast<const T*>(p[2] + from * stride[2]);
    *reinterpret_cast<int64_t*>(p[1] + i * stride[1]) = from;
  }
}

void check_length(int64_t n) {
  if (n > int64_t{UINT32_MAX})
    throw Error(TN_ERROR_UNSUPPORTED, "a dimension of ", n, " elements is too long to sort");
}

// f(pointers to values, indices, self, scratch) for each slice. `kept` is the length of values and
// indices.
template <class T, class F>
void each_slice(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t dim,
                F&& f) {
  check_length(self.ndim() ? self.size(wrap_dim(dim, self.ndim())) : 1);
  AlongDim loop(self.sizes(), dim);
  if (loop.rest.numel == 0) return;
  loop.add(values);
  loop.add(indices);
  loop.add(self);
  loop.rest.finish(2);
  const int64_t grain = std::max<int64_t>(1, (kMoveGrain / 8) / std::max<int64_t>(1, loop.length));
  parallel_for(loop.rest.numel, grain, [&](int64_t begin, int64_t end) {
    std::vector<Keyed<key_t<T>>> keys;
    loop.rest.run(begin, end, [&](char* const* base, const int64_t* s, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        char* p[3] = {base[0] + i * s[0], base[1] + i * s[1], base[2] + i * s[2]};
        f(p, loop.stride, loop.length, keys);
      }
    });
  });
}

tn_status sort(Call&, Tensor values, Tensor indices, Tensor self, std::optional<bool>, int64_t dim,
               bool descending) {
  dispatch_all(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    each_slice<T>(values, indices, self, dim,
                  [&](char* const* p, const int64_t* s, int64_t n, auto& keys) {
                    read_keys<T>(p[2], s[2], n, descending, keys);
                    sort_keys(keys);
                    write_sorted<T>(p, s, keys.data(), n);
                  });
  });
  return TN_OK;
}
TN_KERNEL(sort_stable, sort, dtypes("all").any_strides());

// The k first of keys that a row yields, unordered: candidates above a rising threshold, cut back
// when they are many.
template <class T>
void first_keys(DType dtype, const char* at, int64_t stride, int64_t n, int64_t k, bool flip,
                std::vector<Keyed<key_t<T>>>& kept) {
  using K = key_t<T>;
  const K mask = flip ? static_cast<K>(~K{0}) : K{0};
  const std::size_t limit =
      static_cast<std::size_t>(std::min(n, std::max<int64_t>(2 * k, k + 256)));
  kept.clear();
  kept.reserve(limit + 1);
  K bound = static_cast<K>(~K{0});
  auto cut = [&] {
    std::nth_element(kept.begin(), kept.begin() + (k - 1), kept.end());
    kept.resize(static_cast<std::size_t>(k));
    bound = kept.back().key;
  };
  auto offer = [&](int64_t i, K key) {
    if (key > bound || (key == bound && kept.size() >= static_cast<std::size_t>(k) &&
                        bound != static_cast<K>(~K{0})))
      return;
    kept.push_back({key, static_cast<uint32_t>(i)});
    if (kept.size() >= limit && kept.size() > static_cast<std::size_t>(k)) cut();
  };
  constexpr int64_t step = 64;
  const auto take = [&](int64_t i) {
    offer(i, static_cast<K>(sort_key(*reinterpret_cast<const T*>(at + i * stride)) ^ mask));
  };
  int64_t i = 0;
  while (stride == sizeof(T) && i + step <= n) {
    if (kept.size() >= static_cast<std::size_t>(k)) {
      i += TENON_DISPATCH(skip_keys)(dtype, at + i * stride, n - i, flip, bound);
    }
    for (const int64_t end = std::min(n, i + step); i < end; ++i) take(i);
  }
  for (; i < n; ++i) take(i);
  if (kept.size() > static_cast<std::size_t>(k)) cut();
}

tn_status topk(Call&, Tensor values, Tensor indices, Tensor self, int64_t k, int64_t dim,
               bool largest, bool) {
  if (k == 0) return TN_OK;
  dispatch_number(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    each_slice<T>(values, indices, self, dim,
                  [&](char* const* p, const int64_t* s, int64_t n, auto& keys) {
                    first_keys<T>(self.dtype(), p[2], s[2], n, k, largest, keys);
                    std::sort(keys.begin(), keys.end());
                    write_sorted<T>(p, s, keys.data(), k);
                  });
  });
  return TN_OK;
}
TN_KERNEL(topk, topk, dtypes("number").any_strides());

// With keepdim the results have a dimension of size 1 where self has its own; a view without it
// fits the slices.
tn_status kthvalue(Call&, Tensor values, Tensor indices, Tensor self, int64_t k, int64_t given,
                   bool keepdim) {
  const int dim = wrap_dim(given, self.ndim());
  Part v(values), x(indices);
  if (!keepdim && self.ndim() > 0) {
    for (Part* part : {&v, &x}) {
      for (int d = self.ndim() - 1; d > dim; --d) part->strides[d] = part->strides[d - 1];
      part->strides[dim] = 0;
      part->view.ndim = self.ndim();
    }
  }
  dispatch_number(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    each_slice<T>(v.tensor(), x.tensor(), self, dim,
                  [&](char* const* p, const int64_t* s, int64_t n, auto& keys) {
                    read_keys<T>(p[2], s[2], n, false, keys);
                    std::nth_element(keys.begin(), keys.begin() + (k - 1), keys.end());
                    write_sorted<T>(p, s, keys.data() + (k - 1), 1);
                  });
  });
  return TN_OK;
}
TN_KERNEL(kthvalue, kthvalue, dtypes("number").any_strides());

}  // namespace
}  // namespace tenon::cpu
#endif
