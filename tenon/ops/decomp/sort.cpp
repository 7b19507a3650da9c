// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sorting, and what is found in sorted order.
#include <algorithm>
#include <cmath>

#include "tenon/ops/decomp/decomp.h"
#include "tenon/runtime/error.h"

namespace tenon::decomp {
namespace {

// Values and indices of a sorted dimension.
Both sort_slices(const Tensor& self, int64_t dim, bool descending) {
  if (self.dim() == 0) return {self, tenon::prim_argsort(self, descending)};
  const Tensor order = tenon::prim_argsort(self.transpose(dim, -1), descending).transpose(dim, -1);
  return {self.gather(dim, order), order};
}
Both slice_both(const Both& b, int64_t dim, int64_t from, int64_t n) {
  if (std::get<0>(b).dim() == 0) return b;
  return {std::get<0>(b).narrow(dim, from, n), std::get<1>(b).narrow(dim, from, n)};
}
Both squeeze_both(const Both& b, int64_t dim, bool keepdim) {
  if (keepdim || std::get<0>(b).dim() == 0) return b;
  return {std::get<0>(b).squeeze(dim), std::get<1>(b).squeeze(dim)};
}
int64_t last_item(const Tensor& t) { return t.narrow(0, t.numel() - 1, 1).item<int64_t>(); }

// Whether each slice of dimension 0 differs from the one before; the first does.
Tensor differs_from_previous(const Tensor& t) {
  const int64_t n = t.size(0);
  const Tensor other = t.narrow(0, 1, n - 1).ne(t.narrow(0, 0, n - 1));
  const Tensor flat =
      t.dim() > 1 ? reduced(other.reshape({n - 1, -1}), {1}, false, TN_REDUCE_ANY) : other;
  return tenon::cat({full({1}, true, options_of(flat)), flat}, 0);
}

// Of slices along dimension 0 in which equal ones are neighbors: one of each kind, the kind of
// each, their counts.
struct Kinds {
  Tensor first, kind, count;
};
Kinds find_kinds(const Tensor& t) {
  const int64_t n = t.size(0);
  if (n == 0) return {positions(0, t), positions(0, t), positions(0, t)};
  const Tensor kind = tenon::prim_scan(differs_from_previous(t).to(kLong), 0, TN_REDUCE_SUM) - 1,
               at = positions(n, t);
  const int64_t kinds = last_item(kind) + 1;
  const Tensor first =
      tenon::prim_scatter(full({kinds}, n, options_of(at)), 0, kind, at, TN_SCATTER_MIN);
  const Tensor none = full({kinds}, 0, options_of(at)), one = scalar_like(1, at).expand({n});
  return {first, kind, tenon::prim_scatter(none, 0, kind, one, TN_SCATTER_ADD)};
}
Tensor no_indices(const Tensor& like) { return empty({0}, options_of(like, kLong)); }

}  // namespace

Both sort_stable(const Tensor& self, std::optional<bool>, int64_t dim, bool descending) {
  return sort_slices(self, dim, descending);
}
Both topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool) {
  return slice_both(sort_slices(self, dim, largest), dim, 0, k);
}
Both kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  return squeeze_both(slice_both(sort_slices(self, dim, false), dim, k - 1, 1), dim, keepdim);
}

// The longest run of the sorted line, the first of equally long ones.
Both mode(const Tensor& self, int64_t dim, bool keepdim) {
  if (self.dim() == 0) return {self, scalar_like(0, positions(1, self))};
  const Tensor line = self.transpose(dim, -1);
  const int64_t n = line.size(-1);
  const Tensor order = tenon::prim_argsort(line, false), value = line.gather(-1, order);
  const Tensor at = positions(n, self), zero = scalar_like(0, at);
  const Tensor fresh = value.narrow(-1, 1, n - 1).ne(value.narrow(-1, 0, n - 1));
  const Tensor begin = tenon::cat({zero.expand(value.narrow(-1, 0, 1).sizes()),
                                   tenon::where(fresh, at.narrow(0, 1, n - 1), zero)},
                                  -1);
  const Tensor length = at - tenon::prim_scan(begin, -1, TN_REDUCE_MAX),
               best = tenon::prim_reduce(length, -1, TN_REDUCE_ARGMAX);
  return squeeze_both(
      {value.gather(-1, best).transpose(dim, -1), order.gather(-1, best).transpose(dim, -1)}, dim,
      keepdim);
}

Three _unique2(const Tensor& self, bool, bool return_inverse, bool return_counts) {
  const Tensor flat = self.reshape({-1}), order = tenon::prim_argsort(flat, false),
               value = flat.gather(0, order);
  const Kinds k = find_kinds(value);
  Three out{value.gather(0, k.first), no_indices(self), no_indices(self)};
  if (return_inverse) {
    const Tensor none = full({flat.numel()}, 0, options_of(order));
    std::get<1>(out) =
        tenon::prim_scatter(none, 0, order, k.kind, TN_SCATTER_SET).reshape(self.sizes());
  }
  if (return_counts) std::get<2>(out) = k.count;
  return out;
}

// Of slices, inverse and counts are given whether asked for or not, as ATen does.
Three unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts,
                         std::optional<int64_t> dim) {
  if (dim && self.dim() == 0) return decomp::unique_consecutive(self, true, true, std::nullopt);
  if (dim && !(*dim == 0 && self.dim() == 1)) {
    const Tensor t = self.movedim(*dim, 0);
    const Kinds k = find_kinds(t);
    return {gather_slices(t, 0, k.first).movedim(0, *dim).contiguous(), k.kind, k.count};
  }
  const Tensor t = self.reshape({-1});
  const Kinds k = find_kinds(t);
  return {gather_slices(t, 0, k.first),
          return_inverse ? k.kind.reshape(self.sizes()) : no_indices(self),
          return_counts ? k.count : no_indices(self)};
}

