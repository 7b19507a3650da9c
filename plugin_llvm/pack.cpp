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

// The dimensions that a copy walks in its two inner loops, and the others.
struct Walk {
  int read = -1;   // the least step of the source
  int write = -1;  // the least step of the copy
  std::vector<int> others;
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
  Walk walk;
  walk.write = least_step(shape, there.strides, -1);
  walk.read = least_step(shape, at.strides, walk.write);
  int64_t outside = 1;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d)
    if (d != walk.write && d != walk.read) {
      walk.others.push_back(d);
      outside *= shape[d];
    }
  const auto extent = [&](int d) { return d < 0 ? int64_t{1} : shape[d]; };
  const auto step = [](const lp::Placement& p, int d) { return d < 0 ? int64_t{0} : p.strides[d]; };
  const int64_t bands = (extent(walk.write) + kBand - 1) / kBand;
  const int64_t elements = kBand * extent(walk.read);
  const auto body = [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t column = i % bands * kBand;
      int64_t rest = i / bands, read = at.offset + column * step(at, walk.write),
              write = there.offset + column * step(there, walk.write);
      for (const int d : walk.others) {
        read += rest % shape[d] * at.strides[d];
        write += rest % shape[d] * there.strides[d];
        rest /= shape[d];
      }
      const Plane plane{extent(walk.read),      std::min(kBand, extent(walk.write) - column),
                        step(at, walk.read),    step(at, walk.write),
                        step(there, walk.read), step(there, walk.write)};
      copy_plane(item, plane, from + read * item, to + write * item);
    }
  };
  sdk::parallel_for(outside * bands, std::max<int64_t>(1, kGrain / elements), body);
}

}  // namespace tenon::llvm_loops
