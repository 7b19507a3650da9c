// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums of rows of a dense matrix. A row of the result belongs to one thread; its elements are kept
// in registers while the terms of the row are added in their order. Nothing is fused: every
// instruction set gives the same bits.
#include "plugin_sparse/cpu/product.h"

#include <algorithm>
#include <atomic>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_sparse/cpu/product.cpp"
#include "isa/targets.h"

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "plugin_sparse/cpu/loops.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::coo::loops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kAhead = 16;     // terms whose rows are fetched early
constexpr int64_t kFetched = 512;  // bytes of such a row; the hardware prefetcher gets the rest
// Elements of a row that are summed at a time where they are not vectors.
constexpr int64_t kRun = 64;

// Terms [begin, end), all of `row`; columns [c, c + n) of the matrices.
template <class T>
struct Row {
  const Product& p;
  const T *values, *dense, *start;
  T* out;
  compute_t<T> alpha;
  int64_t begin, end, row;

  HWY_INLINE const T* dense_row(int64_t i) const { return dense + p.columns[i] * p.k; }
};

template <class T>
HWY_INLINE void sum_one(const Row<T>& r, int64_t c) {
  using A = compute_t<T>;
  A sum = r.start ? A(r.start[r.row * r.p.k + c]) : A(0);
  for (int64_t i = r.begin; i < r.end; ++i)
    sum = plus<A>(sum, times<A>(times<A>(r.values[i], r.alpha), r.dense_row(i)[c]));
  r.out[r.row * r.p.k + c] = T(sum);
}

template <class T>
HWY_INLINE void sum_run(const Row<T>& r, int64_t c, int64_t n) {
  using A = compute_t<T>;
  HWY_ALIGN A sum[kRun];
  for (int64_t j = 0; j < n; ++j) sum[j] = r.start ? A(r.start[r.row * r.p.k + c + j]) : A(0);
  for (int64_t i = r.begin; i < r.end; ++i) {
    const A factor = times<A>(r.values[i], r.alpha);
    const T* x = r.dense_row(i) + c;
    for (int64_t j = 0; j < n; ++j) sum[j] = plus<A>(sum[j], times<A>(factor, x[j]));
  }
  for (int64_t j = 0; j < n; ++j) r.out[r.row * r.p.k + c + j] = T(sum[j]);
}

template <int N, class T>
HWY_INLINE void sum_vectors(const Row<T>& r, int64_t c) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), at = r.row * r.p.k + c;
  hn::Vec<hn::ScalableTag<T>> sum[N];
#pragma GCC unroll 8
  for (int v = 0; v < N; ++v)
    sum[v] = r.start ? hn::LoadU(d, r.start + at + v * lanes) : hn::Zero(d);
  for (int64_t i = r.begin; i < r.end; ++i) {
    const auto factor = hn::Set(d, r.values[i] * r.alpha);
    const T* x = r.dense_row(i) + c;
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v)
      sum[v] = hn::Add(sum[v], hn::Mul(factor, hn::LoadU(d, x + v * lanes)));
  }
#pragma GCC unroll 8
  for (int v = 0; v < N; ++v) {
    if (r.p.non_temporal)
      hn::Stream(sum[v], d, r.out + at + v * lanes);
    else
      hn::StoreU(sum[v], d, r.out + at + v * lanes);
  }
}

template <class T>
HWY_INLINE void sum_row(const Row<T>& r) {
  int64_t c = 0;
  if constexpr (std::is_floating_point_v<T>) {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
    for (; c + 4 * lanes <= r.p.k; c += 4 * lanes) sum_vectors<4>(r, c);
    for (; c + lanes <= r.p.k; c += lanes) sum_vectors<1>(r, c);
  }
  for (; c + 1 < r.p.k; c += kRun) sum_run(r, c, std::min(kRun, r.p.k - c));
  if (c < r.p.k) sum_one(r, c);
}

template <class T>
HWY_INLINE void empty_rows(const Product& p, int64_t begin, int64_t end) {
  T* out = static_cast<T*>(p.out);
  if (p.start)
    std::copy(static_cast<const T*>(p.start) + begin * p.k,
              static_cast<const T*>(p.start) + end * p.k, out + begin * p.k);
  else
    std::fill(out + begin * p.k, out + end * p.k, T(0));
}

// Rows and terms from `a` to `b`.
template <class T>
HWY_INLINE Outcome rows_between(const Product& p, Cut a, Cut b) {
  const T* dense = static_cast<const T*>(p.dense);
  const int64_t bytes = std::min<int64_t>(p.k * static_cast<int64_t>(sizeof(T)), kFetched);
  Row<T> r{p,
           static_cast<const T*>(p.values),
           dense,
           static_cast<const T*>(p.start),
           static_cast<T*>(p.out),
           p.alpha.to<compute_t<T>>(),
           0,
           a.term,
           0};
  int64_t next = a.row;
  while (r.end < b.term) {
    r.begin = r.end;
    r.row = p.rows[r.begin];
    if (r.row < next || r.row >= b.row) return Outcome::Unordered;
    empty_rows<T>(p, next, r.row);
    do {
      if (static_cast<uint64_t>(p.columns[r.end]) >= static_cast<uint64_t>(p.width))
        return Outcome::OutOfRange;
      // The column is not checked yet: the address is prefetched only, not read.
      const auto ahead = reinterpret_cast<uintptr_t>(dense) +
                         static_cast<uintptr_t>(p.columns[std::min(r.end + kAhead, p.n - 1)]) *
                             static_cast<uintptr_t>(p.k) * sizeof(T);
      for (int64_t at = 0; at < bytes; at += 64)
        hwy::Prefetch(reinterpret_cast<const char*>(ahead) + at);
    } while (++r.end < b.term && p.rows[r.end] == r.row);
    sum_row(r);
    next = r.row + 1;
  }
  empty_rows<T>(p, next, b.row);
  if (p.non_temporal) hwy::FlushStream();
  return Outcome::Done;
}

