// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reading and writing along one dimension by tensors of indices.
#include <algorithm>
#include <string_view>

#include "number.h"
#include "tenon/sdk/ops/cat.h"
#include "tenon/sdk/ops/embedding.h"
#include "tenon/sdk/ops/embedding_dense_backward.h"
#include "tenon/sdk/ops/gather.h"
#include "tenon/sdk/ops/index_add.h"
#include "tenon/sdk/ops/index_copy.h"
#include "tenon/sdk/ops/index_fill.h"
#include "tenon/sdk/ops/index_select.h"
#include "tenon/sdk/ops/masked_fill.h"
#include "tenon/sdk/ops/scatter.h"
#include "tenon/sdk/ops/scatter_add.h"
#include "tenon/sdk/ops/scatter_reduce.h"

namespace {

using namespace tenon::ref;
using tenon::sdk::Error;
using tenon::sdk::wrap_dim;

int64_t checked(Real given, int64_t size, bool from_end) {
  int64_t i = static_cast<int64_t>(given);
  if (i < (from_end ? -size : 0) || i >= size) {
    throw Error(TN_ERROR_INDEX, "index ", i, " is out of bounds for dimension with size ", size);
  }
  return i < 0 ? i + size : i;
}

void copy_all(Tensor out, Tensor self) {
  each(out.sizes(), [&](const Index& i) { put(out, i, get(self, i)); });
}

// A 0-dim tensor counts as one element along one dimension.
Index along(const Index& i, int dim, int64_t value) {
  Index j = i;
  if (!j.empty()) j[at(dim)] = value;
  return j;
}
Index first(const Tensor& t, int64_t i) { return t.ndim() ? Index{i} : Index{}; }
int64_t extent(const Tensor& t, int dim) { return t.ndim() ? t.size(dim) : 1; }

tn_status index_select(Call&, Tensor out, Tensor self, int64_t d, Tensor index) {
  const int dim = wrap_dim(d, self.ndim());
  each(out.sizes(), [&](const Index& i) {
    const Real n = get(index, first(index, i.empty() ? 0 : i[at(dim)]));
    put(out, i, get(self, along(i, dim, checked(n, extent(self, dim), false))));
  });
  return TN_OK;
}

// f(position in out, position in source) for each element that an index_ op writes.
template <class F>
void each_target(Tensor out, int dim, Tensor index, F f) {
  const int64_t n = index.ndim() ? index.size(0) : 1;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t target = checked(get(index, first(index, k)), extent(out, dim), false);
    each(out.sizes(), [&](const Index& i) {
      if (i.empty() || i[at(dim)] == target) f(i, along(i, dim, k));
    });
  }
}

tn_status index_add(Call&, Tensor out, Tensor self, int64_t d, Tensor index, Tensor source,
                    Scalar alpha) {
  const int dim = wrap_dim(d, self.ndim());
  std::vector<Real> sums;  // of 16-bit results, rounded once
  each(out.sizes(), [&](const Index& i) { sums.push_back(get(self, i)); });
  const Ints sizes = out.sizes();
  each_target(out, dim, index, [&](const Index& to, const Index& from) {
    int64_t flat = 0;
    for (int64_t k = 0; k < sizes.size(); ++k) flat = flat * sizes[k] + to[at(k)];
    sums[at(flat)] += number(alpha) * get(source, source.ndim() ? from : Index{});
  });
  std::size_t next = 0;
  each(sizes, [&](const Index& i) { put(out, i, sums[next++]); });
  return TN_OK;
}

tn_status index_copy(Call&, Tensor out, Tensor self, int64_t d, Tensor index, Tensor source) {
  copy_all(out, self);
  each_target(out, wrap_dim(d, self.ndim()), index, [&](const Index& to, const Index& from) {
    put(out, to, get(source, source.ndim() ? from : Index{}));
  });
  return TN_OK;
}

tn_status index_fill(Call&, Tensor out, Tensor self, int64_t d, Tensor index, Scalar value) {
  copy_all(out, self);
  const int dim = wrap_dim(d, self.ndim());
  const int64_t n = index.ndim() ? index.size(0) : 1;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t target = checked(get(index, first(index, k)), extent(self, dim), true);
    each(out.sizes(), [&](const Index& i) {
      if (i.empty() || i[at(dim)] == target) put(out, i, number(value));
    });
  }
  return TN_OK;
}

tn_status gather(Call&, Tensor out, Tensor self, int64_t d, Tensor index, bool) {
  const int dim = wrap_dim(d, self.ndim());
  each(out.sizes(), [&](const Index& i) {
    const int64_t n = checked(get(index, index.ndim() ? i : Index{}), extent(self, dim), false);
    put(out, i, get(self, self.ndim() ? along(i, dim, n) : Index{}));
  });
  return TN_OK;
}

tn_status scatter_src(Call&, Tensor out, Tensor self, int64_t d, Tensor index, Tensor src) {
  copy_all(out, self);
  const int dim = wrap_dim(d, self.ndim());
  each(index.sizes(), [&](const Index& i) {
    put(out, along(i, dim, checked(get(index, i), extent(self, dim), false)), get(src, i));
  });
  return TN_OK;
}

