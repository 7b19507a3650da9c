// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Scattering elements to strided tensors, and looking them up.
#include <algorithm>
#include <memory>

#include "plugin_sparse/cpu/keys.h"
#include "plugin_sparse/cpu/loops.h"
#include "plugin_sparse/cpu/marks.h"

namespace tenon::coo::loops {
namespace {

template <class T>
void add_to(const Elements& e, int64_t inner, const Scalar& alpha, T* out) {
  using A = compute_t<T>;
  const A scale = alpha.to<A>();
  const T* v = e.parts.values.data<const T>();
  parallel_for(e.numbers.n, grain(inner), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* to = out + static_cast<int64_t>(e.numbers[i]) * inner;
      for (int64_t j = 0; j < inner; ++j)
        to[j] = T(plus<A>(to[j], times<A>(v[i * inner + j], scale)));
    }
  });
}

// A dense row is no more work than this many elements for each of its entries.
constexpr int64_t kWide = 4;

// The elements of each key are added up in their order, in a dense row as wide as a group, and
// their sum is added to out.
template <class T, class Inner>
void add_groups(const Groups& groups, int shift, const T* values, Inner inner, const Scalar& alpha,
                T* out) {
  using A = compute_t<T>;
  const A scale = alpha.to<A>();
  const Packed how{shift};
  const auto all = static_cast<int64_t>(groups.ends.size()), n = groups.ends.back();
  const auto width = static_cast<int64_t>(groups.width), size = width * inner;
  const int64_t elements = std::max(grain(inner), width / kWide);  // per block
  parallel_for(all, std::max<int64_t>(1, all * elements / n), [&](int64_t begin, int64_t end) {
    Marks marks(width);
    const std::unique_ptr<A[]> sums(new A[static_cast<std::size_t>(size)]);
    std::fill_n(sums.get(), size, kNoTerm<A>);
    for (int64_t g = begin; g < end; ++g) {
      int64_t i = g == 0 ? 0 : groups.ends[static_cast<std::size_t>(g - 1)];
      const int64_t last = groups.ends[static_cast<std::size_t>(g)];
      if (i == last) continue;
      T* to = out + static_cast<int64_t>(how.key(groups.elements[i]) & ~(groups.width - 1)) * inner;
      for (; i < last; ++i) {
        const auto place = static_cast<uint32_t>(how.key(groups.elements[i]) & (groups.width - 1));
        const T* from = values + how.position(groups.elements[i]) * inner;
        A* sum = sums.get() + place * inner;
        for (int64_t j = 0; j < inner; ++j) sum[j] = plus<A>(sum[j], from[j]);
        marks.set(place);
      }
      marks.expect(0, static_cast<uint32_t>(width - 1));
      marks.drain([&](uint32_t first, uint64_t bits) {
        for (; bits != 0; bits &= bits - 1) {
          const int64_t at = (first + __builtin_ctzll(bits)) * inner;
          for (int64_t j = at; j < at + inner; ++j)
            to[j] = T(plus<A>(to[j], times<A>(T(std::exchange(sums[j], kNoTerm<A>)), scale)));
        }
      });
    }
  });
}

template <class T>
void set_in(const Elements& e, int64_t inner, T* out) {
  const T* v = e.parts.values.data<const T>();
  parallel_for(e.numbers.n, grain(inner), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::copy_n(v + i * inner, inner, out + static_cast<int64_t>(e.numbers[i]) * inner);
  });
}

template <class T>
void gather(const Elements& e, const Numbers& wanted, int64_t inner, T* out) {
  const T* v = e.parts.values.data<const T>();
  parallel_for(wanted.n, grain(inner), [&](int64_t begin, int64_t end) {
    uint64_t before = 0;
    int64_t at = 0;
    for (int64_t i = begin; i < end; ++i) {
      at = seek(e.numbers, wanted[i] < before ? 0 : at, wanted[i]);
      before = wanted[i];
      if (at < e.numbers.n && e.numbers[at] == wanted[i])
        std::copy_n(v + at * inner, inner, out + i * inner);
      else
        std::fill_n(out + i * inner, inner, T(0));
    }
  });
}

int64_t inner_of(const Tensor& values) {
  int64_t n = 1;
  for (int d = 1; d < values.ndim(); ++d) n *= values.size(d);
  return n;
}

}  // namespace

void scatter(Ops& op, const Tensor& out, const Coo& from, const Scalar& alpha, bool set) {
  const Ints sizes(out.sizes().data(), from.indices.size(0));
  const int64_t inner = inner_of(from.values);
  if (set) {
    const Elements e = elements(op, from, sizes);
    dispatch_size(out.dtype(), [&](auto tag) { set_in(e, inner, out.data<tn_type(tag)>()); });
    return;
  }
  Elements e{{contiguous(op, from.indices), contiguous(op, from.values)}, {}};
  e.numbers = compute_keys(op, e.parts.indices, sizes, true);
  const bool grouped = !e.numbers.strict && e.numbers.shift >= 0 && inner > 0;
  const Groups groups = grouped ? partition(op, e.numbers) : Groups{};
  const bool dense = grouped && static_cast<int64_t>(groups.width) <=
                                    std::min<int64_t>(kWide * e.numbers.n, UINT32_MAX);
  if (!e.numbers.strict && !dense) e = elements(op, e.parts, sizes);
  dispatch_all(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T* values = e.parts.values.data<const T>();
    if (!dense) return add_to(e, inner, alpha, out.data<T>());
    if (inner == 1)
      return add_groups(groups, e.numbers.shift, values, std::integral_constant<int64_t, 1>(),
                        alpha, out.data<T>());
    add_groups(groups, e.numbers.shift, values, inner, alpha, out.data<T>());
  });
}

void gather(Ops& op, const Tensor& out, const Coo& from, Ints sparse_sizes, const Tensor& at) {
  const Elements e = elements(op, from, sparse_sizes);
  const Numbers wanted = compute_keys(op, contiguous(op, at), sparse_sizes, false);
  dispatch_size(out.dtype(), [&](auto tag) {
    gather(e, wanted, inner_of(from.values), out.data<tn_type(tag)>());
  });
}

}  // namespace tenon::coo::loops
