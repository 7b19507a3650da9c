// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reading and writing by several index tensors at once, and joining slices.
#include <algorithm>
#include <string_view>

#include "number.h"
#include "tenon/sdk/ops/_index.h"
#include "tenon/sdk/ops/index_fill.h"
#include "tenon/sdk/ops/index_put.h"
#include "tenon/sdk/ops/index_reduce.h"

namespace {

using namespace tenon::ref;
using tenon::sdk::Error;
using tenon::sdk::Str;
using tenon::sdk::wrap_dim;

// The positions that one dimension is read at, in the shape of their index tensor.
struct Positions {
  bool given = false;
  Index sizes;
  std::vector<int64_t> at;
};

bool is_mask(DType d) { return tenon::sdk::is_bool(d) || (d.code == TN_UINT && d.bits == 8); }

int64_t inside(int64_t i, int64_t size, std::size_t dim) {
  if (i < -size || i >= size) {
    throw Error(TN_ERROR_INDEX, "index ", i, " is out of bounds for dimension ", int64_t(dim),
                " with size ", size);
  }
  return i < 0 ? i + size : i;
}

// One entry per dimension of self: a mask becomes the positions of what is not zero in it.
std::vector<Positions> positions_of(const Tensor& self, TensorList indices) {
  std::vector<Positions> out;
  for (int64_t k = 0; k < indices.size(); ++k) {
    const Tensor t = indices[k];
    const std::size_t first = out.size();
    if (!t.defined()) {
      out.emplace_back();
    } else if (is_mask(t.dtype())) {
      out.resize(first + at(t.ndim()));
      each(t.sizes(), [&](const Index& i) {
        if (get(t, i) == 0) return;
        for (std::size_t d = 0; d < i.size(); ++d) out[first + d].at.push_back(i[d]);
      });
      for (std::size_t d = first; d < out.size(); ++d) {
        out[d].given = true;
        out[d].sizes = {static_cast<int64_t>(out[d].at.size())};
      }
    } else {
      Positions p{true, Index(t.sizes().begin(), t.sizes().end()), {}};
      each(t.sizes(), [&](const Index& i) {
        p.at.push_back(
            inside(static_cast<int64_t>(get(t, i)), self.size(static_cast<int>(first)), first));
      });
      out.push_back(p);
    }
  }
  out.resize(at(self.ndim()));
  return out;
}

// Positions of a result, and those of self that they stand for.
class Plan {
 public:
  Plan(const Tensor& self, TensorList indices) : positions_(positions_of(self, indices)) {
    std::size_t last = 0, n = 0;
    for (std::size_t d = 0; d < positions_.size(); ++d) {
      const Positions& p = positions_[d];
      if (!p.given) continue;
      if (n++ == 0) begin_ = d;
      last = d;
      if (p.sizes.size() > shape_.size())
        shape_.insert(shape_.begin(), p.sizes.size() - shape_.size(), 1);
      for (std::size_t k = 0; k < p.sizes.size(); ++k) {
        int64_t& s = shape_[shape_.size() - p.sizes.size() + k];
        if (p.sizes[k] == 1) continue;
        if (s != 1 && s != p.sizes[k])
          throw Error(TN_ERROR_INDEX, "the index tensors do not broadcast");
        s = p.sizes[k];
      }
    }
    if (n > 0 && last - begin_ + 1 != n)
      begin_ = 0;  // not neighbors: their dimensions go to the front
    std::size_t rest = 0;
    for (std::size_t d = 0; d < positions_.size(); ++d) {
      if (positions_[d].given) continue;
      if (rest++ == begin_) append_shape();
      sizes_.push_back(self.size(static_cast<int>(d)));
    }
    if (rest <= begin_) append_shape();
  }
  Ints sizes() const { return Ints(sizes_.data(), static_cast<int64_t>(sizes_.size())); }
  Index source(const Index& result) const {
    Index out;
    std::size_t next = 0;
    for (const Positions& p : positions_) {
      if (p.given) {
        int64_t flat = 0;
        for (std::size_t k = 0; k < p.sizes.size(); ++k) {
          const int64_t i = result[begin_ + shape_.size() - p.sizes.size() + k];
          flat = flat * p.sizes[k] + (p.sizes[k] == 1 ? 0 : i);
        }
        out.push_back(p.at[at(flat)]);
      } else {
        if (next == begin_) next += shape_.size();
        out.push_back(result[next++]);
      }
    }
    return out;
  }

