// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reading and writing by index, on gather and scatter.
#include <algorithm>
#include <numeric>

#include "tenon/ops/decomp/decomp.h"
#include "tenon/runtime/error.h"

namespace tenon::decomp {
namespace {

using Indices = ArrayRef<std::optional<Tensor>>;

bool is_mask(const Tensor& t) { return t.scalar_type() == kBool || t.scalar_type() == kByte; }

// Indices of one dimension, from the start; those out of bounds become an error in gather.
Tensor wrap_index(const Tensor& index, int64_t size) {
  const Tensor i = as(index, kLong), from_start = tenon::where(i < 0, i + size, i);
  return positions(size, index).gather(0, from_start.reshape({-1})).reshape(index.sizes());
}

// self as a matrix: a row for each position in the indexed dimensions, and which rows the indices
// name.
struct Plan {
  std::vector<int64_t> order;  // of self's dimensions: the indexed ones, then the others
  std::vector<int64_t> shape;  // of the index tensors, broadcast
  std::vector<int64_t> kept;   // sizes of the other dimensions
  std::size_t at = 0;          // where `shape` is in the result
  int64_t rows = 1;
  Tensor linear;

  Tensor matrix(const Tensor& self) const { return self.permute(order).reshape({rows, width()}); }
  int64_t width() const {
    return std::accumulate(kept.begin(), kept.end(), int64_t{1},
                           [](int64_t a, int64_t b) { return a * b; });
  }
  // [shape, kept] to the result's order of dimensions, and back.
  std::vector<int64_t> result_order() const {
    std::vector<int64_t> p;
    const int64_t n = static_cast<int64_t>(shape.size());
    for (std::size_t k = 0; k < at; ++k) p.push_back(n + static_cast<int64_t>(k));
    for (int64_t k = 0; k < n; ++k) p.push_back(k);
    for (std::size_t k = at; k < kept.size(); ++k) p.push_back(n + static_cast<int64_t>(k));
    return p;
  }
};

std::vector<int64_t> invert_order(const std::vector<int64_t>& order) {
  std::vector<int64_t> out(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    out[static_cast<std::size_t>(order[i])] = static_cast<int64_t>(i);
  return out;
}

Plan make_plan(const Tensor& self, Indices indices) {
  std::vector<Tensor> index;
  for (const std::optional<Tensor>& t : indices) {
    if (!t || !t->defined())
      index.emplace_back();
    else if (is_mask(*t))
      for (const Tensor& column : tenon::nonzero(*t).unbind(1)) index.push_back(column);
    else
      index.push_back(*t);
  }
  index.resize(static_cast<std::size_t>(self.dim()));
  Plan p;
  std::vector<Tensor> used;
  std::vector<int64_t> rest;
  int64_t first = -1, last = -1;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const Tensor& t = index[static_cast<std::size_t>(d)];
    if (!t.defined()) {
      rest.push_back(d);
      p.kept.push_back(self.size(d));
      continue;
    }
    if (first < 0) first = d;
    last = d;
    p.order.push_back(d);
    // Indices on the host serve tensors of every device.
    used.push_back(wrap_index(t.is_cpu() ? t.to(self.device()) : t, self.size(d)));
    p.rows *= self.size(d);
  }
  try {
    if (used.size() > 1) used = tenon::broadcast_tensors(used);
  } catch (const ValueError& e) {
    throw IndexError(core::join("the shapes of the index tensors do not broadcast: ", e.what()));
  }
  const bool adjacent = first >= 0 && last - first + 1 == static_cast<int64_t>(used.size());
  p.at = adjacent ? static_cast<std::size_t>(first) : 0;
  for (std::size_t k = 0; k < used.size(); ++k) {
    p.linear = k == 0 ? used[0] : p.linear * self.size(p.order[k]) + used[k];
  }
  if (!used.empty()) p.shape = p.linear.sizes().vec();
  if (used.empty()) p.linear = positions(1, self);
  p.order.insert(p.order.end(), rest.begin(), rest.end());
  p.linear = p.linear.reshape({-1});
  return p;
}

std::vector<int64_t> concatenate(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

Tensor _index(const Tensor& self, Indices indices) {
  const Plan p = make_plan(self, indices);
  return gather_slices(p.matrix(self), 0, p.linear)
      .reshape(concatenate(p.shape, p.kept))
      .permute(p.result_order());
}

Tensor index_put(const Tensor& self, Indices indices, const Tensor& values, bool accumulate) {
  const Plan p = make_plan(self, indices);
  const std::vector<int64_t> order = p.result_order(), laid = concatenate(p.shape, p.kept);
  std::vector<int64_t> sizes;
  sizes.reserve(order.size());
  for (int64_t d : order) sizes.push_back(laid[static_cast<std::size_t>(d)]);
  bool fits = values.dim() <= static_cast<int64_t>(sizes.size());
  for (int64_t d = 1; fits && d <= values.dim(); ++d) {
    fits = values.size(-d) == 1 ||
           values.size(-d) == sizes[sizes.size() - static_cast<std::size_t>(d)];
  }
  TENON_CHECK(fits, IndexError, "index_put: values ", values.sizes(), " do not fit ",
              IntArrayRef(sizes));
  const Tensor given =
      values.expand(sizes).permute(invert_order(order)).reshape({p.linear.numel(), p.width()});
  const Tensor put = scatter_slices(p.matrix(self), 0, p.linear, given,
                                    accumulate ? TN_SCATTER_ADD : TN_SCATTER_SET);
  std::vector<int64_t> moved;
  for (int64_t d : p.order) moved.push_back(self.size(d));
  return put.reshape(moved).permute(invert_order(p.order));
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  const Tensor i = index.reshape({-1});
  return gather_slices(self, wrapped(dim, self.dim()), i);
}
namespace {

// A 0-dim tensor is written as a vector of one element.
Tensor put_slices(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                  int code) {
  if (self.dim() == 0)
    return tenon::prim_scatter(self.reshape({1}), 0, index.reshape({-1}), src.reshape({-1}), code)
        .reshape({});
  return scatter_slices(self, wrapped(dim, self.dim()), index.reshape({-1}), src, code);
}
std::vector<int64_t> slice_sizes(const Tensor& self, int64_t dim, const Tensor& index) {
  std::vector<int64_t> sizes = self.sizes().vec();
  if (sizes.empty()) return {index.numel()};
  sizes[static_cast<std::size_t>(wrapped(dim, self.dim()))] = index.numel();
  return sizes;
}

}  // namespace

Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                 const Scalar& alpha) {
  return put_slices(self, dim, index,
                    alpha.toDouble() == 1 ? source : as(source * alpha, self.scalar_type()),
                    TN_SCATTER_ADD);
}
Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  return put_slices(self, dim, wrap_index(index, size_of(self, dim)), source, TN_SCATTER_SET);
}
Tensor index_fill_int_Tensor(const Tensor& self, int64_t dim, const Tensor& index,
                             const Tensor& value) {
  const Tensor v = as(value, self.scalar_type()).expand(slice_sizes(self, dim, index));
  return put_slices(self, dim, wrap_index(index, size_of(self, dim)), v, TN_SCATTER_SET);
}
Tensor index_fill_int_Scalar(const Tensor& self, int64_t dim, const Tensor& index,
                             const Scalar& value) {
  return index_fill_int_Tensor(self, dim, index, scalar_like(value, self));
}

namespace {

// Where src goes, self is joined with it. Without include_self those places start from the neutral
// element.
Tensor combine_at(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                  std::string_view how, bool include_self) {
  const ScalarType t = wide(self.scalar_type());
  const bool is_mean = how == "mean", sums = how == "sum" || is_mean, product = how == "prod";
  const int code = sums            ? TN_SCATTER_ADD
                   : product       ? TN_SCATTER_MUL
                   : how == "amax" ? TN_SCATTER_MAX
                                   : TN_SCATTER_MIN;
  Tensor x = as(self, t), from = as(src, t);
  if (from.sizes() != index.sizes()) {
    for (int64_t d = 0; d < index.dim(); ++d) from = from.narrow(d, 0, index.size(d));
  }
  if (!include_self) {
    const Scalar neutral = sums            ? Scalar(0)
                           : product       ? Scalar(1)
                           : how == "amax" ? lowest(t)
                                           : highest(t);
    x = tenon::prim_scatter(x, dim, index, scalar_like(neutral, x).expand(index.sizes()),
                            TN_SCATTER_SET);
  }
  Tensor out = tenon::prim_scatter(x, dim, index, from, code);
  if (!is_mean) return out;
  const Tensor one = full({}, 1, options_of(self, kLong));
  Tensor n = tenon::prim_scatter(full(self.sizes(), include_self ? 1 : 0, options_of(self, kLong)),
                                 dim, index, one.expand(index.sizes()), TN_SCATTER_ADD);
  n = as(maximum(n, scalar_like(1, n)), t);
  return isFloatingType(t) ? out / n : tenon::floor_divide(out, n);
}

}  // namespace

Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    std::string_view reduce, bool include_self) {
  if (self.dim() == 0) {
    return combine_at(self.reshape({1}), 0, index.reshape({-1}), source.reshape({-1}), reduce,
                      include_self)
        .reshape({});
  }
  const int64_t d = wrapped(dim, self.dim());
  return combine_at(self, d,
                    index_like(wrap_index(index.reshape({-1}), self.size(d)), d, source.sizes()),
                    source, reduce, include_self);
}
Tensor scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                          std::string_view reduce, bool include_self) {
  if (index.numel() == 0) return self;
  return combine_at(self, wrapped(dim, self.dim()), index, src, reduce, include_self);
}
Tensor scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return tenon::prim_scatter(self, dim, index, src, TN_SCATTER_SET);
}
Tensor scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  return tenon::prim_scatter(self, dim, index, scalar_like(value, self).expand(index.sizes()),
                             TN_SCATTER_SET);
}
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return tenon::prim_scatter(self, dim, index, src, TN_SCATTER_ADD);
}

