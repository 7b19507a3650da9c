// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The sum and the product by elements of two tensors whose elements are in order, each once: one
// pass finds the operands of each element of the result, one writes it.
#include <algorithm>

#include "plugin_sparse/cpu/keys.h"
#include "plugin_sparse/cpu/loops.h"

namespace tenon::coo::loops {
namespace {

constexpr int64_t kBlock = 32768;  // elements of both
enum From : uint8_t { kA = 1, kB = 2 };

// How many elements of each come before.
struct Place {
  int64_t a, b;
};

// A split at which all keys before are lower than all after it; an element that both have is not
// split.
Place place_of(const Numbers& a, const Numbers& b, int64_t before) {
  int64_t low = std::max<int64_t>(0, before - b.n), high = std::min(before, a.n);
  while (low < high) {
    const int64_t mid = low + (high - low) / 2;
    if (a[mid] <= b[before - mid - 1])
      low = mid + 1;
    else
      high = mid;
  }
  const int64_t rest = before - low;
  const bool cut = low > 0 && rest < b.n && a[low - 1] == b[rest];
  return {low, rest + cut};
}

// Two runs being merged: each step consumes an element of one or of both, without a branch.
struct Runs {
  const uint64_t *x, *y, *x_end, *y_end;
  Runs(const Numbers& a, const Numbers& b, Place from, Place to)
      : x(a.words + from.a), y(b.words + from.b), x_end(a.words + to.a), y_end(b.words + to.b) {}
  bool more() const { return x < x_end && y < y_end; }
};

// What the elements of a sum come from, one byte each.
struct Origins : Runs {
  using Out = uint8_t;
  Out* out;
  Origins(const Numbers& a, const Numbers& b, Place from, Place to, Out* o)
      : Runs(a, b, from, to), out(o) {}
  void step() {
    const bool has_a = *x <= *y, has_b = *y <= *x;
    *out++ = static_cast<uint8_t>(has_a * kA | has_b * kB);
    x += has_a;
    y += has_b;
  }
  void finish() {
    out = std::fill_n(out, x_end - x, uint8_t{kA});
    out = std::fill_n(out, y_end - y, uint8_t{kB});
  }
};

// Positions of the elements that both have.
struct Common : Runs {
  using Out = Place;
  const uint64_t *a, *b;
  Out* out;
  Common(const Numbers& of_a, const Numbers& of_b, Place from, Place to, Out* o)
      : Runs(of_a, of_b, from, to), a(of_a.words), b(of_b.words), out(o) {}
  void step() {
    const bool has_a = *x <= *y, has_b = *y <= *x;
    *out = {x - a, y - b};
    out += has_a && has_b;
    x += has_a;
    y += has_b;
  }
  void finish() {}
};

// Both halves of a block at a time, since each step depends on the one before. Returns how many
// elements were written to `out`; `room` gives the space for the elements before a split.
template <class Merge, class Room>
int64_t merge_between(const Numbers& a, const Numbers& b, Place from, Place to,
                      typename Merge::Out* out, Room&& room) {
  const Place half = place_of(a, b, from.a + from.b + (to.a + to.b - from.a - from.b) / 2);
  typename Merge::Out* rest = out + room(half) - room(from);
  Merge first(a, b, from, half, out), second(a, b, half, to, rest);
  while (first.more() && second.more()) {
    first.step();
    second.step();
  }
  while (first.more()) first.step();
  while (second.more()) second.step();
  first.finish();
  second.finish();
  if (first.out != rest) std::copy(rest, second.out, first.out);
  return first.out - out + (second.out - rest);
}

// Blocks of a merge.
struct Cuts {
  std::vector<Place> places;   // where each block begins, and the end
  std::vector<int64_t> first;  // elements of the result before each block, and all
  int64_t blocks() const { return static_cast<int64_t>(places.size()) - 1; }
};

// pass(begin and end of a block) returns the number of its elements.
template <class F>
Cuts cut(const Numbers& a, const Numbers& b, F&& pass) {
  const int64_t n = a.n + b.n, blocks = (n + kBlock - 1) / kBlock;
  Cuts out{{}, std::vector<int64_t>(static_cast<std::size_t>(blocks + 1), 0)};
  for (int64_t i = 0; i <= blocks; ++i)
    out.places.push_back(place_of(a, b, std::min(n, i * kBlock)));
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Place* p = out.places.data() + i;
      out.first[static_cast<std::size_t>(i + 1)] = pass(p[0], p[1]);
    }
  });
  for (std::size_t i = 1; i < out.first.size(); ++i) out.first[i] += out.first[i - 1];
  return out;
}

struct Plan {
  Cuts cuts;
  const uint8_t* from;
};

Plan plan(Ops& op, const Numbers& a, const Numbers& b) {
  auto* from = scratch<uint8_t>(op, a.n + b.n);
  const auto room = [](Place p) { return p.a + p.b; };
  return {cut(a, b,
              [&](Place p, Place q) {
                return merge_between<Origins>(a, b, p, q, from + room(p), room);
              }),
          from};
}

// f(element of the sum, of a, of b, where it comes from) for a block.
template <class F>
void each(const Plan& plan, int64_t block, F&& f) {
  Place at = plan.cuts.places[static_cast<std::size_t>(block)];
  const uint8_t* from = plan.from + at.a + at.b;
  const int64_t end = plan.cuts.first[static_cast<std::size_t>(block + 1)];
  for (int64_t i = plan.cuts.first[static_cast<std::size_t>(block)]; i < end; ++i) {
    const uint8_t what = *from++;
    f(i, at.a, at.b, what);
    at.a += what & kA;
    at.b += what >> 1;
  }
}