tn_status scatter_value(Call&, Tensor out, Tensor self, int64_t d, Tensor index, Scalar value) {
  copy_all(out, self);
  const int dim = wrap_dim(d, self.ndim());
  each(index.sizes(), [&](const Index& i) {
    put(out, along(i, dim, checked(get(index, i), extent(self, dim), false)), number(value));
  });
  return TN_OK;
}

tn_status scatter_add(Call&, Tensor out, Tensor self, int64_t d, Tensor index, Tensor src) {
  const int dim = wrap_dim(d, self.ndim());
  each(out.sizes(), [&](const Index& o) {
    Real sum = get(self, o);
    each(index.sizes(), [&](const Index& i) {
      if (along(i, dim, checked(get(index, i), extent(self, dim), false)) == o) sum += get(src, i);
    });
    put(out, o, sum);
  });
  return TN_OK;
}

// Reduces all that goes to one position by `reduce`, in order.
Real fold(std::string_view reduce, const std::vector<Real>& v, DType dtype) {
  const bool whole = !tenon::sdk::is_floating(dtype);
  Real r = v[0];
  for (std::size_t k = 1; k < v.size(); ++k) {
    if (reduce == "prod")
      r *= v[k];
    else if (reduce == "sum" || reduce == "mean")
      r += v[k];
    else if (std::isnan(r) || std::isnan(v[k]))
      r = r + v[k];
    else
      r = reduce == "amax" ? std::max(r, v[k]) : std::min(r, v[k]);
    if (whole) r = wrapped(r, dtype);
  }
  if (reduce != "mean") return r;
  r /= Real(v.size());
  return whole ? std::floor(r) : r;
}

tn_status scatter_reduce(Call&, Tensor out, Tensor self, int64_t d, Tensor index, Tensor src,
                         tenon::sdk::Str reduce, bool include_self) {
  const int dim = wrap_dim(d, self.ndim());
  each(index.sizes(), [&](const Index& i) { checked(get(index, i), extent(self, dim), false); });
  each(out.sizes(), [&](const Index& o) {
    std::vector<Real> given;
    each(index.sizes(), [&](const Index& i) {
      if (along(i, dim, checked(get(index, i), extent(self, dim), false)) == o)
        given.push_back(get(src, i));
    });
    if (include_self || given.empty()) given.insert(given.begin(), get(self, o));
    put(out, o, fold(reduce, given, out.dtype()));
  });
  return TN_OK;
}

tn_status cat(Call&, Tensor out, tenon::sdk::TensorList tensors, int64_t d) {
  const int dim = wrap_dim(d, out.ndim());
  int64_t begin = 0;
  for (int64_t k = 0; k < tensors.size(); ++k) {
    const Tensor t = tensors[k];
    if (t.ndim() != out.ndim()) continue;  // an empty vector is skipped
    each(t.sizes(),
         [&](const Index& i) { put(out, along(i, dim, i[at(dim)] + begin), get(t, i)); });
    begin += t.size(dim);
  }
  return TN_OK;
}

tn_status embedding(Call&, Tensor out, Tensor weight, Tensor indices, int64_t, bool, bool) {
  each(out.sizes(), [&](const Index& i) {
    const Index word(i.begin(), i.end() - 1);
    put(out, i, get(weight, {checked(get(indices, word), weight.size(0), false), i.back()}));
  });
  return TN_OK;
}

tn_status embedding_backward(Call&, Tensor out, Tensor grad, Tensor indices, int64_t,
                             int64_t padding, bool by_count) {
  each(out.sizes(), [&](const Index& o) {
    Real sum = 0;
    int64_t n = 0;
    each(indices.sizes(), [&](const Index& i) {
      if (static_cast<int64_t>(get(indices, i)) != o[0] || o[0] == padding) return;
      Index from = i;
      from.push_back(o[1]);
      sum += get(grad, from);
      ++n;
    });
    put(out, o, by_count && n > 0 ? sum / n : sum);
  });
  return TN_OK;
}

tn_status masked_fill(Call&, Tensor out, Tensor self, Tensor mask, Scalar value) {
  each(out.sizes(), [&](const Index& i) {
    put(out, i, get_broadcast(mask, i) != 0 ? number(value) : get_broadcast(self, i));
  });
  return TN_OK;
}

tn_status masked_fill_tensor(Call&, Tensor out, Tensor self, Tensor mask, Tensor value) {
  each(out.sizes(), [&](const Index& i) {
    put(out, i, get_broadcast(get_broadcast(mask, i) != 0 ? value : self, i));
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(index_select, index_select, any_strides());
TN_KERNEL(index_add, index_add, any_strides());
TN_KERNEL(index_copy, index_copy, any_strides());
TN_KERNEL(index_fill_int_Scalar, index_fill, any_strides());
TN_KERNEL(gather, gather, any_strides());
TN_KERNEL(scatter_src, scatter_src, any_strides());
TN_KERNEL(scatter_value, scatter_value, any_strides());
TN_KERNEL(scatter_add, scatter_add, any_strides());
TN_KERNEL(scatter_reduce_two, scatter_reduce, any_strides());
TN_KERNEL(cat, cat, any_strides());
TN_KERNEL(embedding, embedding, dtypes("floating").any_strides());
TN_KERNEL(embedding_dense_backward, embedding_backward, dtypes("floating").any_strides());
TN_KERNEL(masked_fill_Scalar, masked_fill, any_strides().broadcasts());
TN_KERNEL(masked_fill_Tensor, masked_fill_tensor, any_strides().broadcasts());