 private:
  void append_shape() { sizes_.insert(sizes_.end(), shape_.begin(), shape_.end()); }
  std::vector<Positions> positions_;
  Index shape_, sizes_;
  std::size_t begin_ = 0;  // where the dimensions of the index tensors are in a result
};

tn_status index(Call&, Tensor out, Tensor self, TensorList indices) {
  const Plan plan(self, indices);
  each(out.sizes(), [&](const Index& i) { put(out, i, get(self, plan.source(i))); });
  return TN_OK;
}

int64_t flat_of(const Index& i, Ints sizes) {
  int64_t f = 0;
  for (int64_t d = 0; d < sizes.size(); ++d) f = f * sizes[d] + i[at(d)];
  return f;
}

tn_status index_put(Call&, Tensor out, Tensor self, TensorList indices, Tensor values,
                    bool accumulate) {
  const Plan plan(self, indices);
  if (values.ndim() > plan.sizes().size())
    throw Error(TN_ERROR_INDEX, "values have more dimensions than are indexed");
  for (int d = 1; d <= values.ndim(); ++d) {
    const int64_t size = plan.sizes()[plan.sizes().size() - d];
    if (values.size(-d) != 1 && values.size(-d) != size)
      throw Error(TN_ERROR_INDEX, "values do not fit");
  }
  std::vector<Real> sums;  // of 16-bit results, rounded once
  each(self.sizes(), [&](const Index& i) { sums.push_back(get(self, i)); });
  each(plan.sizes(), [&](const Index& i) {
    Real& to = sums[at(flat_of(plan.source(i), self.sizes()))];
    to = get_broadcast(values, i) + (accumulate ? to : 0);
  });
  std::size_t next = 0;
  each(out.sizes(), [&](const Index& i) { put(out, i, sums[next++]); });
  return TN_OK;
}

int64_t extent(const Tensor& t, int dim) { return t.ndim() ? t.size(dim) : 1; }
int64_t index_at(const Tensor& index, int64_t k) {
  return static_cast<int64_t>(get(index, index.ndim() ? Index{k} : Index{}));
}

tn_status index_fill(Call&, Tensor out, Tensor self, int64_t d, Tensor index, Tensor value) {
  const int dim = wrap_dim(d, self.ndim());
  std::vector<bool> filled(at(extent(self, dim)), false);
  for (int64_t k = 0; k < index.numel(); ++k) {
    filled[at(inside(index_at(index, k), extent(self, dim), at(dim)))] = true;
  }
  each(out.sizes(), [&](const Index& i) {
    put(out, i, filled[at(i.empty() ? 0 : i[at(dim)])] ? get(value, {}) : get(self, i));
  });
  return TN_OK;
}

Real joined(std::string_view reduce, Real a, Real b) {
  if (reduce == "prod") return a * b;
  if (reduce == "mean") return a + b;
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return reduce == "amax" ? std::max(a, b) : std::min(a, b);
}

tn_status index_reduce(Call&, Tensor out, Tensor self, int64_t d, Tensor index, Tensor source,
                       Str reduce, bool include_self) {
  const int dim = wrap_dim(d, self.ndim());
  const bool whole = !tenon::sdk::is_floating(out.dtype());
  each(out.sizes(), [&](const Index& o) {
    Real r = get(self, o);
    int64_t n = include_self ? 1 : 0;
    for (int64_t k = 0; k < index.numel(); ++k) {
      const int64_t target = inside(index_at(index, k), extent(self, dim), at(dim));
      if (!o.empty() && target != o[at(dim)]) continue;
      Index from = o;
      if (!from.empty()) from[at(dim)] = k;
      const Real v = get(source, source.ndim() ? from : Index{});
      r = n++ == 0 ? v : joined(reduce, r, v);
      if (whole) r = wrapped(r, out.dtype());
    }
    if (reduce == "mean" && n > 1) r = whole ? std::floor(r / Real(n)) : r / Real(n);
    put(out, o, r);
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(_index, index, any_strides().mixed_dtypes());
TN_KERNEL(index_put, index_put, any_strides().mixed_dtypes());
TN_KERNEL(index_fill_int_Tensor, index_fill, any_strides().mixed_dtypes());
TN_KERNEL(index_reduce, index_reduce, dtypes("number").any_strides().mixed_dtypes());
