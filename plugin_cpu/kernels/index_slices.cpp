// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators that read or write whole slices by a vector of indices: index_select, index_add,
// index_copy, index_fill, index_reduce. Duplicates are combined in the order of the vector: threads
// split the elements of a slice, not the slices.
#include "tenon/sdk/ops/index_add.h"

#include <algorithm>
#include <cstring>

#include "plugin_cpu/memory/accumulate.h"
#include "plugin_cpu/memory/indices.h"
#include "tenon/sdk/ops/index_copy.h"
#include "tenon/sdk/ops/index_fill.h"
#include "tenon/sdk/ops/index_reduce.h"
#include "tenon/sdk/ops/index_select.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

int64_t length_of(const Tensor& t, int dim) { return t.ndim() ? t.size(dim) : 1; }

// out and self row-major: each index moves a run of `inner` elements.
void select_dense(const Tensor& out, const Tensor& self, int dim, const IndexList& index) {
  constexpr int64_t kAhead = 16;
  const int64_t n = index.size(), length = length_of(self, dim), item = item_size(self.dtype());
  int64_t inner = 1, outer = 1;
  for (int d = dim + 1; d < self.ndim(); ++d) inner *= self.size(d);
  for (int d = 0; d < dim; ++d) outer *= self.size(d);
  const char* from = self.data<char>();
  char* to = out.data<char>();
  const int64_t run = inner * item;
  if (inner == 1) {
    dispatch_any_size(self.dtype(), [&](auto tag) {
      using T = tn_type(tag);
      parallel_for(outer * n, kMoveGrain, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end;) {
          const T* row = reinterpret_cast<const T*>(from) + r / n * length;
          T* target = reinterpret_cast<T*>(to) + r / n * n;
          const int64_t stop = std::min(end, (r / n + 1) * n);
          for (int64_t k = r % n; r < stop; ++r, ++k) target[k] = row[index[k]];
        }
      });
    });
    return;
  }
  parallel_for(
      outer * n, std::max<int64_t>(1, kMoveGrain / inner), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end;) {
          const char* slices = from + r / n * length * run;
          const int64_t stop = std::min(end, (r / n + 1) * n);
          for (int64_t k = r % n; r < stop; ++r, ++k) {
            if (k + kAhead < n) prefetch_row(slices + index[k + kAhead] * run, run);
            std::memcpy(to + r * run, slices + index[k] * run, static_cast<std::size_t>(run));
          }
        }
      });
}

// f(pointers, strides, count) over parts of each slice. Operand `moved` stands at index[k], the
// others at k.
template <class F>
void each_slice(AlongDim& loop, int moved, const std::vector<int64_t>& index, F&& f) {
  loop.rest.finish(moved);
  const int operands = loop.rest.operands;
  parallel_for(loop.rest.numel, kMoveGrain, [&](int64_t begin, int64_t end) {
    for (std::size_t k = 0; k < index.size(); ++k) {
      loop.rest.run(begin, end, [&](char* const* base, const int64_t* s, int64_t n) {
        char* p[kMaxOperands];
        for (int i = 0; i < operands; ++i) {
          p[i] = base[i] + (i == moved ? index[k] : static_cast<int64_t>(k)) * loop.stride[i];
        }
        f(p, s, n);
      });
    }
  });
}

