// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Each element once: keys are sorted with their positions, and one pass over them writes indices
// and sums.
#include <algorithm>

#include "plugin_sparse/cpu/keys.h"
#include "plugin_sparse/cpu/loops.h"

namespace tenon::coo::loops {
namespace {

constexpr int64_t kBlock = 16384;
constexpr int64_t kAhead = 16;  // elements whose values are fetched early

// Columns of indices of ascending numbers; all but the last index change rarely.
class Columns {
 public:
  Columns(const Tensor& indices, Ints sizes)
      : out_(indices.data<int64_t>()),
        n_(indices.size(1)),
        sizes_(sizes),
        last_(static_cast<int>(sizes.size()) - 1) {}

  void write(int64_t column, uint64_t key) {
    if (last_ < 0) return;
    if (!begun_ || key - base_ >= static_cast<uint64_t>(sizes_[last_])) start(key);
    for (int d = 0; d < last_; ++d) out_[d * n_ + column] = leading_[d];
    out_[last_ * n_ + column] = static_cast<int64_t>(key - base_);
  }

 private:
  void start(uint64_t key) {
    uint64_t rest = key / static_cast<uint64_t>(sizes_[last_]);
    base_ = rest * static_cast<uint64_t>(sizes_[last_]);
    for (int d = last_ - 1; d > 0; --d) {
      leading_[d] = static_cast<int64_t>(rest % static_cast<uint64_t>(sizes_[d]));
      rest /= static_cast<uint64_t>(sizes_[d]);
    }
    leading_[0] = static_cast<int64_t>(rest);
    begun_ = true;
  }

  int64_t* out_;
  int64_t n_;
  Ints sizes_;
  int last_;
  bool begun_ = false;
  uint64_t base_ = 0;
  int64_t leading_[64];
};

// Sorted elements and the groups of one key among them.
template <class How>
struct Sorted {
  How how;
  const typename How::Element* at;
  int64_t n;
  uint64_t key(int64_t i) const { return how.key(at[i]); }
  int64_t position(int64_t i) const { return how.position(at[i]); }
  bool begins(int64_t i) const { return i == 0 || key(i) != key(i - 1); }
  int64_t end_of_group(int64_t i) const {
    const uint64_t own = key(i);
    do ++i;
    while (i < n && key(i) == own);
    return i;
  }
};

// How many groups begin before each block; the last is the number of groups.
template <class How>
std::vector<int64_t> count_groups(const Sorted<How>& s) {
  std::vector<int64_t> before(static_cast<std::size_t>((s.n + kBlock - 1) / kBlock + 1), 0);
  parallel_for(s.n, kBlock, [&](int64_t begin, int64_t end) {
    int64_t groups = 0;
    for (int64_t i = begin; i < end; ++i) groups += s.begins(i);
    before[static_cast<std::size_t>(begin / kBlock + 1)] = groups;
  });
  for (std::size_t b = 1; b < before.size(); ++b) before[b] += before[b - 1];
  return before;
}

// Values of `inner` elements each, summed in the order of their positions.
template <class T>
struct Sums {
  using A = compute_t<T>;
  static constexpr int64_t kRun = 256;
  const T* from;
  T* to;
  int64_t inner;

  void fetch(int64_t position) const { __builtin_prefetch(from + position * inner); }

  template <class How>
  void write(const Sorted<How>& s, int64_t begin, int64_t end, int64_t group) const {
    if (inner == 1) {
      A sum = from[s.position(begin)];
      for (int64_t i = begin + 1; i < end; ++i) sum = plus<A>(sum, from[s.position(i)]);
      to[group] = T(sum);
      return;
    }
    if (end - begin == 1) {
      std::copy_n(from + s.position(begin) * inner, inner, to + group * inner);
      return;
    }
    for (int64_t c = 0; c < inner; c += kRun) {
      const int64_t m = std::min(kRun, inner - c);
      A sum[kRun];
      std::copy_n(from + s.position(begin) * inner + c, m, sum);
      for (int64_t i = begin + 1; i < end; ++i) {
        const T* v = from + s.position(i) * inner + c;
        for (int64_t j = 0; j < m; ++j) sum[j] = plus<A>(sum[j], v[j]);
      }
      for (int64_t j = 0; j < m; ++j) to[group * inner + c + j] = T(sum[j]);
    }
  }
};

template <class How>
Coo sum_groups(Ops& op, const Sorted<How>& s, const Tensor& values, Ints sizes) {
  const std::vector<int64_t> before = count_groups(s);
  const int64_t groups = before.back(), shape[] = {sizes.size(), groups};
  const Coo out{
      op.empty(Ints(shape, 2), kInt64, values.device()),
      op.empty(span(value_sizes(groups, values.sizes(), 1)), values.dtype(), values.device())};
  dispatch_all(values.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const Sums<T> sums{values.data<const T>(), out.values.data<T>(), values.numel() / s.n};
    parallel_for(s.n, kBlock, [&](int64_t begin, int64_t end) {
      Columns columns(out.indices, sizes);
      int64_t group = before[static_cast<std::size_t>(begin / kBlock)];
      while (begin < end && !s.begins(begin)) ++begin;  // a group belongs to its first block
      for (int64_t i = begin; i < end; ++group) {
        const int64_t next = s.end_of_group(i);
        if (i + kAhead < s.n) sums.fetch(s.position(i + kAhead));
        columns.write(group, s.key(i));
        sums.write(s, i, next, group);
        i = next;
      }
    });
  });
  return out;
}

}  // namespace

Coo coalesce(Ops& op, const Tensor& given, const Tensor& of, Ints sizes) {
  const Tensor indices = contiguous(op, given), values = contiguous(op, of);
  const Ints sparse(sizes.data(), indices.size(0));
  const int64_t n = indices.size(1);
  const Numbers numbers = compute_keys(op, indices, sparse, true);
  if (numbers.strict) return {op("clone", {value(indices)}), op("clone", {value(values)})};
  return in_order(op, numbers, [&](auto how, const auto* elements) {
    return sum_groups(op, Sorted<decltype(how)>{how, elements, n}, values, sparse);
  });
}

Elements elements(Ops& op, const Coo& t, Ints sizes) {
  Coo own{contiguous(op, t.indices), contiguous(op, t.values)};
  Numbers numbers = compute_keys(op, own.indices, sizes, false);
  if (!numbers.strict) {
    own = loops::coalesce(op, own.indices, own.values, sizes);
    numbers = compute_keys(op, own.indices, sizes, false);
  }
  return {own, numbers};
}

}  // namespace tenon::coo::loops
