// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Counts in bins of one width. Overwritten: the output.
#include <cmath>
#include <vector>

#include "plugin_cpu/elements.h"
#include "tenon/sdk/kernel.h"
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
  // A block of elements has counts of its own, as long as these are few beside them.
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
      out.data<T>()[i] = static_cast<T>(static_cast<compute_t<T>>(n > 0 ? counts[static_cast<std::size_t>(i)] : 0));
    }
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(histc, histc, dtypes("floating"));

}  // namespace tenon::cpu
