// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Counts in bins of one width, and between edges. Overwritten: the output.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "plugin_cpu/memory/elements.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/_histogram.h"
#include "tenon/sdk/ops/histc.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

struct Range {
  double low, high;
};

template <class T>
Range extremes(const T* x, int64_t n) {
  Range r{static_cast<double>(x[0]), static_cast<double>(x[0])};
  for (int64_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(x[i]);
    if (v < r.low || v != v) r.low = v;
    if (v > r.high || v != v) r.high = v;
  }
  return r;
}

template <class T>
std::vector<int64_t> count(const T* x, int64_t n, int64_t bins, Range r) {
  // A block of elements has its own counts if these are few compared with the elements.
  const int64_t grain = std::max(kMoveGrain, 8 * bins), blocks = (n + grain - 1) / grain;
  std::vector<int64_t> counts(static_cast<std::size_t>(blocks * bins));
  const double scale = static_cast<double>(bins), width = r.high - r.low;
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    int64_t* own = counts.data() + begin / grain * bins;
    for (int64_t i = begin; i < end; ++i) {
      const double v = static_cast<double>(x[i]);
      if (!(v >= r.low && v <= r.high)) continue;
      ++own[std::min(static_cast<int64_t>((v - r.low) * scale / width), bins - 1)];
    }
  });
  for (int64_t b = 1; b < blocks; ++b) {
    for (int64_t i = 0; i < bins; ++i)
      counts[static_cast<std::size_t>(i)] += counts[static_cast<std::size_t>(b * bins + i)];
  }
  return counts;
}

tn_status histc(Call&, Tensor out, Tensor self, int64_t bins, Scalar min, Scalar max) {
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T* x = self.data<T>();
    const int64_t n = self.numel();
    Range r{min.to<double>(), max.to<double>()};
    if (r.low == r.high && n > 0) r = extremes(x, n);
    if (r.low == r.high) r = {r.low - 1, r.high + 1};
    if (!std::isfinite(r.low) || !std::isfinite(r.high)) {
      throw Error(TN_ERROR_VALUE, "histc: range of [", r.low, ", ", r.high, "] is not finite");
    }
    const std::vector<int64_t> counts = count(x, n, bins, r);
    for (int64_t i = 0; i < bins; ++i) {
      out.data<T>()[i] = static_cast<T>(
          static_cast<compute_t<T>>(n > 0 ? counts[static_cast<std::size_t>(i)] : 0));
    }
  });
  return TN_OK;
}

// The bins between sorted edges. Where these are evenly spaced, all but for rounding, a quotient is
// close to the bin.
template <class C>
class Edges {
 public:
  explicit Edges(std::vector<C> edges)
      : edges_(std::move(edges)), bins_(static_cast<int64_t>(edges_.size()) - 1) {
    per_unit_ = static_cast<double>(bins_) /
                (static_cast<double>(edges_.back()) - static_cast<double>(edges_[0]));
    even_ = std::isfinite(per_unit_);
    for (int64_t i = 0; even_ && i <= bins_; ++i)
      even_ = std::abs(place(at(i)) - static_cast<double>(i)) < 0.5;
  }
  int64_t bins() const { return bins_; }
  // -1: in none.
  int64_t bin(C v) const {
    if (!(v >= edges_.front() && v <= edges_.back())) return -1;
    if (!even_)
      return std::min<int64_t>(std::upper_bound(edges_.begin(), edges_.end(), v) - edges_.begin(),
                               bins_) -
             1;
    int64_t b = std::min(static_cast<int64_t>(place(v)), bins_ - 1);
    while (v < at(b)) --b;
    while (b + 1 < bins_ && v >= at(b + 1)) ++b;
    return b;
  }

 private:
  C at(int64_t i) const { return edges_[static_cast<std::size_t>(i)]; }
  double place(C v) const {
    return (static_cast<double>(v) - static_cast<double>(edges_[0])) * per_unit_;
  }
  std::vector<C> edges_;
  int64_t bins_;
  double per_unit_;
  bool even_;
};

// Sums are kept per block of elements, as counts are.
template <class T>
std::vector<double> sums_between(const T* x, const T* weight, int64_t n,
                                 const Edges<compute_t<T>>& edges) {
  using C = compute_t<T>;
  const int64_t bins = edges.bins();
  const int64_t grain = std::max(kMoveGrain, 8 * bins), blocks = (n + grain - 1) / grain;
  std::vector<double> sums(static_cast<std::size_t>(std::max<int64_t>(1, blocks) * bins));
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    double* own = sums.data() + begin / grain * bins;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t bin = edges.bin(static_cast<C>(x[i]));
      if (bin >= 0) own[bin] += weight ? static_cast<double>(weight[i]) : 1;
    }
  });
  for (int64_t b = 1; b < blocks; ++b) {
    for (int64_t i = 0; i < bins; ++i)
      sums[static_cast<std::size_t>(i)] += sums[static_cast<std::size_t>(b * bins + i)];
  }
  return sums;
}

tn_status histogram(Call&, Tensor out, Tensor self, Tensor edges, OptTensor weight) {
  if (out.numel() == 0) return TN_OK;
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T* e = edges.data<T>();
    const Edges<compute_t<T>> limits(std::vector<compute_t<T>>(e, e + edges.numel()));
    const T* mass = weight.defined() ? weight.data<T>() : nullptr;
    const std::vector<double> sums = sums_between(self.data<T>(), mass, self.numel(), limits);
    std::copy_n(sums.begin(), out.numel(), out.data<double>());
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(_histogram, histogram, dtypes("floating"));
TN_KERNEL(histc, histc, dtypes("floating"));

}  // namespace tenon::cpu
