// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The most frequent element of each line: the least of several, where it is last. Overwritten: both outputs. NaN counts
// as the greatest, and every NaN as another element.
#include <algorithm>
#include <utility>
#include <vector>

#include "plugin_cpu/elements.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/mode.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

template <class C>
bool before(const std::pair<C, int64_t>& a, const std::pair<C, int64_t>& b) {
  const bool nan_a = a.first != a.first, nan_b = b.first != b.first;
  if (nan_a != nan_b) return nan_b;
  if (!nan_a && a.first != b.first) return a.first < b.first;
  return a.second < b.second;
}

// The position of the last of the longest run of equal elements.
template <class C>
int64_t most_frequent(std::vector<std::pair<C, int64_t>>& line) {
  std::sort(line.begin(), line.end(), &before<C>);
  std::size_t best = 0, longest = 0, start = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!(line[i].first == line[start].first)) start = i;
    if (i - start + 1 > longest) {
      longest = i - start + 1;
      best = i;
    }
  }
  return line[best].second;
}

tn_status mode(Call&, Tensor values, Tensor indices, Tensor self, int64_t dim, bool) {
  if (values.numel() == 0) return TN_OK;
  const int d = wrap_dim(dim, self.ndim());
  const int64_t length = self.ndim() ? self.size(d) : 1;
  int64_t inner = 1;
  for (int i = d + 1; i < self.ndim(); ++i) inner *= self.size(i);
  dispatch_all(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = compute_t<T>;
    const T* x = self.data<T>();
    parallel_for(values.numel(), std::max<int64_t>(1, kMoveGrain / (8 * length)), [&](int64_t begin, int64_t end) {
      std::vector<std::pair<C, int64_t>> line(static_cast<std::size_t>(length));
      for (int64_t n = begin; n < end; ++n) {
        const T* first = x + n / inner * inner * length + n % inner;
        for (int64_t k = 0; k < length; ++k) line[static_cast<std::size_t>(k)] = {static_cast<C>(first[k * inner]), k};
        const int64_t at = most_frequent(line);
        values.data<T>()[n] = first[at * inner];
        indices.data<int64_t>()[n] = at;
      }
    });
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(mode, mode, dtypes("all"));

}  // namespace tenon::cpu