// Rows in the order of their elements: sorted by the last one first, and stable.
Three unique_dim(const Tensor& self, int64_t dim, bool, bool, bool) {
  if (self.dim() == 0) return decomp::unique_consecutive(self, true, true, std::nullopt);
  const Tensor rows = self.dim() == 1 ? self.unsqueeze(1) : self.movedim(dim, 0),
               flat = rows.flatten(1);
  Tensor order = positions(rows.size(0), self);
  for (int64_t c = flat.size(1); c-- > 0;) {
    order = order.gather(0, tenon::prim_argsort(flat.select(1, c).gather(0, order), false));
  }
  const Kinds k = find_kinds(gather_slices(flat, 0, order));
  const Tensor none = full({rows.size(0)}, 0, options_of(order)),
               value = gather_slices(rows, 0, order.gather(0, k.first));
  return {self.dim() == 1 ? value.squeeze(1) : value.movedim(0, dim).contiguous(),
          tenon::prim_scatter(none, 0, order, k.kind, TN_SCATTER_SET), k.count};
}

// Binary search for all values at once. NaN counts as the largest.
Tensor searchsorted_Tensor(const Tensor& sorted_sequence, const Tensor& self, bool, bool right,
                           std::optional<std::string_view> side,
                           const std::optional<Tensor>& sorter) {
  const bool after = side ? *side == "right" : right;
  Tensor edges = sorted_sequence, x = self;
  if (sorter && sorter->defined()) edges = edges.gather(-1, *sorter);
  const int64_t n = edges.size(-1);
  const bool shared = edges.dim() == 1;
  if (shared) x = x.reshape({-1});
  Tensor low = full(x.sizes(), 0, options_of(x, kLong)),
         high = full(x.sizes(), n, options_of(x, kLong));
  for (int64_t left = n; left > 0; left /= 2) {
    const Tensor middle = (low + high).bitwise_right_shift(1), open = low < high;
    const Tensor at = edges.gather(-1, minimum(middle, scalar_like(n - 1, middle)));
    const Tensor ahead = after
                             ? (at <= x).logical_or(x.isnan())
                             : (at < x).logical_or(x.isnan().logical_and(at.isnan().logical_not()));
    low = tenon::where(open.logical_and(ahead), middle + 1, low);
    high = tenon::where(open.logical_and(ahead.logical_not()), middle, high);
  }
  return low.reshape(self.sizes());
}

Tensor repeat_interleave_Tensor(const Tensor& repeats, std::optional<int64_t> output_size) {
  if (repeats.numel() == 0) return repeats;
  TENON_CHECK(!(repeats < 0).any().item<bool>(), ValueError,
              "repeat_interleave: repeats must not be negative");
  const Tensor ends = tenon::prim_scan(repeats.to(kLong), 0, TN_REDUCE_SUM);
  const int64_t total = last_item(ends);
  TENON_CHECK(!output_size || *output_size == total, ValueError,
              "repeat_interleave: repeats sum up to ", total, ", not to output_size ",
              output_size.value_or(total));
  return searchsorted_Tensor(ends, positions(total, repeats), false, true, std::nullopt,
                             std::nullopt)
      .to(repeats.scalar_type());
}

namespace {

Tensor count_by_bin(const Tensor& bin, const Tensor& inside, const Tensor& weight, int64_t bins) {
  const Tensor at = tenon::where(inside, bin, scalar_like(bins, bin));
  return tenon::prim_scatter(full({bins + 1}, 0, options_of(weight)), 0, at, weight, TN_SCATTER_ADD)
      .narrow(0, 0, bins);
}

}  // namespace

Tensor histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  const Tensor x = self.reshape({-1}).to(kDouble);
  double low = min.toDouble(), high = max.toDouble();
  if (low == high && x.numel() > 0) {
    low = x.min().item<double>();
    high = x.max().item<double>();
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  TENON_CHECK(std::isfinite(low) && std::isfinite(high), ValueError, "histc: range of [", low, ", ",
              high, "] is not finite");
  const Tensor inside = (x >= low).logical_and(x <= high);
  const Tensor place =
      tenon::where(inside, (x - low) * static_cast<double>(bins) / (high - low), scalar_like(0, x));
  const Tensor bin = minimum(place.to(kLong), full({}, bins - 1, options_of(x, kLong)));
  return count_by_bin(bin, inside, scalar_like(1, bin).expand(bin.sizes()), bins);
}

Tensor _histogram(const Tensor& self, const Tensor& edges, const std::optional<Tensor>& weight) {
  const Tensor x = self.reshape({-1});
  const int64_t bins = edges.numel() - 1;
  if (bins == 0) return empty({0}, options_of(self, kDouble));
  const Tensor inside = (x >= edges.select(0, 0)).logical_and(x <= edges.select(0, bins));
  Tensor bin = searchsorted_Tensor(edges, x, false, true, std::nullopt, std::nullopt) - 1;
  bin = minimum(bin, scalar_like(bins - 1, bin));
  const Tensor w = weight && weight->defined() ? weight->reshape({-1}).to(kDouble)
                                               : full({x.numel()}, 1, options_of(self, kDouble));
  return count_by_bin(bin, inside, w, bins);
}

}  // namespace tenon::decomp
