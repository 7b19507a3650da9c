// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The product of two sparse matrices by rows (Gustavson): the rows of b that the elements of a row
// of a select are added up in a dense row, where marks tell which columns have a sum. One pass
// counts these and one writes them, so that nothing but the result grows with the number of terms.
// A row belongs to one thread, and its terms are added in the order of a's elements.
#include <algorithm>
#include <utility>

#include "plugin_sparse/cpu/keys.h"
#include "plugin_sparse/cpu/loops.h"
#include "plugin_sparse/cpu/marks.h"

namespace tenon::coo::loops {
namespace {

constexpr int64_t kTerms = 262144;  // minimum per block
constexpr int64_t kAhead = 8;       // elements of a whose rows of b are fetched early
constexpr int64_t kTable = 4096;    // entries that a table may always have

constexpr int64_t kPart = 8;  // if less than 1/kPart of b is used, its rows are gathered first

// Whether a table of all rows or columns is small enough.
bool few(int64_t size, int64_t elements) {
  return size <= std::min<int64_t>(kTable + 4 * elements, UINT32_MAX);
}

// b by columns that fit a dense row: its own, or the ranks of those that occur.
struct Columns {
  const uint32_t* of;    // each element
  const int64_t* names;  // of ranks; null where they are the columns
  int64_t width;
};

Columns own_columns(Ops& op, const Numbers& b, int64_t width) {
  auto* of = scratch<uint32_t>(op, b.n);
  const auto n = static_cast<uint64_t>(width);
  parallel_for(b.n, grain(1), [&](int64_t begin, int64_t end) {
    uint64_t base = b[begin] / n * n;
    for (int64_t i = begin; i < end; ++i) {
      if (b[i] - base >= n) base = b[i] / n * n;
      of[i] = static_cast<uint32_t>(b[i] - base);
    }
  });
  return {of, nullptr, width};
}

Columns ranked_columns(Ops& op, const Tensor& indices, int64_t width) {
  const Tensor row = op("unsqueeze", {value(op.row(indices, 1)), value(int64_t{0})});
  const Numbers numbers = compute_keys(op, row, Ints(&width, 1), true);
  auto* of = scratch<uint32_t>(op, numbers.n);
  auto* names = scratch<int64_t>(op, numbers.n);
  const int64_t ranks = in_order(op, numbers, [&](auto how, const auto* elements) {
    int64_t rank = -1;
    for (int64_t i = 0; i < numbers.n; ++i) {
      const auto name = static_cast<int64_t>(how.key(elements[i]));
      if (rank < 0 || names[rank] != name) names[++rank] = name;
      of[how.position(elements[i])] = static_cast<uint32_t>(rank);
    }
    return rank + 1;
  });
  return {of, names, ranks};
}

// Where each row of b begins, by a table or a search.
class Rows {
 public:
  Rows(Ops& op, const Numbers& b, int64_t height, int64_t width, bool table)
      : b_(b),
        width_(static_cast<uint64_t>(width)),
        begins_(table ? scratch<int64_t>(op, height + 1) : nullptr) {
    for (int64_t i = 0, row = 0; table && row <= height; ++row) {
      while (i < b.n && b[i] < static_cast<uint64_t>(row) * width_) ++i;
      begins_[row] = i;
    }
  }
  int64_t begin(uint64_t row) const {
    if (begins_) return begins_[row];
    return std::lower_bound(b_.words, b_.words + b_.n, row * width_) - b_.words;
  }
  int64_t end(uint64_t row, int64_t begin) const {
    return begins_ ? begins_[row + 1] : seek(b_, begin, (row + 1) * width_);
  }

