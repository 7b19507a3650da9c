// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// bfloat16 products on a tile unit. Both operands are packed into tiles; C is cut into areas of kArea by kArea sums,
// each a task, and k into steps whose tiles stay in the caches. How they are cut depends on the shape alone.
#include <algorithm>

#include "plugin_cpu/bf16.h"
#include "plugin_cpu/buffer.h"
#include "plugin_cpu/convert.h"
#include "plugin_cpu/gemm.h"
#include "plugin_cpu/tile_pack.h"

namespace tenon::cpu {
namespace {

using sdk::BFloat16;

constexpr int64_t kBlock = 2 * kTileLines;
constexpr int64_t kArea = 128;
constexpr int64_t kDepth = 16;                 // tiles of k: those of one block are half of the first cache
constexpr int64_t kPackBytes = 16 << 20;       // of an operand at once, unless k is very large
constexpr int64_t kSerial = 16 * kGemmSerial;  // multiply-adds that are not worth waking another thread

template <class T>
struct Product {
  const TileUnit& unit;
  int64_t m, n, k;
  float alpha, beta;
  Mat<T> c;
  const char *a, *b;  // packed
};

// Row r of an area is done: to C.
template <class T>
void store(const Product<T>& p, int64_t n, float* sum, T* c) {
  if (p.c.cs == 1) {
    if (p.alpha != 1) std::transform(sum, sum + n, sum, [&](float x) { return p.alpha * x; });
    if (p.beta != 0) {
      std::transform(sum, sum + n, c, sum, [&](float x, T y) { return x + p.beta * static_cast<float>(y); });
    }
    if constexpr (std::is_same_v<T, float>)
      std::copy(sum, sum + n, c);
    else
      from_float(sum, c, n);
    return;
  }
  for (int64_t j = 0; j < n; ++j) {
    T& out = c[j * p.c.cs];
    const float x = p.alpha * sum[j];
    out = T(p.beta == 0 ? x : x + p.beta * static_cast<float>(out));
  }
}

// Rows [i0, i0 + rows) and columns [j0, j0 + cols) of C.
template <class T>
void area(const Product<T>& p, int64_t i0, int64_t rows, int64_t j0, int64_t cols) {
  constexpr int64_t kRow = kArea + 16;  // not a power of two, for the first cache's sake
  alignas(64) float sum[kArea * kRow];
  const int64_t depth = tiles(p.k, kTileDepth), next = depth * kTileBytes;
  for (int64_t s = 0; s < depth; s += kDepth) {
    for (int64_t j = 0; j < cols; j += kBlock) {
      for (int64_t i = 0; i < rows; i += kBlock) {
        const char* a = p.a + (i0 + i) / kTileLines * next + s * kTileBytes;
        const char* b = p.b + (j0 + j) / kTileLines * next + s * kTileBytes;
        const TileBlock block{a, b, next, next, std::min(kDepth, depth - s), sum + i * kRow + j, kRow, s > 0};
        p.unit.block[rows - i > kTileLines][cols - j > kTileLines](block);
      }
    }
  }
  for (int64_t r = 0; r < rows; ++r) store(p, cols, sum + r * kRow, p.c.data + (i0 + r) * p.c.rs + j0 * p.c.cs);
}

template <class T>
void areas(const Product<T>& p, bool serial) {
  const int64_t down = tiles(p.m, kArea), across = tiles(p.n, kArea), count = down * across;
  sdk::parallel_for(count, serial ? count : 1, [&](int64_t begin, int64_t end) {
    struct Session {
      const TileUnit& unit;
      explicit Session(const TileUnit& u) : unit(u) { unit.configure(); }
      ~Session() { unit.release(); }
    } session(p.unit);
    for (int64_t q = begin; q < end; ++q) {
      const int64_t i = q % down * kArea, j = q / down * kArea;
      area(p, i, std::min(kArea, p.m - i), j, std::min(kArea, p.n - j));
    }
  });
}

template <class Tag>
char* pack(const Lines& from, int64_t lines, int64_t k, TileOrder order, bool serial) {
  char* to = static_cast<char*>(ThreadBuffer<Tag>::get(packed_bytes(lines, k)));
  pack_tiles(from, lines, k, order, to, serial);
  return to;
}

template <class T>
bool product(int64_t m, int64_t n, int64_t k, float alpha, Mat<const BFloat16> a, Mat<const BFloat16> b, float beta,
             Mat<T> c) {
  const TileUnit* unit = tile_unit();
  if (!unit || m < 8 || n < 8 || k < 8 || m * n * k < 16 * 16 * 16) return false;
  if (c.cs != 1 && c.rs == 1) return product<T>(n, m, k, alpha, b.transposed(), a.transposed(), beta, c.transposed());
  struct PackedA;
  struct PackedB;
  const bool serial = m * n * k <= kSerial;
  const int64_t span = std::max<int64_t>(1, kPackBytes / packed_bytes(kArea, k)) * kArea;
  const auto bits = [](const BFloat16* p) { return reinterpret_cast<const uint16_t*>(p); };
  for (int64_t j = 0; j < n; j += span) {
    const int64_t cols = std::min(span, n - j);
    const char* pb = pack<PackedB>({bits(b.data + j * b.cs), b.cs, b.rs}, cols, k, TileOrder::PairsFirst, serial);
    for (int64_t i = 0; i < m; i += span) {
      const int64_t rows = std::min(span, m - i);
      const char* pa = pack<PackedA>({bits(a.data + i * a.rs), a.rs, a.cs}, rows, k, TileOrder::LinesFirst, serial);
      const Mat<T> to{c.data + i * c.rs + j * c.cs, c.rs, c.cs};
      areas<T>({*unit, rows, cols, k, alpha, beta, to, pa, pb}, serial);
    }
  }
  return true;
}

}  // namespace

bool gemm_tiles(int64_t m, int64_t n, int64_t k, float alpha, Mat<const BFloat16> a, Mat<const BFloat16> b, float beta,
                Mat<BFloat16> c) {
  return product(m, n, k, alpha, a, b, beta, c);
}

bool gemm_tiles(int64_t m, int64_t n, int64_t k, float alpha, Mat<const BFloat16> a, Mat<const BFloat16> b, float beta,
                Mat<float> c) {
  return product(m, n, k, alpha, a, b, beta, c);
}

}  // namespace tenon::cpu
