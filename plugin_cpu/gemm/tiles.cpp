// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// bfloat16 products on a unit of tiles. Both operands are packed into tiles; each area of C is a
// task. How C and k are cut depends on the shape alone.
#include <algorithm>

#include "plugin_cpu/gemm/gemm.h"
#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/onednn/bf16.h"
#include "plugin_cpu/simd/convert.h"
#include "plugin_cpu/tiles/area.h"

namespace tenon::cpu {
namespace {

using sdk::BFloat16;

struct Product {
  const TileUnit& unit;
  int64_t m, n;
  float alpha, beta;
  Mat<BFloat16> c;
  Packed a, b;
};

// A thread goes down a strip of columns, whose tiles of B stay in its second cache while those of A
// stream through: in a large product a wider strip reads A half as often.
void areas(const Product& p, bool serial) {
  constexpr int64_t kWide = 2 * kArea;
  const int64_t strip = p.m * p.n >= 1 << 20 ? kWide : kArea;
  const int64_t down = tiles(p.m, kArea), across = tiles(p.n, strip), count = down * across;
  sdk::parallel_for(count, serial ? count : 1, [&](int64_t begin, int64_t end) {
    const TileSession session(p.unit);
    Area<kWide> area;
    for (int64_t q = begin; q < end; ++q) {
      const int64_t i = q % down * kArea, j = q / down * strip;
      const int64_t rows = std::min(kArea, p.m - i), cols = std::min(strip, p.n - j);
      area.multiply(p.unit, p.a.from(i), p.b.from(j), p.a.depth, rows, cols, false);
      for (int64_t r = 0; r < rows; ++r) {
        store_sums(area.row(r), cols, p.alpha, p.beta, p.c.data + (i + r) * p.c.rs + j * p.c.cs,
                   p.c.cs);
      }
    }
  });
}

template <class Tag>
Packed pack(const Lines& from, int64_t lines, int64_t k, TileOrder order, bool serial) {
  char* to = static_cast<char*>(ThreadBuffer<Tag>::get(packed_bytes(lines, k)));
  pack_tiles(from, lines, k, order, to, serial);
  return {to, tiles(k, kTileDepth)};
}

// Short lines of whole tiles are read in place. Long ones would map to few sets of the cache.
bool can_read_in_place(const TileUnit& unit, Mat<const BFloat16> a, int64_t m, int64_t k) {
  return a.cs == 1 && a.rs > kTileDepth && m % kTileLines == 0 && k % kTileDepth == 0 &&
         k <= unit.max_depth * kTileDepth;
}

}  // namespace

bool gemm_tiles(int64_t m, int64_t n, int64_t k, float alpha, Mat<const BFloat16> a,
                Mat<const BFloat16> b, float beta, Mat<BFloat16> c) {
  const TileUnit* unit = tile_unit();
  if (!unit || !tiles_pay(m, n, k)) return false;
  if (c.cs != 1 && c.rs == 1)
    return gemm_tiles(n, m, k, alpha, b.transposed(), a.transposed(), beta, c.transposed());
  struct PackedA;
  struct PackedB;
  const bool serial = m * n * k <= unit->serial;
  const int64_t span = std::max<int64_t>(1, kTilePackBytes / packed_bytes(kArea, k)) * kArea;
  for (int64_t j = 0; j < n; j += span) {
    const int64_t cols = std::min(span, n - j);
    const Packed pb =
        pack<PackedB>({&b.data[j * b.cs].x, b.cs, b.rs}, cols, k, TileOrder::PairsFirst, serial);
    for (int64_t i = 0; i < m; i += span) {
      const int64_t rows = std::min(span, m - i);
      const Lines lines{&a.data[i * a.rs].x, a.rs, a.cs};
      const Packed pa =
          can_read_in_place(*unit, a, m, k)
              ? Packed{reinterpret_cast<const char*>(lines.data), k / kTileDepth, 2 * a.rs}
              : pack<PackedA>(lines, rows, k, TileOrder::LinesFirst, serial);
      areas({*unit, rows, cols, alpha, beta, {c.data + i * c.rs + j * c.cs, c.rs, c.cs}, pa, pb},
            serial);
    }
  }
  return true;
}

}  // namespace tenon::cpu
