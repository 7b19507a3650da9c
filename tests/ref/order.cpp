// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sorting, selecting, searching, and operators whose results depend on a count.
#include <algorithm>

#include "number.h"
#include "tenon/sdk/ops/kthvalue.h"
#include "tenon/sdk/ops/masked_scatter.h"
#include "tenon/sdk/ops/masked_select.h"
#include "tenon/sdk/ops/nonzero.h"
#include "tenon/sdk/ops/repeat_interleave.h"
#include "tenon/sdk/ops/searchsorted.h"
#include "tenon/sdk/ops/sort.h"
#include "tenon/sdk/ops/topk.h"

namespace {

using namespace tenon::ref;
using tenon::sdk::wrap_dim;

// NaN counts as the greatest.
bool less(Real a, Real b) { return std::isnan(a) ? false : std::isnan(b) || a < b; }

int64_t extent(const Tensor& t, int dim) { return t.ndim() ? t.size(dim) : 1; }

// The positions of a slice in order; equal elements keep theirs.
std::vector<int64_t> ordered(const Tensor& t, Index slice, int dim, bool descending) {
  std::vector<Real> v;
  std::vector<int64_t> order;
  for (int64_t k = 0; k < extent(t, dim); ++k) {
    if (t.ndim()) slice[at(dim)] = k;
    v.push_back(get(t, slice));
    order.push_back(k);
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return descending ? less(v[at(b)], v[at(a)]) : less(v[at(a)], v[at(b)]);
  });
  return order;
}

// f(position with 0 in `dim`) for every slice along dim.
template <class F>
void each_slice(const Tensor& t, int dim, F f) {
  each(t.sizes(), [&](const Index& i) {
    if (t.ndim() == 0 || i[at(dim)] == 0) f(i);
  });
}

void choose(Tensor values, Tensor indices, Tensor self, Index to, Index from, int dim,
            int64_t chosen, int64_t place) {
  if (self.ndim()) {
    from[at(dim)] = chosen;
    to[at(dim)] = place;
  }
  put(values, to, get(self, from));
  put(indices, to, Real(chosen));
}

tn_status sort(Call&, Tensor values, Tensor indices, Tensor self, std::optional<bool>, int64_t d,
               bool descending) {
  const int dim = wrap_dim(d, self.ndim());
  each_slice(self, dim, [&](const Index& i) {
    int64_t place = 0;
    for (int64_t k : ordered(self, i, dim, descending))
      choose(values, indices, self, i, i, dim, k, place++);
  });
  return TN_OK;
}

tn_status topk(Call&, Tensor values, Tensor indices, Tensor self, int64_t k, int64_t d,
               bool largest, bool) {
  const int dim = wrap_dim(d, self.ndim());
  each_slice(self, dim, [&](const Index& i) {
    std::vector<int64_t> order = ordered(self, i, dim, largest);
    for (int64_t n = 0; n < k; ++n) choose(values, indices, self, i, i, dim, order[at(n)], n);
  });
  return TN_OK;
}

tn_status kthvalue(Call&, Tensor values, Tensor indices, Tensor self, int64_t k, int64_t d,
                   bool keepdim) {
  const int dim = wrap_dim(d, self.ndim());
  each_slice(self, dim, [&](const Index& i) {
    Index to = i, from = i;
    const int64_t chosen = ordered(self, i, dim, false)[at(k - 1)];
    if (self.ndim()) from[at(dim)] = chosen;
    if (self.ndim() && !keepdim) to.erase(to.begin() + dim);
    put(values, to, get(self, from));
    put(indices, to, Real(chosen));
  });
  return TN_OK;
}

tn_status nonzero(Call& call, Tensor, Tensor self) {
  std::vector<Index> found;
  each(self.sizes(), [&](const Index& i) {
    if (get(self, i) != 0) found.push_back(i);
  });
  const int64_t sizes[2] = {static_cast<int64_t>(found.size()), self.ndim()};
  Tensor out = call.alloc_out(0, Ints(sizes, 2), tenon::sdk::kInt64);
  each(out.sizes(), [&](const Index& i) { put(out, i, Real(found[at(i[0])][at(i[1])])); });
  return TN_OK;
}