namespace {

Tensor as_mask(const Tensor& mask) { return as(mask, kBool); }
// How many true elements there are up to each one, of a flat mask.
Tensor count_true(const Tensor& mask) { return tenon::prim_scan(mask.to(kLong), 0, TN_REDUCE_SUM); }
// Flat positions of true elements: each one is put at its rank, the others after the last position.
Tensor true_positions(const Tensor& mask) {
  const int64_t n = mask.numel();
  if (n == 0) return positions(0, mask);
  const Tensor rank = count_true(mask);
  const int64_t count = rank.narrow(0, n - 1, 1).item<int64_t>();
  const Tensor at = tenon::where(mask, rank - 1, scalar_like(count, rank));
  return tenon::prim_scatter(full({count + 1}, 0, options_of(rank)), 0, at, positions(n, mask),
                             TN_SCATTER_SET)
      .narrow(0, 0, count);
}

}  // namespace

Tensor masked_fill_Tensor(const Tensor& self, const Tensor& mask, const Tensor& value) {
  return tenon::where(as_mask(mask), as(value, self.scalar_type()), self);
}
Tensor masked_fill_Scalar(const Tensor& self, const Tensor& mask, const Scalar& value) {
  return masked_fill_Tensor(self, mask, scalar_like(value, self));
}
Tensor nonzero(const Tensor& self) {
  Tensor rest = true_positions(self.ne(0).reshape({-1}));
  const int64_t count = rest.numel(), ndim = self.dim();
  Tensor out = empty({count, ndim}, options_of(rest));
  for (int64_t d = ndim; d-- > 0;) {
    const int64_t size = std::max<int64_t>(1, self.size(d));
    out.select(1, d).copy_(rest.remainder(size));
    rest = tenon::floor_divide(rest, size);
  }
  return out;
}
Tensor masked_select(const Tensor& self, const Tensor& mask) {
  const std::vector<Tensor> both = tenon::broadcast_tensors({self, as_mask(mask)});
  return both[0].reshape({-1}).gather(0, true_positions(both[1].reshape({-1}))).clone();
}
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  const std::vector<Tensor> both = tenon::broadcast_tensors({self, as_mask(mask)});
  if (both[0].numel() == 0) return both[0];
  const Tensor flat = both[1].reshape({-1}), rank = count_true(flat);
  const int64_t need = rank.narrow(0, flat.numel() - 1, 1).item<int64_t>();
  TENON_CHECK(need <= source.numel(), ValueError, "masked_scatter: the mask has ", need,
              " true elements but source only ", source.numel());
  if (need == 0) return both[0];
  const Tensor at = maximum(rank - 1, scalar_like(0, rank)),
               from = source.reshape({-1}).gather(0, at);
  return tenon::where(both[1], from.reshape(both[1].sizes()), both[0]);
}

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  std::vector<int64_t> sizes = indices.sizes().vec();
  sizes.push_back(weight.size(1));
  return gather_slices(weight, 0, indices.reshape({-1})).reshape(sizes);
}
Tensor embedding_dense_backward(const Tensor& grad, const Tensor& indices, int64_t num_weights,
                                int64_t padding_idx, bool scale_grad_by_freq) {
  const Tensor index = as(indices.reshape({-1}), kLong);
  const int64_t n = index.numel(), width = grad.size(-1);
  Tensor g = wide(grad).reshape({n, width});
  if (padding_idx >= 0) g = tenon::where(index.eq(padding_idx).unsqueeze(1), scalar_like(0, g), g);
  if (scale_grad_by_freq) {
    const Tensor none = full({num_weights}, 0, options_of(index)),
                 one = scalar_like(1, index).expand({n});
    const Tensor counts = tenon::prim_scatter(none, 0, index, one, TN_SCATTER_ADD);
    g = g / as(counts.gather(0, index), g.scalar_type()).unsqueeze(1);
  }
  return scatter_slices(full({num_weights, width}, 0, options_of(g)), 0, index, g, TN_SCATTER_ADD);
}

}  // namespace tenon::decomp
