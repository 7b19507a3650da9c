// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// topk and kthvalue over slices of a dimension. Of equal elements the first are taken.
#include <algorithm>

#include "plugin_cpu/rowwise/slices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/kernels/topk.cpp"
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
#include "tenon/sdk/ops/topk.h"

namespace tenon::cpu {

TENON_EXPORT(skip_keys);

namespace {

using namespace sdk;

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
