// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums, means and maxima of rows that are looked up: each bag is reduced while it is gathered.
// 16-bit floats are summed in float32. Threads share out bags.
#include <algorithm>
#include <limits>

#include "plugin_cpu/memory/accumulate.h"
#include "plugin_cpu/memory/indices.h"
#include "plugin_cpu/rowwise/row_sums.h"
#include "tenon/sdk/ops/_embedding_bag.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

enum Mode { kSum = 0, kMean = 1, kMax = 2 };

// Where each bag begins, and after the last one the number of indices.
std::vector<int64_t> starts_of(const Tensor& offsets, int64_t n, bool with_last) {
  std::vector<int64_t> at = read_indices(offsets, 0, std::numeric_limits<int64_t>::max());
  if (!at.empty() && at[0] != 0)
    throw Error(TN_ERROR_VALUE,
                "offsets[0] has to be 0, i.e. the first bag has to start at the first index, got ",
                at[0]);
  for (std::size_t b = 1; b < at.size(); ++b) {
    if (at[b] < at[b - 1])
      throw Error(TN_ERROR_VALUE, "offsets must not decrease: offsets[", static_cast<int64_t>(b),
                  "] is ", at[b], " after ", at[b - 1]);
  }
  if (!at.empty() && at.back() > n)
    throw Error(TN_ERROR_VALUE, "offsets[-1] can not be greater than input's length (", n,
                "), got ", at.back());
  if (with_last) at.pop_back();
  at.push_back(n);
  return at;
}

template <class T>
struct Bags {
  using A = compute_t<T>;
  const T* table;
  const T* factors;  // or null
  const IndexList& at;
  const std::vector<int64_t>& start;
  int64_t width, padding, mode;

  // The sum of a bag, and how many rows it is of.
  int64_t sum(int64_t bag, A* __restrict to) const {
    constexpr int64_t kAhead = 16;
    const int64_t end = start[static_cast<std::size_t>(bag) + 1],
                  row = width * static_cast<int64_t>(sizeof(T));
    int64_t n = 0;
    std::fill_n(to, width, A(0));
    for (int64_t i = start[static_cast<std::size_t>(bag)]; i < end; ++i) {
      if (i + kAhead < at.size())
        prefetch_row(reinterpret_cast<const char*>(table + at[i + kAhead] * width), row);
      if (at[i] == padding) continue;
      ++n;
      const T* __restrict from = table + at[i] * width;
      if (factors) {
        const A f = static_cast<A>(factors[i]);
        for (int64_t k = 0; k < width; ++k) to[k] += f * static_cast<A>(from[k]);
      } else {
        for (int64_t k = 0; k < width; ++k) to[k] += static_cast<A>(from[k]);
      }
    }
    return n;
  }

  // The maxima of a bag, the first of equal ones, and the rows that have them.
  int64_t maxima(int64_t bag, T* to, int64_t* row_of) const {
    int64_t n = 0;
    std::fill_n(to, width, T(0));
    std::fill_n(row_of, width, int64_t{0});
    for (int64_t i = start[static_cast<std::size_t>(bag)];
         i < start[static_cast<std::size_t>(bag) + 1]; ++i) {
      if (at[i] == padding) continue;
      const T* from = table + at[i] * width;
      for (int64_t k = 0; k < width; ++k) {
        if (n > 0 && !(static_cast<A>(from[k]) > static_cast<A>(to[k]))) continue;
        to[k] = from[k];
        row_of[k] = at[i];
      }
      ++n;
    }
    return n;
  }
};

// The rows that the bags [begin, end) sum, without padding, and where each bag begins in the list.
template <class T>
struct Summands {
  std::vector<const T*> rows;
  std::vector<T> factors;  // none if the bags have none
  std::vector<int64_t> start;

