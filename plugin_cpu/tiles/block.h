// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The blocks of a TileUnit out of single instructions: Tiles has load, store, zero and multiply for
// eight tiles by number, configure and release. Sums are in 0 to 3, A in 4 and 5, B in 6 and 7.
#pragma once

#include <type_traits>

#include "plugin_cpu/tiles/unit.h"

namespace tenon::cpu {

template <int R, int C, class F>
void each_sum(const TileBlock& t, F&& f) {
  f(std::integral_constant<int, 0>(), t.sum);
  if constexpr (C > 1) f(std::integral_constant<int, 1>(), t.sum + kTileLines);
  if constexpr (R > 1) f(std::integral_constant<int, 2>(), t.sum + kTileLines * t.sum_row);
  if constexpr (R > 1 && C > 1)
    f(std::integral_constant<int, 3>(), t.sum + kTileLines * t.sum_row + kTileLines);
}

template <class Tiles, int R, int C>
void tile_block(const TileBlock& t) {
  constexpr int64_t kLine = 64;
  const int64_t row = t.sum_row * 4;
  each_sum<R, C>(t, [&](auto n, float* sum) {
    if (t.add)
      Tiles::template load<n()>(sum, row);
    else
      Tiles::template zero<n()>();
  });
  const char *a = t.a, *b = t.b;
  for (int64_t p = 0; p < t.depth; ++p, a += t.a_step, b += kTileBytes) {
    Tiles::template load<6>(b, kLine);
    if constexpr (C > 1) Tiles::template load<7>(b + t.b_next, kLine);
    Tiles::template load<4>(a, t.a_line);
    Tiles::template multiply<0, 4, 6>();
    if constexpr (C > 1) Tiles::template multiply<1, 4, 7>();
    if constexpr (R > 1) Tiles::template load<5>(a + t.a_next, t.a_line);
    if constexpr (R > 1) Tiles::template multiply<2, 5, 6>();
    if constexpr (R > 1 && C > 1) Tiles::template multiply<3, 5, 7>();
  }
  each_sum<R, C>(t, [&](auto n, float* sum) { Tiles::template store<n()>(sum, row); });
}

template <class Tiles>
constexpr TileUnit tile_unit_of() {
  return {Tiles::configure,
          Tiles::release,
          {{tile_block<Tiles, 1, 1>, tile_block<Tiles, 1, 2>},
           {tile_block<Tiles, 2, 1>, tile_block<Tiles, 2, 2>}},
          10,
          32 * 96 * 96 * 96};
}

}  // namespace tenon::cpu