Index broadcast_sizes(const Tensor& a, const Tensor& b) {
  Index out(at(std::max(a.ndim(), b.ndim())), 1);
  for (const Tensor* t : {&a, &b}) {
    for (int d = 0; d < t->ndim(); ++d) {
      int64_t& s = out[out.size() - at(t->ndim()) + at(d)];
      if (t->size(d) != 1) s = t->size(d);
    }
  }
  return out;
}

tn_status masked_select(Call& call, Tensor, Tensor self, Tensor mask) {
  std::vector<Real> found;
  const Index sizes = broadcast_sizes(self, mask);
  each(Ints(sizes.data(), static_cast<int64_t>(sizes.size())), [&](const Index& i) {
    if (get_broadcast(mask, i) != 0) found.push_back(get_broadcast(self, i));
  });
  const int64_t n = static_cast<int64_t>(found.size());
  Tensor out = call.alloc_out(0, Ints(&n, 1), self.dtype());
  each(out.sizes(), [&](const Index& i) { put(out, i, found[at(i[0])]); });
  return TN_OK;
}

tn_status masked_scatter(Call&, Tensor out, Tensor self, Tensor mask, Tensor source) {
  int64_t next = 0;
  const int64_t n = source.numel();
  each(out.sizes(), [&](const Index& i) {
    if (get_broadcast(mask, i) == 0) return put(out, i, get_broadcast(self, i));
    if (next == n)
      throw tenon::sdk::Error(TN_ERROR_VALUE, "source has ", n,
                              " elements, fewer than the mask selects");
    put(out, i, get(source, unravel(next++, source.sizes())));
  });
  return TN_OK;
}

tn_status searchsorted(Call&, Tensor out, Tensor sorted, Tensor self, bool, bool right,
                       std::optional<tenon::sdk::Str> side, OptTensor sorter) {
  if (side) right = *side == "right";
  each(out.sizes(), [&](const Index& i) {
    const Real v = get(self, i);
    Index where = sorted.ndim() > 1 ? i : Index{0};
    int64_t below = 0;
    for (int64_t k = 0; k < sorted.size(-1); ++k) {
      where.back() = k;
      if (sorter.defined()) where.back() = static_cast<int64_t>(get(sorter, where));
      const Real s = get(sorted, where);
      below += right ? !less(v, s) : less(s, v);
    }
    put(out, i, Real(below));
  });
  return TN_OK;
}

tn_status repeat_interleave(Call& call, Tensor, Tensor repeats, std::optional<int64_t>) {
  std::vector<int64_t> found;
  each(repeats.sizes(), [&](const Index& i) {
    const int64_t n = static_cast<int64_t>(get(repeats, i));
    if (n < 0) throw tenon::sdk::Error(TN_ERROR_VALUE, "repeats must not be negative, got ", n);
    found.insert(found.end(), at(n), i[0]);
  });
  const int64_t n = static_cast<int64_t>(found.size());
  Tensor out = call.alloc_out(0, Ints(&n, 1), repeats.dtype());
  each(out.sizes(), [&](const Index& i) { put(out, i, Real(found[at(i[0])])); });
  return TN_OK;
}

}  // namespace

TN_KERNEL(sort_stable, sort, any_strides());
TN_KERNEL(topk, topk, dtypes("number").any_strides());
TN_KERNEL(kthvalue, kthvalue, dtypes("number").any_strides());
TN_KERNEL(nonzero, nonzero, any_strides().dynamic());
TN_KERNEL(masked_select, masked_select, any_strides().dynamic().broadcasts());
TN_KERNEL(masked_scatter, masked_scatter, any_strides().broadcasts());
TN_KERNEL(searchsorted_Tensor, searchsorted, dtypes("number").any_strides());
TN_KERNEL(repeat_interleave_Tensor, repeat_interleave, any_strides().dynamic());