  Summands(const Bags<T>& bags, int64_t begin, int64_t end) {
    const auto from = static_cast<std::size_t>(begin), to = static_cast<std::size_t>(end);
    const auto most = static_cast<std::size_t>(bags.start[to] - bags.start[from]);
    rows.reserve(most);
    if (bags.factors) factors.reserve(most);
    for (std::size_t b = from; b < to; ++b) {
      start.push_back(static_cast<int64_t>(rows.size()));
      for (int64_t i = bags.start[b]; i < bags.start[b + 1]; ++i) {
        if (bags.at[i] == bags.padding) continue;
        rows.push_back(bags.table + bags.at[i] * bags.width);
        if (bags.factors) factors.push_back(bags.factors[i]);
      }
    }
    start.push_back(static_cast<int64_t>(rows.size()));
  }
  int64_t size(std::size_t bag) const { return start[bag + 1] - start[bag]; }
  void sum(std::size_t bag, int64_t width, T* to) const {
    sum_rows(rows.data() + start[bag], factors.empty() ? nullptr : factors.data() + start[bag],
             size(bag), start.back() - start[bag + 1], width, to);
  }
};

template <class T>
void sum_bags(const Bags<T>& bags, int64_t begin, int64_t end, T* to, int64_t* sizes) {
  const int64_t width = bags.width;
  if constexpr (sizeof(T) >= sizeof(float)) {
    const Summands<T> summands(bags, begin, end);
    for (int64_t b = begin; b < end; ++b) {
      const auto at = static_cast<std::size_t>(b - begin);
      sizes[b] = summands.size(at);
      summands.sum(at, width, to + b * width);
      if (bags.mode != kMean || sizes[b] < 2) continue;
      const T by = static_cast<T>(sizes[b]);
      for (int64_t k = 0; k < width; ++k) to[b * width + k] /= by;
    }
  } else {
    using A = compute_t<T>;
    std::vector<A> sum(static_cast<std::size_t>(width));
    for (int64_t b = begin; b < end; ++b) {
      sizes[b] = bags.sum(b, sum.data());
      const A by = bags.mode == kMean ? static_cast<A>(std::max<int64_t>(sizes[b], 1)) : A(1);
      for (int64_t k = 0; k < width; ++k)
        to[b * width + k] = static_cast<T>(sum[static_cast<std::size_t>(k)] / by);
    }
  }
}

template <class T>
void reduce_bags(const Bags<T>& bags, const Tensor& out, const Tensor& bag_size,
                 const Tensor& max_indices) {
  const int64_t n = out.size(0), width = bags.width;
  const int64_t rows = std::max<int64_t>(1, n ? bags.at.size() / n : 1);
  parallel_for(n, std::max<int64_t>(1, kMoveGrain / std::max<int64_t>(1, width * rows)),
               [&](int64_t begin, int64_t end) {
                 T* to = out.data<T>();
                 auto* sizes = bag_size.data<int64_t>();
                 if (bags.mode != kMax) return sum_bags(bags, begin, end, to, sizes);
                 for (int64_t b = begin; b < end; ++b)
                   sizes[b] =
                       bags.maxima(b, to + b * width, max_indices.data<int64_t>() + b * width);
               });
}

tn_status embedding_bag(Call&, Tensor out, Tensor offset2bag, Tensor bag_size, Tensor max_indices,
                        Tensor weight, Tensor indices, Tensor offsets, bool, int64_t mode, bool,
                        OptTensor factors, bool include_last_offset, int64_t padding_idx) {
  const IndexList at(indices, 0, weight.size(0));
  const std::vector<int64_t> start = starts_of(offsets, at.size(), include_last_offset);
  for (std::size_t b = 0; b + 1 < start.size(); ++b) {
    std::fill(offset2bag.data<int64_t>() + start[b], offset2bag.data<int64_t>() + start[b + 1],
              static_cast<int64_t>(b));
  }
  dispatch_floating(weight.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    reduce_bags(Bags<T>{weight.data<T>(), factors.defined() ? factors.data<T>() : nullptr, at,
                        start, weight.size(1), padding_idx, mode},
                out, bag_size, max_indices);
  });
  return TN_OK;
}
TN_KERNEL(_embedding_bag, embedding_bag, dtypes("floating").mixed_dtypes());

}  // namespace
}  // namespace tenon::cpu
