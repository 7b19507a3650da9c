// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Index tensors: read as int64 and checked before anything is written.
#pragma once

#include <vector>

#include "plugin_cpu/memory/elements.h"
#include "tenon/sdk/loops.h"

namespace tenon::cpu {

[[noreturn]] __attribute__((cold, noinline)) inline void out_of_bounds(int64_t index, int dim,
                                                                       int64_t size) {
  throw sdk::Error(TN_ERROR_INDEX, "index ", index, " is out of bounds for dimension ", dim,
                   " of size ", size);
}

// f(index value as int64) for every element, in no particular order, on several threads.
template <class F>
void each_index(const sdk::Tensor& index, F&& f) {
  sdk::StridedLoop loop(index.sizes());
  if (loop.numel == 0) return;
  loop.add(index);
  loop.finish();
  sdk::dispatch_index(index.dtype(), [&](auto tag) {
    using I = tn_type(tag);
    sdk::parallel_for(loop.numel, kMoveGrain, [&](int64_t begin, int64_t end) {
      loop.run(begin, end, [&](char* const* p, const int64_t* s, int64_t n) {
        for (int64_t i = 0; i < n; ++i)
          f(static_cast<int64_t>(*reinterpret_cast<const I*>(p[0] + i * s[0])));
      });
    });
  });
}

// Every index is in [0, size).
inline void check_indices(const sdk::Tensor& index, int dim, int64_t size) {
  each_index(index, [&](int64_t v) {
    if (v < 0 || v >= size) out_of_bounds(v, dim, size);
  });
}

// What negative indices are: out of bounds, or counted from the end.
enum class Negative { Refused, FromEnd };

// All elements in row-major order, checked; each is in [0, size).
inline std::vector<int64_t> read_indices(const sdk::Tensor& index, int dim, int64_t size,
                                         Negative negative = Negative::Refused) {
  std::vector<int64_t> out;
  out.reserve(static_cast<std::size_t>(index.numel()));
  const int64_t n = index.numel(), first = negative == Negative::FromEnd ? -size : 0;
  sdk::dispatch_index(index.dtype(), [&](auto tag) {
    using I = tn_type(tag);
    auto take = [&](int64_t v) {
      if (v < first || v >= size) out_of_bounds(v, dim, size);
      out.push_back(v < 0 ? v + size : v);
    };
    const I* p = index.data<I>();
    if (index.ndim() <= 1 || index.contiguous()) {
      const int64_t stride = index.ndim() == 1 ? index.stride(0) : 1;
      for (int64_t i = 0; i < n; ++i) take(p[i * stride]);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      int64_t at = 0, rest = i;
      for (int d = index.ndim() - 1; d >= 0; --d) {
        at += rest % index.size(d) * index.stride(d);
        rest /= index.size(d);
      }
      take(p[at]);
    }
  });
  return out;
}

// The same without a copy of dense int64: reading one element after the other on one thread may
// take as long as what is done with them. Nothing that is written may share memory with the tensor.
class IndexList {
 public:
  IndexList(const sdk::Tensor& index, int dim, int64_t size) : n_(index.numel()) {
    if (sdk::dtype_key(index.dtype()) != sdk::dtype_key(sdk::kInt64) || !index.contiguous() ||
        outside(index.data<int64_t>(), n_, size)) {
      own_ = read_indices(index, dim, size);
      at_ = own_.data();
    } else {
      at_ = index.data<int64_t>();
    }
  }
  int64_t size() const { return n_; }
  int64_t operator[](int64_t i) const { return at_[i]; }

 private:
  // Some element is not in [0, size). The sign bit of v, or of size - 1 - v.
  static bool outside(const int64_t* p, int64_t n, int64_t size) {
    const uint64_t last = static_cast<uint64_t>(size) - 1;
    uint64_t any = 0;
    for (int64_t i = 0; i < n; ++i)
      any |= static_cast<uint64_t>(p[i]) | (last - static_cast<uint64_t>(p[i]));
    return any >> 63;
  }

  int64_t n_;
  const int64_t* at_;
  std::vector<int64_t> own_;
};

// Prefetches a row that a later iteration reads: rows lie anywhere in memory. Of a long one, only
// its start.
inline void prefetch_row(const char* p, int64_t bytes) {
  const int64_t n = bytes < 1024 ? bytes : 1024;
  for (int64_t k = 0; k < n; k += 64) __builtin_prefetch(p + k);
}

}  // namespace tenon::cpu