 private:
  const Numbers& b_;
  uint64_t width_;
  int64_t* begins_;
};

// The non-empty rows of a, and the rows of b that their elements select.
struct GatheredRows {
  std::vector<int64_t> row, first;  // index of each row, its first element; of `first` also the end
  int64_t* begin;                   // of the elements of b, for each element of a
  int64_t* before;                  // terms of the elements of a before each, and all
};

GatheredRows gathered_rows(Ops& op, const Numbers& a, int64_t width, const Rows& rows) {
  GatheredRows out{{}, {}, scratch<int64_t>(op, a.n), scratch<int64_t>(op, a.n + 1)};
  const auto k = static_cast<uint64_t>(width);
  out.before[0] = 0;
  parallel_for(a.n, grain(1), [&](int64_t begin, int64_t end) {
    uint64_t base = a[begin] / k * k;
    for (int64_t i = begin; i < end; ++i) {
      if (a[i] - base >= k) base = a[i] / k * k;
      out.begin[i] = rows.begin(a[i] - base);
      out.before[i + 1] = rows.end(a[i] - base, out.begin[i]) - out.begin[i];
    }
  });
  uint64_t base = 0;
  for (int64_t i = 0; i < a.n; ++i) {
    out.before[i + 1] += out.before[i];
    if (i > 0 && a[i] - base < k) continue;
    out.row.push_back(static_cast<int64_t>(a[i] / k));
    out.first.push_back(i);
    base = static_cast<uint64_t>(out.row.back()) * k;
  }
  out.first.push_back(a.n);
  return out;
}

// The selected rows of b, each once.
Coo gather(Ops& op, const GatheredRows& p, int64_t elements, const Coo& b) {
  std::vector<std::pair<int64_t, int64_t>> rows;  // where they begin and end
  for (int64_t i = 0; i < elements; ++i) {
    if (p.before[i] < p.before[i + 1])
      rows.emplace_back(p.begin[i], p.begin[i] + p.before[i + 1] - p.before[i]);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  int64_t n = 0;
  for (const auto& [begin, end] : rows) n += end - begin;
  const Tensor at = op.empty(Ints(&n, 1), kInt64, b.values.device());
  auto* to = at.data<int64_t>();
  for (const auto& [begin, end] : rows) {
    for (int64_t i = begin; i < end; ++i) *to++ = i;
  }
  return {op.index_select(b.indices, 1, at), op.index_select(b.values, 0, at)};
}

// Rows before each block, and all: blocks have about as many terms.
std::vector<std::size_t> blocks_of(const GatheredRows& p, int64_t terms) {
  std::vector<std::size_t> cuts{0};
  int64_t from = 0;
  for (std::size_t r = 1; r < p.row.size(); ++r) {
    const int64_t before = p.before[p.first[r]];
    if (before - from < terms) continue;
    cuts.push_back(r);
    from = before;
  }
  cuts.push_back(p.row.size());
  return cuts;
}

// Both matrices in the form that the loops use.
struct Work {
  const GatheredRows& a;
  const Columns& b;
  int64_t elements;  // of a

  // Where the rows of b begin that an element some steps ahead selects, for prefetching.
  int64_t prefetch_begin(int64_t i) const { return a.begin[std::min(i + kAhead, elements - 1)]; }

  // term(element of a, of b, column) for each term of a row, whose columns are marked.
  template <class Term>
  void mark(std::size_t row, Marks& marks, Term&& term) const {
    for (int64_t i = a.first[row]; i < a.first[row + 1]; ++i) {
      const int64_t begin = a.begin[i], end = begin + a.before[i + 1] - a.before[i];
      if (begin == end) continue;
      __builtin_prefetch(b.of + prefetch_begin(i));
      marks.expect(b.of[begin], b.of[end - 1]);
      for (int64_t j = begin; j < end; ++j) {
        marks.set(b.of[j]);
        term(i, j, b.of[j]);
      }
    }
  }
};

// How many columns each of these rows has.
void count_rows(const Work& w, std::size_t begin, std::size_t end, int64_t* counts) {
  Marks marks(w.b.width);
  for (std::size_t row = begin; row < end; ++row) {
    w.mark(row, marks, [](int64_t, int64_t, uint32_t) {});
    int64_t n = 0;
    marks.drain([&](uint32_t, uint64_t bits) { n += __builtin_popcountll(bits); });
    counts[row] = n;
  }
}

// The values of both, and where the rows of the result begin in it.
template <class T>
struct Sums {
  using A = compute_t<T>;
  const T *a, *b;
  const int64_t* first;
  int64_t *rows, *columns;
  T* to;

  void write(const Work& w, std::size_t begin, std::size_t end) const {
    Marks marks(w.b.width);
    std::vector<A> sums(static_cast<std::size_t>(w.b.width), kNoTerm<A>);
    for (std::size_t row = begin; row < end; ++row) {
      w.mark(row, marks, [&](int64_t i, int64_t j, uint32_t c) {
        sums[c] = plus<A>(sums[c], times<A>(a[i], b[j]));
      });
      int64_t at = first[row];
      marks.drain([&](uint32_t from, uint64_t bits) {
        for (; bits != 0; bits &= bits - 1, ++at) {
          const uint32_t c = from + static_cast<uint32_t>(__builtin_ctzll(bits));
          columns[at] = w.b.names ? w.b.names[c] : int64_t{c};
          to[at] = T(std::exchange(sums[c], kNoTerm<A>));
        }
      });
      std::fill(rows + first[row], rows + at, w.a.row[row]);
    }
  }
};

template <class F>
void each_block(const std::vector<std::size_t>& cuts, F&& f) {
  parallel_for(static_cast<int64_t>(cuts.size()) - 1, 1, [&](int64_t begin, int64_t end) {
    for (auto b = static_cast<std::size_t>(begin); b < static_cast<std::size_t>(end); ++b)
      f(cuts[b], cuts[b + 1]);
  });
}

}  // namespace

bool matmul(Ops& op, const Coo& given_a, const Coo& given_b, Ints sizes_a, Ints sizes_b,
            Coo& product) {
  const Elements a = elements(op, given_a, sizes_a), b = elements(op, given_b, sizes_b);
  const int64_t k = sizes_b[0], n = sizes_b[1];
  if (b.numbers.n > UINT32_MAX) return false;
  product = parts(op, a.parts, 0);
  if (a.numbers.n == 0 || b.numbers.n == 0) return true;
  const GatheredRows p =
      gathered_rows(op, a.numbers, k, Rows(op, b.numbers, k, n, few(k, a.numbers.n + b.numbers.n)));
  if (p.before[a.numbers.n] < b.numbers.n / kPart)
    return matmul(op, a.parts, gather(op, p, a.numbers.n, b.parts), sizes_a, sizes_b, product);
  const Columns columns =
      few(n, b.numbers.n) ? own_columns(op, b.numbers, n) : ranked_columns(op, b.parts.indices, n);
  const Work work{p, columns, a.numbers.n};
  const std::vector<std::size_t> cuts = blocks_of(p, std::max(kTerms, 4 * columns.width));
  std::vector<int64_t> first(p.row.size() + 1, 0);
  each_block(cuts, [&](std::size_t begin, std::size_t end) {
    count_rows(work, begin, end, first.data() + 1);
  });
  for (std::size_t r = 1; r < first.size(); ++r) first[r] += first[r - 1];
  if (first.back() == 0) return true;
  product = parts(op, a.parts, first.back());
  dispatch_number(product.values.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    auto* at = product.indices.data<int64_t>();
    const Sums<T> sums{a.parts.values.data<const T>(),
                       b.parts.values.data<const T>(),
                       first.data(),
                       at,
                       at + first.back(),
                       product.values.data<T>()};
    each_block(cuts, [&](std::size_t begin, std::size_t end) { sums.write(work, begin, end); });
  });
  return true;
}

}  // namespace tenon::coo::loops
