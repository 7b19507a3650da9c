// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elements put into strided tensors, and looked for.
#include <algorithm>

#include "plugin_sparse/host/keys.h"
#include "plugin_sparse/host/loops.h"

namespace tenon::coo::loops {
namespace {

struct Elements {
  Coo parts;
  Numbers numbers;
};

// Each element once, in order, whatever the tensor claims.
Elements elements(Ops& op, const Coo& t, Ints sizes) {
  Coo own{contiguous(op, t.indices), contiguous(op, t.values)};
  Numbers numbers = number(op, own.indices, sizes, false);
  if (!numbers.strict) {
    own = loops::coalesce(op, own.indices, own.values, sizes);
    numbers = number(op, own.indices, sizes, false);
  }
  return {own, numbers};
}

template <class T>
void add_to(const Elements& e, int64_t inner, const Scalar& alpha, T* out) {
  using A = compute_t<T>;
  const A scale = alpha.to<A>();
  const T* v = e.parts.values.data<const T>();
  parallel_for(e.numbers.n, grain(inner), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* to = out + static_cast<int64_t>(e.numbers[i]) * inner;
      for (int64_t j = 0; j < inner; ++j) to[j] = T(plus<A>(to[j], times<A>(v[i * inner + j], scale)));
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

// The first of ascending numbers that is not below `wanted`, from `at` on.
int64_t seek(const Numbers& have, int64_t at, uint64_t wanted) {
  int64_t step = 1;
  while (at + step < have.n && have[at + step] < wanted) {
    at += step;
    step *= 2;
  }
  return std::lower_bound(have.words + at, have.words + std::min(have.n, at + step + 1), wanted) - have.words;
}

template <class T>
void pick(const Elements& e, const Numbers& wanted, int64_t inner, T* out) {
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
  const Elements e = elements(op, from, Ints(out.sizes().data(), from.indices.size(0)));
  const int64_t inner = inner_of(from.values);
  if (set) {
    dispatch_size(out.dtype(), [&](auto tag) { set_in(e, inner, out.data<tn_type(tag)>()); });
  } else {
    dispatch_all(out.dtype(), [&](auto tag) { add_to(e, inner, alpha, out.data<tn_type(tag)>()); });
  }
}

void gather(Ops& op, const Tensor& out, const Coo& from, Ints sparse_sizes, const Tensor& at) {
  const Elements e = elements(op, from, sparse_sizes);
  const Numbers wanted = number(op, contiguous(op, at), sparse_sizes, false);
  dispatch_size(out.dtype(), [&](auto tag) { pick(e, wanted, inner_of(from.values), out.data<tn_type(tag)>()); });
}

}  // namespace tenon::coo::loops
