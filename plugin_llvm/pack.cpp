// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/pack.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tenon/sdk/parallel.h"

namespace tenon::llvm_loops {
namespace {

constexpr int64_t kSide = 8;         // rows and columns that are transposed at once
constexpr int64_t kBand = 64;        // columns of the copy of a task, lines of the cache
constexpr int64_t kGrain = 1 << 15;  // elements of a task

// The dimensions that a copy walks in its two inner loops, -1 for none, and the others.
struct Walk {
  const lp::Shape &shape, &from, &to;  // steps
  int read;                            // the least step of the source
  int write;                           // the least step of the copy

  int64_t extent(int d) const { return d < 0 ? 1 : shape[d]; }
  int64_t others() const {
    int64_t n = 1;
    for (int d = 0; d < static_cast<int>(shape.size()); ++d)
      if (d != read && d != write) n *= shape[d];
    return n;
  }
};

int least_step(const lp::Shape& shape, const lp::Shape& strides, int but) {
  int best = -1;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    if (shape[d] == 1 || d == but) continue;
    if (best < 0 || std::abs(strides[d]) < std::abs(strides[best])) best = d;
  }
  return best;
}

struct Plane {
  int64_t rows, columns;  // of the source's least step, of the copy's
  int64_t read_row, read_column, write_row, write_column;
};

typedef float V8 __attribute__((vector_size(32), aligned(4), may_alias));

// 8 x 8 of 4 bytes: rows are neighbors in the source, columns in the copy. Where there is a kernel,
// there is AVX2.
__attribute__((target("avx2"))) inline void transpose_8(const char* from, int64_t from_step,
                                                        char* to, int64_t to_step) {
  V8 v[8], w[8];
  for (int i = 0; i < 8; ++i) v[i] = *reinterpret_cast<const V8*>(from + i * from_step);
  for (int i = 0; i < 8; i += 2) {  // pairs of columns: 0 and 1, 2 and 3, of either half
    w[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    w[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4)  // fours of them
    for (int j = 0; j < 2; ++j) {
      const V8 a = w[i + j], b = w[i + j + 2];
      v[i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      v[i + 2 * j + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  for (int i = 0; i < 4; ++i) {
    const V8 a = v[i], b = v[i + 4];
    *reinterpret_cast<V8*>(to + i * to_step) =
        __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
    *reinterpret_cast<V8*>(to + (i + 4) * to_step) =
        __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

template <class T>
void copy_block(const Plane& p, const char* from, char* to, int64_t r, int64_t c, int64_t rows,
                int64_t columns) {
  for (int64_t i = r; i < r + rows; ++i)
    for (int64_t j = c; j < c + columns; ++j)
      std::memcpy(to + (i * p.write_row + j * p.write_column) * static_cast<int64_t>(sizeof(T)),
                  from + (i * p.read_row + j * p.read_column) * static_cast<int64_t>(sizeof(T)),
                  sizeof(T));
}

// The source is read along its rows.
template <class T>
void copy_plane(const Plane& p, const char* from, char* to) {
  constexpr int64_t item = sizeof(T);
  const bool by_vectors = item == 4 && p.read_row == 1 && p.write_column == 1;
  const int64_t columns = by_vectors ? p.columns / kSide * kSide : 0;
  const int64_t rows = by_vectors ? p.rows / kSide * kSide : 0;
  for (int64_t r = 0; r < rows; r += kSide)
    for (int64_t c = 0; c < columns; c += kSide)
      transpose_8(from + (r + c * p.read_column) * item, p.read_column * item,
                  to + (r * p.write_row + c) * item, p.write_row * item);
  copy_block<T>(p, from, to, rows, 0, p.rows - rows, columns);
  copy_block<T>(p, from, to, 0, columns, p.rows, p.columns - columns);
}

void copy_plane(int64_t item, const Plane& p, const char* from, char* to) {
  switch (item) {
    case 1:
      return copy_plane<uint8_t>(p, from, to);
    case 2:
      return copy_plane<uint16_t>(p, from, to);
    case 4:
      return copy_plane<uint32_t>(p, from, to);
    default:
      return copy_plane<uint64_t>(p, from, to);
  }
}

// The other dimensions at their point `number`, and `columns` of the copy's inner one from
// `column`.
void copy_columns(const Walk& w, int64_t item, int64_t number, int64_t column, int64_t columns,
                  const char* from, char* to) {
  const auto step = [](const lp::Shape& steps, int d) { return d < 0 ? int64_t{0} : steps[d]; };
  int64_t rest = number, read = column * step(w.from, w.write),
          write = column * step(w.to, w.write);
  for (int d = 0; d < static_cast<int>(w.shape.size()); ++d) {
    if (d == w.write || d == w.read) continue;
    read += rest % w.shape[d] * w.from[d];
    write += rest % w.shape[d] * w.to[d];
    rest /= w.shape[d];
  }
  const Plane plane{w.extent(w.read),     columns,
                    step(w.from, w.read), step(w.from, w.write),
                    step(w.to, w.read),   step(w.to, w.write)};
  copy_plane(item, plane, from + read * item, to + write * item);
}

}  // namespace

lp::Placement place_last(const lp::Shape& shape, const std::vector<int>& last) {
  std::vector<int> order;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d)
    if (std::find(last.begin(), last.end(), d) == last.end()) order.push_back(d);
  order.insert(order.end(), last.begin(), last.end());
  lp::Placement at;
  at.strides.resize(shape.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0; step *= shape[order[i]]) at.strides[order[i]] = step;
  return at;
}

void copy(const lp::Shape& shape, int64_t item, const char* from, const lp::Placement& at, char* to,
          const lp::Placement& there) {
  const int write = least_step(shape, there.strides, -1);
  const Walk walk{shape, at.strides, there.strides, least_step(shape, at.strides, write), write};
  const int64_t bands = (walk.extent(write) + kBand - 1) / kBand;
  const auto body = [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t column = i % bands * kBand;
      copy_columns(walk, item, i / bands, column, std::min(kBand, walk.extent(write) - column),
                   from + at.offset * item, to + there.offset * item);
    }
  };
  sdk::parallel_for(walk.others() * bands,
                    std::max<int64_t>(1, kGrain / (kBand * walk.extent(walk.read))), body);
}

void copy(const Panel& p, int64_t item, int64_t columns, const char* from, char* to) {
  const Walk walk{p.shape, p.from, p.to, least_step(p.shape, p.from, p.across), p.across};
  const int64_t others = walk.others();
  for (int64_t i = 0; i < others; ++i) copy_columns(walk, item, i, 0, columns, from, to);
}

}  // namespace tenon::llvm_loops