// p if take, else q, without a branch, which could not be predicted.
template <class T>
const T* select(bool take, const T* p, const T* q) {
  const auto x = reinterpret_cast<uintptr_t>(p), y = reinterpret_cast<uintptr_t>(q);
  return reinterpret_cast<const T*>(y ^ ((x ^ y) & (uintptr_t{0} - uintptr_t{take})));
}

void write_indices(const Plan& plan, int64_t block, const Tensor& a, const Tensor& b,
                   const Tensor& out) {
  for (int64_t d = 0; d < out.size(0); ++d) {
    const int64_t *x = a.data<const int64_t>() + d * a.size(1),
                  *y = b.data<const int64_t>() + d * b.size(1);
    int64_t* to = out.data<int64_t>() + d * out.size(1);
    each(plan, block, [&](int64_t i, int64_t p, int64_t q, uint8_t what) {
      to[i] = *select(what & kA, x + p, y + q);
    });
  }
}

template <class T>
void write_values(const Plan& plan, int64_t block, const Tensor& a, const Tensor& b,
                  const Tensor& out) {
  using A = compute_t<T>;
  const T *x = a.data<const T>(), *y = b.data<const T>();
  T* to = out.data<T>();
  const int64_t inner = out.numel() / out.size(0);
  if (inner == 1) {
    const T zero = T(A(0));
    each(plan, block, [&](int64_t i, int64_t p, int64_t q, uint8_t what) {
      to[i] = T(plus<A>(*select(what & kA, x + p, &zero), *select(what & kB, y + q, &zero)));
    });
    return;
  }
  each(plan, block, [&](int64_t i, int64_t p, int64_t q, uint8_t what) {
    if (what != (kA | kB)) {
      std::copy_n(what == kA ? x + p * inner : y + q * inner, inner, to + i * inner);
      return;
    }
    for (int64_t j = 0; j < inner; ++j)
      to[i * inner + j] = T(plus<A>(x[p * inner + j], y[q * inner + j]));
  });
}

// Elements [begin, end) of a product, whose indices are those of a.
template <class T>
void write_products(const Place* common, int64_t begin, int64_t end, const Coo& a, const Coo& b,
                    const Coo& out) {
  using A = compute_t<T>;
  for (int64_t d = 0; d < out.indices.size(0); ++d) {
    const int64_t* x = a.indices.data<const int64_t>() + d * a.indices.size(1);
    int64_t* to = out.indices.data<int64_t>() + d * out.indices.size(1);
    for (int64_t i = begin; i < end; ++i) to[i] = x[common[i - begin].a];
  }
  const T *x = a.values.data<const T>(), *y = b.values.data<const T>();
  T* to = out.values.data<T>();
  const int64_t inner = out.values.numel() / out.values.size(0);
  for (int64_t i = begin; i < end; ++i) {
    const auto [p, q] = common[i - begin];
    for (int64_t j = 0; j < inner; ++j)
      to[i * inner + j] = T(times<A>(x[p * inner + j], y[q * inner + j]));
  }
}

// Both tensors, contiguous, and their keys.
struct Two {
  Coo a, b;
  Numbers x, y;
  bool ordered() const { return x.strict && y.strict; }
};

Two two(Ops& op, const Coo& given_a, const Coo& given_b, Ints sizes) {
  const Coo a{contiguous(op, given_a.indices), contiguous(op, given_a.values)};
  const Coo b{contiguous(op, given_b.indices), contiguous(op, given_b.values)};
  return {a, b, compute_keys(op, a.indices, sizes, false),
          compute_keys(op, b.indices, sizes, false)};
}

}  // namespace

bool merge(Ops& op, const Coo& given_a, const Coo& given_b, Ints sizes, Coo& sum) {
  const Two t = two(op, given_a, given_b, sizes);
  if (!t.ordered()) return false;
  const Plan p = plan(op, t.x, t.y);
  sum = parts(op, t.a, p.cuts.first.back());
  if (p.cuts.first.back() == 0) return true;
  dispatch_all(t.a.values.dtype(), [&](auto tag) {
    parallel_for(p.cuts.blocks(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        write_indices(p, i, t.a.indices, t.b.indices, sum.indices);
        write_values<tn_type(tag)>(p, i, t.a.values, t.b.values, sum.values);
      }
    });
  });
  return true;
}

bool intersect(Ops& op, const Coo& given_a, const Coo& given_b, Ints sizes, Coo& product) {
  const Two t = two(op, given_a, given_b, sizes);
  if (!t.ordered()) return false;
  auto* common = scratch<Place>(op, t.x.n);  // of a block: from where it begins in a
  const auto room = [](Place p) { return p.a; };
  const Cuts cuts = cut(t.x, t.y, [&](Place p, Place q) {
    return merge_between<Common>(t.x, t.y, p, q, common + room(p), room);
  });
  product = parts(op, t.a, cuts.first.back());
  if (cuts.first.back() == 0) return true;
  dispatch_all(t.a.values.dtype(), [&](auto tag) {
    parallel_for(cuts.blocks(), 1, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        write_products<tn_type(tag)>(common + cuts.places[i].a, cuts.first[i], cuts.first[i + 1],
                                     t.a, t.b, product);
      }
    });
  });
  return true;
}

}  // namespace tenon::coo::loops
