// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/tiles.h"

#include <algorithm>

namespace tenon::llvm_loops {
namespace {

constexpr int kMaxVectors = 8, kMaxPoints = 12, kMaxSums = 24;
constexpr double kLatency = 4;  // cycles from a fused multiply-add to the next of the same sum

// Of one step of the reduced loops: two operations and two loads a cycle, or the latency of a sum.
// Loads are not wholly hidden, least of all those of vectors, which may lie across two lines.
double cycles(const TileWork& w, int vectors, int points) {
  const double operations = 0.5 * vectors * points * w.sums * w.operations;
  const double loads =
      vectors * w.reads_along + 0.75 * points * w.reads_across + vectors * points * w.reads_both;
  return std::max({operations, 0.5 * loads, kLatency}) + 0.25 * loads;
}

// Of all points of the other loop: whole tiles, then halves of them.
template <class F>
double across(int64_t extent, int most, F f) {
  double sum = 0;
  for (int n = most; n > 0 && extent > 0; n /= 2) {
    sum += static_cast<double>(extent / n) * f(n);
    extent %= n;
  }
  return sum;
}

// Of all vectors: as many as go at once, then the tail.
template <class F>
double along(int64_t extent, int64_t lanes, int vectors, F f) {
  const int64_t whole = extent / (lanes * vectors), left = extent % (lanes * vectors);
  const int tail = static_cast<int>((left + lanes - 1) / lanes);
  return static_cast<double>(whole) * f(vectors) + (tail > 0 ? f(tail) : 0);
}

}  // namespace

TileShape choose_tile(const TileWork& w) {
  const int registers = w.lanes == 16 ? 32 : 16;
  TileShape best;
  double least = 0;
  for (int vectors = 1; vectors <= kMaxVectors; ++vectors)
    for (int points = 1; points <= std::min<int64_t>(kMaxPoints, w.across); ++points) {
      const int sums = vectors * points * w.sums;
      const bool fits = sums <= kMaxSums && sums + vectors * w.reads_along + 2 <= registers;
      if (!fits && vectors * points > 1) continue;
      const double cost = across(w.across, points, [&](int p) {
        return along(w.along, w.lanes, vectors, [&](int v) { return cycles(w, v, p); });
      });
      if (least > 0 && cost >= least) continue;
      least = cost;
      best = {vectors, points};
    }
  return best;
}

}  // namespace tenon::llvm_loops
