// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// gather and the scatters. All indices are checked before the first write. Duplicates are combined
// in ascending order of their position along `dim`, whatever the number of threads: a slice is
// never split between threads.
#include "tenon/sdk/ops/gather.h"

#include <algorithm>

#include "plugin_cpu/memory/accumulate.h"
#include "plugin_cpu/memory/indices.h"
#include "tenon/sdk/ops/scatter.h"
#include "tenon/sdk/ops/scatter_add.h"
#include "tenon/sdk/ops/scatter_reduce.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

void check_along(const Tensor& self, int64_t dim, const Tensor& index) {
  const int d = wrap_dim(dim, self.ndim());
  check_indices(index, d, self.ndim() ? self.size(d) : 1);
}

int64_t slice_grain(int64_t length) {
  return std::max<int64_t>(1, kMoveGrain / std::max<int64_t>(1, length));
}

// f(pointers) for each position; operand `index_at` is the index tensor, and pointer `moved` is
// moved by the index.
template <class I, class F>
void each_position(AlongDim& loop, int index_at, int moved, F&& f) {
  const int n_operands = loop.rest.operands;
  const int64_t moved_stride = loop.stride[moved];
  loop.stride[moved] = 0;
  loop.rest.finish(index_at);
  auto visit = [&](char* const* base, const int64_t* s, int64_t i, int64_t j) {
    char* p[kMaxOperands];
    for (int k = 0; k < n_operands; ++k) p[k] = base[k] + i * s[k] + j * loop.stride[k];
    p[moved] += static_cast<int64_t>(*reinterpret_cast<const I*>(p[index_at])) * moved_stride;
    f(p);
  };
  parallel_for(loop.rest.numel, slice_grain(loop.length), [&](int64_t begin, int64_t end) {
    loop.rest.run(begin, end, [&](char* const* p, const int64_t* s, int64_t n) {
      if (loop.stride[index_at] <= s[index_at]) {
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j < loop.length; ++j) visit(p, s, i, j);
        }
      } else {
        for (int64_t j = 0; j < loop.length; ++j) {
          for (int64_t i = 0; i < n; ++i) visit(p, s, i, j);
        }
      }
    });
  });
}

tn_status gather(Call&, Tensor out, Tensor self, int64_t dim, Tensor index, bool) {
  if (index.numel() == 0) return TN_OK;
  check_along(self, dim, index);
  AlongDim loop(index.sizes(), dim);
  loop.add(out);
  loop.add(self);
  loop.add(index);
  dispatch_index(index.dtype(), [&](auto index_tag) {
    dispatch_any_size(out.dtype(), [&](auto tag) {
      using T = tn_type(tag);
      each_position<tn_type(index_tag)>(loop, 2, 1, [](char** p) {
        *reinterpret_cast<T*>(p[0]) = *reinterpret_cast<const T*>(p[1]);
      });
    });
  });
  return TN_OK;
}
TN_KERNEL(gather, gather, dtypes("all,complex").any_strides().mixed_dtypes());

// combine(target, source value) at every position; source elements are T.
template <class A, class T, class F>
void combine_into(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src,
                  F&& combine) {
  AlongDim loop(index.sizes(), dim);
  loop.add(out);
  loop.add(index);
  loop.add(src);
  dispatch_index(index.dtype(), [&](auto index_tag) {
    each_position<tn_type(index_tag)>(loop, 1, 0, [&](char** p) {
      combine(*reinterpret_cast<A*>(p[0]), *reinterpret_cast<const T*>(p[2]));
    });
  });
}

tn_status scatter_src(Call&, Tensor out, Tensor self, int64_t dim, Tensor index, Tensor src) {
  if (index.numel() > 0) check_along(self, dim, index);
  start_from(out, self);
  if (index.numel() == 0) return TN_OK;
  dispatch_any_size(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    combine_into<T, T>(out, dim, index, src, [](T& t, T v) { t = v; });
  });
  return TN_OK;
}
TN_KERNEL(scatter_src, scatter_src,
          dtypes("all,complex").any_strides().mixed_dtypes().inplace("0=0"));

tn_status scatter_value(Call&, Tensor out, Tensor self, int64_t dim, Tensor index, Scalar value) {
  if (index.numel() > 0) check_along(self, dim, index);
  start_from(out, self);
  if (index.numel() == 0) return TN_OK;
  AlongDim loop(index.sizes(), dim);
  loop.add(out);
  loop.add(index);
  dispatch_any(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T v = value.to<T>();
    dispatch_index(index.dtype(), [&](auto index_tag) {
      each_position<tn_type(index_tag)>(loop, 1, 0,
                                        [v](char** p) { *reinterpret_cast<T*>(p[0]) = v; });
    });
  });
  return TN_OK;
}
TN_KERNEL(scatter_value, scatter_value,
          dtypes("all,complex").any_strides().mixed_dtypes().inplace("0=0"));

tn_status scatter_add(Call&, Tensor out, Tensor self, int64_t dim, Tensor index, Tensor src) {
  if (index.numel() > 0) check_along(self, dim, index);
  start_from(out, self);
  if (index.numel() == 0) return TN_OK;
  sum_in(out, [&](const Tensor& target, auto wide, auto tag) {
    using A = tn_type(wide);
    using T = tn_type(tag);
    combine_into<A, T>(target, dim, index, src, [](A& t, T v) { add_to<A>(t, convert<A>(v)); });
  });
  return TN_OK;
}
TN_KERNEL(scatter_add, scatter_add,
          dtypes("all,complex").any_strides().mixed_dtypes().inplace("0=0"));

tn_status scatter_reduce(Call&, Tensor out, Tensor self, int64_t dim, Tensor index, Tensor src,
                         Str reduce, bool include_self) {
  if (index.numel() > 0) check_along(self, dim, index);
  start_from(out, self);
  if (index.numel() == 0) return TN_OK;
  reduce_all_into(out, reduce, include_self,
                  [&](const Tensor& target, const Tensor& counts, auto&& reduce_one) {
                    AlongDim loop(index.sizes(), dim);
                    loop.add(target);
                    loop.add(index);
                    loop.add(src);
                    loop.add(counts);
                    const int64_t count_stride = loop.stride[3];
                    loop.stride[3] = 0;
                    dispatch_index(index.dtype(), [&](auto index_tag) {
                      using I = tn_type(index_tag);
                      each_position<I>(loop, 1, 0, [&](char** p) {
                        const int64_t at = static_cast<int64_t>(*reinterpret_cast<const I*>(p[1]));
                        reduce_one(p[0], p[3] + at * count_stride, p[2]);
                      });
                    });
                  });
  return TN_OK;
}
TN_KERNEL(scatter_reduce_two, scatter_reduce,
          dtypes("all").any_strides().mixed_dtypes().inplace("0=0"));

}  // namespace
}  // namespace tenon::cpu
