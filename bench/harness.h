// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a row is, and the loop that times one. Rows of both libraries and their lower bounds are
// shared objects that export bench_rows(): the same source for ours and libtorch's (rows/*.cpp), so
// that a ratio compares the same program.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

template <class T>
inline void keep(T const& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

using Loop = std::function<void(long calls)>;

struct Row {
  std::string group, name, note;
  double per;                  // operations that one call stands for
  std::function<Loop()> make;  // builds the inputs; called only for rows that run
};

class Suite {
 public:
  std::vector<Row> rows;
  template <class Maker>
  void row(char const* group, std::string name, Maker make, char const* note = "", double per = 1) {
    rows.push_back({group, std::move(name), note, per, [make]() -> Loop {
                      return [call = make()](long n) mutable {
                        for (long i = 0; i < n; ++i) call();
                      };
                    }});
  }
};

// Exported by each side.
struct Side {
  Suite suite;
  std::string library;
  void (*set_threads)(int);
};

inline double seconds(Loop& loop, long n) {
  auto begin = std::chrono::steady_clock::now();
  loop(n);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Calls so that a repetition lasts `min_seconds` seconds; the first two calls are dropped (they
// build primitives and fill caches).
inline long calibrate(Loop& loop, double min_seconds = 2e-3) {
  long n = 1;
  seconds(loop, 1);
  double t = seconds(loop, 1);
  while (t < min_seconds && n < (1L << 30)) {
    n = t > 1e-6
            ? std::max(n * 2, static_cast<long>(static_cast<double>(n) * 1.25 * min_seconds / t))
            : n * 16;
    t = seconds(loop, n);
  }
  return n;
}

}  // namespace bench

extern "C" __attribute__((visibility("default"))) bench::Side* bench_side();