Outcome product_between(const Product& p, Cut a, Cut b) {
  return dispatch_number(p.dtype,
                         [&](auto tag) HWY_ATTR { return rows_between<tn_type(tag)>(p, a, b); });
}

}  // namespace tenon::coo::loops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "plugin_sparse/cpu/keys.h"

namespace tenon::coo::loops {

TENON_EXPORT(product_between);

namespace {

constexpr int64_t kElements = 262144;  // multiplied by a block
// Bytes; a larger result leaves the caches before it is read.
constexpr int64_t kNonTemporalBytes = 32 << 20;

// Rows and terms before it add up to `work` or, if that is within a row, more. If rows do not
// ascend, any value.
Cut cut_at(const Product& p, int64_t work) {
  int64_t low = 0, high = p.n;
  while (low < high) {
    const int64_t mid = low + (high - low) / 2;
    if (p.rows[mid] < work - mid)  // not a sum, which might overflow: the row is not checked yet
      low = mid + 1;
    else
      high = mid;
  }
  const int64_t after = low == 0 ? 0 : p.rows[low - 1] + 1;
  const int64_t row = std::clamp<int64_t>(std::max(after, work - low), 0, p.height);
  return {row, std::lower_bound(p.rows + low, p.rows + p.n, row) - p.rows};
}

Outcome run(const Product& p) {
  const int64_t all = p.n + p.height,
                block = std::max<int64_t>(256, kElements / std::max<int64_t>(1, p.k));
  const int64_t blocks = (all + block - 1) / block;
  std::vector<Cut> cuts(static_cast<std::size_t>(blocks + 1));
  for (int64_t b = 0; b <= blocks; ++b) {
    Cut& c = cuts[static_cast<std::size_t>(b)];
    c = b == 0 ? Cut{0, 0} : b == blocks ? Cut{p.height, p.n} : cut_at(p, b * block);
    if (b > 0 && (c.row < (&c)[-1].row || c.term < (&c)[-1].term)) return Outcome::Unordered;
  }
  std::atomic<int> worst{0};
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const Cut* c = cuts.data() + b;
      const int got = static_cast<int>(TENON_DISPATCH(product_between)(p, c[0], c[1]));
      int seen = worst.load(std::memory_order_relaxed);
      while (seen < got && !worst.compare_exchange_weak(seen, got, std::memory_order_relaxed)) {
      }
    }
  });
  return static_cast<Outcome>(worst.load());
}

// The terms by rows, those of a row in their order.
Terms by_rows(Ops& op, const Terms& t, int64_t height) {
  const int64_t n = t.rows.numel(), shape[] = {1, n};
  const Numbers numbers =
      compute_keys(op, op("view", {value(t.rows), value(Ints(shape, 2))}), Ints(&height, 1), true);
  const Terms out{op.empty(t.rows.sizes(), kInt64, t.rows.device()),
                  op.empty(t.rows.sizes(), kInt64, t.rows.device()),
                  op.empty(t.rows.sizes(), t.values.dtype(), t.rows.device())};
  in_order(op, numbers, [&](auto how, const auto* elements) {
    dispatch_size(t.values.dtype(), [&](auto tag) {
      using T = tn_type(tag);
      const auto* columns = t.columns.data<const int64_t>();
      const T* values = t.values.data<const T>();
      parallel_for(n, grain(1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t from = how.position(elements[i]);
          out.rows.data<int64_t>()[i] = static_cast<int64_t>(how.key(elements[i]));
          out.columns.data<int64_t>()[i] = columns[from];
          out.values.data<T>()[i] = values[from];
        }
      });
    });
  });
  return out;
}

Product product_of(const Tensor& out, const Terms& t, const Tensor& dense, const Scalar& alpha,
                   const Tensor& start) {
  const int64_t k = dense.size(1), bytes = out.numel() * item_size(out.dtype());
  // Whole vectors of every instruction set.
  const bool lines = k * item_size(out.dtype()) % 64 == 0 &&
                     reinterpret_cast<uintptr_t>(out.data<char>()) % 64 == 0;
  return {t.rows.data<const int64_t>(),
          t.columns.data<const int64_t>(),
          t.rows.numel(),
          out.size(0),
          dense.size(0),
          k,
          t.values.data<const void>(),
          dense.data<const void>(),
          start.defined() ? start.data<const void>() : nullptr,
          out.data<void>(),
          out.dtype(),
          alpha,
          lines && bytes >= kNonTemporalBytes};
}

}  // namespace

void product(Ops& op, const Tensor& out, const Terms& given, const Tensor& of, const Scalar& alpha,
             const Tensor& given_start) {
  if (out.numel() == 0) return;
  Terms t{contiguous(op, given.rows), contiguous(op, given.columns), contiguous(op, given.values)};
  const Tensor dense = contiguous(op, of),
               start = given_start.defined() ? contiguous(op, given_start) : given_start;
  Outcome got = run(product_of(out, t, dense, alpha, start));
  if (got == Outcome::Unordered) {
    t = by_rows(op, t, out.size(0));
    got = run(product_of(out, t, dense, alpha, start));
  }
  if (got != Outcome::Done)
    throw Error(TN_ERROR_INDEX, "an index is out of bounds for a matrix of ", out.size(0), " x ",
                dense.size(0));
}

}  // namespace tenon::coo::loops
#endif
