// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tiled products of matrices with computed element addresses: results (i, j) of each of `batch` are
// sums over k, in order, of left(b, i, k) * right(b, k, j). A P has
//   batch, m, n, k
//   left_along_k(), right_along_k()   whether neighbors in memory are neighbors along k
//   left<U>(b, i, k), right<U>(b, k, j), put<U>(b, i, j, sum)
#pragma once

#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/launch.cuh"

namespace tenon::cuda {

// A block computes a tile of kTile * kTile results, a thread kEach * kEach of them.
inline constexpr int kTile = 64, kDeep = 16, kEach = 4, kSide = kTile / kEach,
                     kTileThreads = kSide * kSide;
inline constexpr int kPitch = kTile + 1;  // of a line, padded to avoid bank conflicts

template <class U, class P>
__global__ void product_tiles(P p) {
  TN_SHARED(U, rows, kDeep * kPitch);
  TN_SHARED(U, columns, kDeep * kPitch);
  const int64_t down = (p.m + kTile - 1) / kTile, across = (p.n + kTile - 1) / kTile;
  const int y = static_cast<int>(threadIdx.x) / kSide, x = static_cast<int>(threadIdx.x) % kSide;
  const bool rows_along_k = p.left_along_k(), columns_along_k = p.right_along_k();
  for (int64_t t = blockIdx.x; t < p.batch * down * across; t += gridDim.x) {
    const int64_t b = t / (down * across), i0 = t / across % down * kTile, j0 = t % across * kTile;
    U sum[kEach][kEach] = {};
    for (int64_t k0 = 0; k0 < p.k; k0 += kDeep) {
      for (int e = static_cast<int>(threadIdx.x); e < kTile * kDeep; e += kTileThreads) {
        const int line = rows_along_k ? e / kDeep : e % kTile,
                  deep = rows_along_k ? e % kDeep : e / kTile;
        U v = 0;
        if (i0 + line < p.m && k0 + deep < p.k) v = p.template left<U>(b, i0 + line, k0 + deep);
        rows[deep * kPitch + line] = v;
      }
      for (int e = static_cast<int>(threadIdx.x); e < kTile * kDeep; e += kTileThreads) {
        const int line = columns_along_k ? e / kDeep : e % kTile,
                  deep = columns_along_k ? e % kDeep : e / kTile;
        U v = 0;
        if (j0 + line < p.n && k0 + deep < p.k) v = p.template right<U>(b, k0 + deep, j0 + line);
        columns[deep * kPitch + line] = v;
      }
      __syncthreads();
      TN_UNROLL(16)
      for (int d = 0; d < kDeep; ++d) {
        U left[kEach], right[kEach];
        for (int i = 0; i < kEach; ++i) left[i] = rows[d * kPitch + y + i * kSide];
        for (int j = 0; j < kEach; ++j) right[j] = columns[d * kPitch + x + j * kSide];
        for (int i = 0; i < kEach; ++i) {
          for (int j = 0; j < kEach; ++j) sum[i][j] += left[i] * right[j];
        }
      }
      __syncthreads();
    }
    for (int i = 0; i < kEach; ++i) {
      for (int j = 0; j < kEach; ++j) {
        if (i0 + y + i * kSide < p.m && j0 + x + j * kSide < p.n) {
          p.template put<U>(b, i0 + y + i * kSide, j0 + x + j * kSide, sum[i][j]);
        }
      }
    }
  }
}

template <class U, class P>
void launch_product(const sdk::Call& call, const P& p) {
  const int64_t tiles = p.batch * ceil_div(p.m, kTile) * ceil_div(p.n, kTile);
  if (tiles > 0)
    launch<product_tiles<U, P>>(call, exactly(std::min(tiles, 8 * max_blocks(call)), kTileThreads),
                                p);
}

// The type that products of a dtype are summed in: float, double, or unsigned integers that wrap as
// the dtype does.
template <class F>
void with_sum(Code code, F&& f) {
  if (code == Code::F64) return f(sdk::Type<double>{});
  if (is_floating(code)) return f(sdk::Type<float>{});
  if (code == Code::I64) return f(sdk::Type<uint64_t>{});
  f(sdk::Type<uint32_t>{});
}
template <class U>
TN_DEVICE void store_sum(char* p, Code code, U sum) {
  if constexpr (std::is_floating_point_v<U>)
    store(p, code, sum);
  else
    store(p, code, static_cast<int64_t>(sum));
}

}  // namespace tenon::cuda
