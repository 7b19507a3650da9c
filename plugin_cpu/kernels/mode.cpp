// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The most frequent element of each line: of several the smallest, at its last position.
// Overwritten: both outputs. Every NaN is an element of its own, and greater than all others.
#include <algorithm>
#include <vector>

#include "plugin_cpu/memory/elements.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/mode.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

// The smallest of the elements that occur most often; NaN only if there is nothing else.
template <class C>
C most_frequent(std::vector<C>& line) {
  const auto end = std::partition(line.begin(), line.end(), [](C v) { return v == v; });
  if (end == line.begin()) return line[0];
  std::sort(line.begin(), end);
  C best = line[0];
  int64_t longest = 0;
  for (auto run = line.begin(); run != end;) {
    const C v = *run;
    auto next = run + 1;
    while (next != end && *next == v) ++next;
    if (next - run > longest) {
      longest = next - run;
      best = v;
    }
    run = next;
  }
  return best;
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
    parallel_for(values.numel(), std::max<int64_t>(1, kMoveGrain / (8 * length)),
                 [&](int64_t begin, int64_t end) {
                   std::vector<C> line(static_cast<std::size_t>(length));
                   for (int64_t n = begin; n < end; ++n) {
                     const T* first = x + n / inner * inner * length + n % inner;
                     for (int64_t k = 0; k < length; ++k)
                       line[static_cast<std::size_t>(k)] = static_cast<C>(first[k * inner]);
                     const C v = most_frequent(line);
                     int64_t at = v == v ? length - 1 : 0;
                     while (at > 0 && static_cast<C>(first[at * inner]) != v) --at;
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
