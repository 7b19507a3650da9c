// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loops over core's thread pool, the only one of the process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tenon/runtime/threads.h"

namespace tenon {

inline int get_num_threads() { return core::num_threads(); }
inline void set_num_threads(int n) { core::set_num_threads(n); }  // ValueError below 1
inline bool in_parallel_region() { return core::in_parallel_region(); }
inline int get_thread_num() { return core::thread_index(); }

namespace detail {
// At most 64 blocks, whose borders do not depend on the number of threads.
inline int64_t parallel_block(int64_t n, int64_t grain) {
  return std::max<int64_t>({grain, n / 64 + (n % 64 != 0), 1});
}
// Whether there are more integers from begin to end than 63 bits can count: then each half is a
// range of its own.
inline bool parallel_halves(int64_t begin, int64_t end) {
  return begin < 0 && end > INT64_MAX + begin;
}
}  // namespace detail

// Calls f(from, to) for blocks of at least `grain` that cover [begin, end). The first exception is
// rethrown.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& f) {
  if (begin >= end) return;
  if (detail::parallel_halves(begin, end)) {
    const int64_t middle = begin / 2 + end / 2;
    parallel_for(begin, middle, grain, f);
    return parallel_for(middle, end, grain, f);
  }
  struct Context {
    const F& f;
    int64_t begin;
  } context{f, begin};
  core::parallel_for(
      end - begin, detail::parallel_block(end - begin, grain),
      [](void* arg, int64_t from, int64_t to) {
        auto* c = static_cast<Context*>(arg);
        c->f(c->begin + from, c->begin + to);
      },
      &context);
}

// Reduces f(from, to, identity) of the blocks with `combine`, in their order: the same bits for any
// number of threads.
template <class T, class F, class Combine>
T parallel_reduce(int64_t begin, int64_t end, int64_t grain, const T& identity, const F& f,
                  const Combine& combine) {
  if (begin >= end) return identity;
  if (detail::parallel_halves(begin, end)) {
    const int64_t middle = begin / 2 + end / 2;
    const T first = parallel_reduce(begin, middle, grain, identity, f, combine);
    return combine(first, parallel_reduce(middle, end, grain, identity, f, combine));
  }
  int64_t block = detail::parallel_block(end - begin, grain);
  struct Slot {
    T value;  // in a struct: std::vector<bool> cannot be written from several threads
  };
  std::vector<Slot> parts(static_cast<std::size_t>((end - begin - 1) / block + 1), Slot{identity});
  parallel_for(begin, end, block, [&](int64_t from, int64_t to) {
    parts[static_cast<std::size_t>((from - begin) / block)].value = f(from, to, identity);
  });
  T out = identity;
  for (const Slot& p : parts) out = combine(out, p.value);
  return out;
}

}  // namespace tenon