template <class T>
void assign_run(char* const* p, const int64_t* s, int64_t n) {
  if (s[0] == sizeof(T) && s[1] == sizeof(T)) {
    std::memcpy(p[0], p[1], static_cast<std::size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<T*>(p[0] + i * s[0]) = *reinterpret_cast<const T*>(p[1] + i * s[1]);
  }
}

// Where both are dense: no byte in common.
bool share_no_memory(const Tensor& a, const Tensor& b) {
  const char *p = a.data<char>(), *q = b.data<char>();
  return p + a.numel() * item_size(a.dtype()) <= q || q + b.numel() * item_size(b.dtype()) <= p;
}

tn_status index_select(Call&, Tensor out, Tensor self, int64_t given, Tensor index) {
  const int dim = wrap_dim(given, self.ndim());
  if (out.contiguous() && self.contiguous() && share_no_memory(out, index)) {
    const IndexList list(index, dim, length_of(self, dim));
    if (out.numel() != 0) select_dense(out, self, dim, list);
    return TN_OK;
  }
  const std::vector<int64_t> at = read_indices(index, dim, length_of(self, dim));
  if (out.numel() == 0) return TN_OK;
  AlongDim loop(self.sizes(), dim);
  loop.add(out);
  loop.add(self);
  dispatch_any_size(out.dtype(),
                    [&](auto tag) { each_slice(loop, 1, at, assign_run<tn_type(tag)>); });
  return TN_OK;
}
TN_KERNEL(index_select, index_select, dtypes("all,complex").any_strides().mixed_dtypes());

tn_status index_copy(Call&, Tensor out, Tensor self, int64_t given, Tensor index, Tensor source) {
  const int dim = wrap_dim(given, self.ndim());
  const std::vector<int64_t> at = read_indices(index, dim, length_of(self, dim));
  start_from(out, self);
  if (out.numel() == 0) return TN_OK;
  AlongDim loop(self.sizes(), dim);
  loop.add(out);
  loop.add(source);
  dispatch_any_size(out.dtype(),
                    [&](auto tag) { each_slice(loop, 0, at, assign_run<tn_type(tag)>); });
  return TN_OK;
}
TN_KERNEL(index_copy, index_copy,
          dtypes("all,complex").any_strides().mixed_dtypes().inplace("0=0"));

template <class T>
void fill_slices(const Tensor& out, const Tensor& self, int64_t given, const Tensor& index,
                 T value) {
  const int dim = wrap_dim(given, self.ndim());
  const std::vector<int64_t> at = read_indices(index, dim, length_of(self, dim), Negative::FromEnd);
  start_from(out, self);
  if (out.numel() == 0) return;
  AlongDim loop(self.sizes(), dim);
  loop.add(out);
  each_slice(loop, 0, at, [value](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(p[0] + i * s[0]) = value;
  });
}

tn_status index_fill(Call&, Tensor out, Tensor self, int64_t dim, Tensor index, Scalar value) {
  dispatch_any(out.dtype(),
               [&](auto tag) { fill_slices(out, self, dim, index, value.to<tn_type(tag)>()); });
  return TN_OK;
}
TN_KERNEL(index_fill_int_Scalar, index_fill,
          dtypes("all,complex").any_strides().mixed_dtypes().inplace("0=0"));

tn_status index_fill_tensor(Call&, Tensor out, Tensor self, int64_t dim, Tensor index,
                            Tensor value) {
  dispatch_any(out.dtype(),
               [&](auto tag) { fill_slices(out, self, dim, index, element<tn_type(tag)>(value)); });
  return TN_OK;
}
TN_KERNEL(index_fill_int_Tensor, index_fill_tensor,
          dtypes("all,complex").any_strides().mixed_dtypes().inplace("0=0"));

tn_status index_add(Call&, Tensor out, Tensor self, int64_t given, Tensor index, Tensor source,
                    Scalar alpha) {
  const int dim = wrap_dim(given, self.ndim());
  const std::vector<int64_t> at = read_indices(index, dim, length_of(self, dim));
  start_from(out, self);
  if (out.numel() == 0) return TN_OK;
  sum_in(out, [&](const Tensor& target, auto wide, auto tag) {
    using A = tn_type(wide);
    using T = tn_type(tag);
    const A scale = alpha.to<A>();
    AlongDim loop(self.sizes(), dim);
    loop.add(target);
    loop.add(source);
    each_slice(loop, 0, at, [scale](char* const* p, const int64_t* s, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        A v = convert<A>(*reinterpret_cast<const T*>(p[1] + i * s[1]));
        multiply_to<A>(v, scale);
        add_to<A>(*reinterpret_cast<A*>(p[0] + i * s[0]), v);
      }
    });
  });
  return TN_OK;
}
TN_KERNEL(index_add, index_add, dtypes("all,complex").any_strides().mixed_dtypes().inplace("0=0"));

tn_status index_reduce(Call&, Tensor out, Tensor self, int64_t given, Tensor index, Tensor source,
                       Str reduce, bool include_self) {
  const int dim = wrap_dim(given, self.ndim());
  const std::vector<int64_t> at = read_indices(index, dim, length_of(self, dim));
  start_from(out, self);
  if (out.numel() == 0) return TN_OK;
  reduce_all_into(
      out, reduce, include_self,
      [&](const Tensor& target, const Tensor& counts, auto&& reduce_one) {
        AlongDim loop(self.sizes(), dim);
        loop.add(target);
        loop.add(source);
        loop.add(counts);
        const int64_t count_stride = loop.stride[2];
        // One thread: the count of a target moves with its index.
        loop.rest.finish(0);
        for (std::size_t k = 0; k < at.size(); ++k) {
          loop.rest.run(0, loop.rest.numel, [&](char* const* p, const int64_t* s, int64_t n) {
            for (int64_t i = 0; i < n; ++i) {
              reduce_one(p[0] + i * s[0] + at[k] * loop.stride[0],
                         p[2] + i * s[2] + at[k] * count_stride,
                         p[1] + i * s[1] + static_cast<int64_t>(k) * loop.stride[1]);
            }
          });
        }
      });
  return TN_OK;
}
TN_KERNEL(index_reduce, index_reduce, dtypes("number").any_strides().mixed_dtypes().inplace("0=0"));

}  // namespace
}  // namespace tenon::cpu
