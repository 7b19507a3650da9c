// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Equal elements or slices become one.
#include <algorithm>

#include "number.h"
#include "tenon/sdk/ops/_unique2.h"
#include "tenon/sdk/ops/unique_consecutive.h"
#include "tenon/sdk/ops/unique_dim.h"

namespace {

using namespace tenon::ref;
using tenon::sdk::wrap_dim;
using Slice = std::vector<Real>;

// NaN counts as the greatest, and is not equal to another one; two of them do not decide.
bool before(const Slice& a, const Slice& b) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]))) continue;
    return std::isnan(a[k]) ? false : std::isnan(b[k]) || a[k] < b[k];
  }
  return false;
}

struct Runs {
  std::vector<int64_t> first;  // of each run, an element that stands for it
  std::vector<int64_t> run;    // of each element
};

Runs runs_of(const std::vector<Slice>& slices, bool sorted) {
  std::vector<int64_t> order(slices.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  if (sorted) {
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return before(slices[at(a)], slices[at(b)]); });
  }
  Runs out;
  out.run.resize(slices.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || slices[at(order[i - 1])] != slices[at(order[i])]) out.first.push_back(order[i]);
    out.run[at(order[i])] = static_cast<int64_t>(out.first.size()) - 1;
  }
  return out;
}

void write_inverse_and_counts(Call& call, const Runs& runs, Ints inverse, bool wants_inverse,
                              bool wants_counts) {
  const int64_t none = 0, n = static_cast<int64_t>(runs.first.size());
  Tensor in = call.alloc_out(1, wants_inverse ? inverse : Ints(&none, 1), tenon::sdk::kInt64);
  Tensor counts = call.alloc_out(2, Ints(wants_counts ? &n : &none, 1), tenon::sdk::kInt64);
  std::size_t next = 0;
  if (wants_inverse) each(inverse, [&](const Index& i) { put(in, i, Real(runs.run[next++])); });
  if (!wants_counts) return;
  for (int64_t k = 0; k < n; ++k)
    put(counts, {k}, Real(std::count(runs.run.begin(), runs.run.end(), k)));
}

tn_status elements(Call& call, const Tensor& self, bool sorted, bool inverse, bool counts) {
  std::vector<Slice> all;
  each(self.sizes(), [&](const Index& i) { all.push_back({get(self, i)}); });
  const Runs runs = runs_of(all, sorted);
  const int64_t n = static_cast<int64_t>(runs.first.size());
  Tensor out = call.alloc_out(0, Ints(&n, 1), self.dtype());
  for (int64_t k = 0; k < n; ++k) put(out, {k}, all[at(runs.first[at(k)])][0]);
  write_inverse_and_counts(call, runs, self.sizes(), inverse, counts);
  return TN_OK;
}

// As in ATen, inverse and counts are given whether asked for or not.
tn_status slices(Call& call, const Tensor& self, int64_t d, bool sorted) {
  if (self.ndim() == 0) return elements(call, self, sorted, true, true);
  const int dim = wrap_dim(d, self.ndim());
  const int64_t n = self.size(dim);
  std::vector<Slice> all(at(n));
  each(self.sizes(), [&](const Index& i) { all[at(i[at(dim)])].push_back(get(self, i)); });
  const Runs runs = runs_of(all, sorted);
  Index sizes(self.sizes().begin(), self.sizes().end());
  sizes[at(dim)] = static_cast<int64_t>(runs.first.size());
  Tensor out = call.alloc_out(0, Ints(sizes.data(), self.ndim()), self.dtype());
  each(out.sizes(), [&](const Index& o) {
    Index from = o;
    from[at(dim)] = runs.first[at(o[at(dim)])];
    put(out, o, get(self, from));
  });
  write_inverse_and_counts(call, runs, Ints(&n, 1), true, true);
  return TN_OK;
}

tn_status unique2(Call& call, Tensor, Tensor, Tensor, Tensor self, bool, bool inverse,
                  bool counts) {
  return elements(call, self, true, inverse, counts);
}
tn_status unique_dim(Call& call, Tensor, Tensor, Tensor, Tensor self, int64_t dim, bool, bool,
                     bool) {
  return slices(call, self, dim, true);
}
tn_status unique_consecutive(Call& call, Tensor, Tensor, Tensor, Tensor self, bool inverse,
                             bool counts, std::optional<int64_t> dim) {
  if (dim && !(*dim == 0 && self.ndim() == 1)) return slices(call, self, *dim, false);
  return elements(call, self, false, inverse, counts);
}

}  // namespace

TN_KERNEL(_unique2, unique2, any_strides().dynamic());
TN_KERNEL(unique_dim, unique_dim, any_strides().dynamic());
TN_KERNEL(unique_consecutive, unique_consecutive, any_strides().dynamic());
