// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// copy: every pair of dtypes, any strides. Same-size elements that lie across each other are moved
// in square tiles, so that both sides are read and written by whole cache lines.
#include "tenon/sdk/ops/copy.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "plugin_cpu/memory/elements.h"
#include "tenon/sdk/loops.h"
#include "tenon/sdk/ops/clone.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

constexpr int64_t kLine = 64;  // bytes of a cache line: the width of a tile
constexpr int64_t kLarge = int64_t{8}
                           << 20;  // bytes; larger results have left the cache before they are read

template <class T, int N>
struct Pack {
  typedef T Vector __attribute__((vector_size(sizeof(T) * N)));
  static Vector load(const char* p) {
    Vector v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(char* p, Vector v) { std::memcpy(p, &v, sizeof v); }
};

// A block of source rows becomes columns of the tile. `tile` is [line elements][line elements],
// row-major.
template <class T>
void transpose_block(const char* src, int64_t row_stride, T* tile) {
  constexpr int64_t n = kLine / sizeof(T);
  if constexpr (sizeof(T) == 4) {
    using P = Pack<T, 4>;
    for (int64_t i = 0; i < n; i += 4) {
      for (int64_t j = 0; j < n; j += 4) {
        const char* s = src + i * row_stride + j * 4;
        auto a = P::load(s), b = P::load(s + row_stride), c = P::load(s + 2 * row_stride),
             d = P::load(s + 3 * row_stride);
        auto ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5),
             ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        auto cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5),
             cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
        char* t = reinterpret_cast<char*>(tile + j * n + i);
        P::store(t, __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
        P::store(t + kLine, __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
        P::store(t + 2 * kLine, __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
        P::store(t + 3 * kLine, __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
      }
    }
  } else if constexpr (sizeof(T) == 8) {
    using P = Pack<T, 2>;
    for (int64_t i = 0; i < n; i += 2) {
      for (int64_t j = 0; j < n; j += 2) {
        const char* s = src + i * row_stride + j * 8;
        auto a = P::load(s), b = P::load(s + row_stride);
        char* t = reinterpret_cast<char*>(tile + j * n + i);
        P::store(t, __builtin_shufflevector(a, b, 0, 2));
        P::store(t + kLine, __builtin_shufflevector(a, b, 1, 3));
      }
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j)
        std::memcpy(tile + j * n + i, src + i * row_stride + j * sizeof(T), sizeof(T));
    }
  }
}

// `non_temporal`: the line would leave the caches before it is read; dst is 16-byte aligned then.
template <class T>
void store_line(char* dst, const T* tile, bool non_temporal) {
#ifdef __SSE2__
  if (non_temporal) {
    for (int64_t b = 0; b < kLine; b += 16) {
      __m128 v;
      std::memcpy(&v, reinterpret_cast<const char*>(tile) + b, sizeof v);
      _mm_stream_ps(reinterpret_cast<float*>(dst + b), v);
    }
    return;
  }
#endif
  std::memcpy(dst, tile, kLine);
}

bool can_pass(const char* dst, int64_t dst_stride) {
  return (reinterpret_cast<uintptr_t>(dst) | static_cast<uintptr_t>(dst_stride)) % 16 == 0;
}

void finish_passing() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

// dst[j][i] = src[i][j] for i of [i0, i1) and all j; dst rows are dst_stride bytes apart, src rows
// src_stride.
template <class T>
void transpose_band(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t i0,
                    int64_t i1, int64_t nj, bool non_temporal) {
  constexpr int64_t n = kLine / sizeof(T), item = sizeof(T);
  alignas(64) T tile[n * n];
  for (int64_t i = i0; i < i1; i += n) {
    const int64_t rows = std::min(n, i1 - i);
    int64_t j = 0;
    if (rows == n) {
      for (; j + n <= nj; j += n) {
        transpose_block<T>(src + i * src_stride + j * item, src_stride, tile);
        for (int64_t k = 0; k < n; ++k)
          store_line(dst + (j + k) * dst_stride + i * item, tile + k * n, non_temporal);
      }
    }
    for (; j < nj; ++j) {
      for (int64_t k = 0; k < rows; ++k) {
        std::memcpy(dst + j * dst_stride + (i + k) * item, src + (i + k) * src_stride + j * item,
                    item);
      }
    }
  }
}

// The dimension along which the source is dense while the destination is not; -1: tiles do not
// help.
int crossing(const StridedLoop& loop, int64_t item) {
  if (loop.strides[0][0] != item || loop.strides[0][1] == item || loop.strides[0][1] == 0)
    return -1;
  for (int d = 1; d < loop.ndim; ++d) {
    if (loop.strides[d][1] == item && loop.sizes[d] >= 4 && loop.sizes[0] >= 4) return d;
  }
  return -1;
}

template <class T>
void copy_crossed(const StridedLoop& loop, int cross) {
  constexpr int64_t band = 4 * kLine / sizeof(T);
  const int64_t n0 = loop.sizes[0], nj = loop.sizes[cross], bands = (n0 + band - 1) / band;
  const bool large = loop.numel * static_cast<int64_t>(sizeof(T)) >= kLarge;
  const int64_t planes = loop.numel / (n0 * nj),
                grain = std::max<int64_t>(1, kMoveGrain / (band * nj));
  parallel_for(planes * bands, grain, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      char *dst = loop.base[0], *src = loop.base[1];
      int64_t rest = at / bands;
      for (int d = 1; d < loop.ndim; ++d) {
        if (d == cross) continue;
        const int64_t i = rest % loop.sizes[d];
        rest /= loop.sizes[d];
        dst += i * loop.strides[d][0];
        src += i * loop.strides[d][1];
      }
      const int64_t i0 = at % bands * band;
      const bool non_temporal = large && can_pass(dst, loop.strides[cross][0]);
      transpose_band<T>(dst, loop.strides[cross][0], src, loop.strides[0][1], i0,
                        std::min(n0, i0 + band), nj, non_temporal);
    }
    if (large) finish_passing();
  });
}

template <class T>
void move_run(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  constexpr int64_t item = sizeof(T);
  if (dst_stride == item && src_stride == item) {
    std::memcpy(dst, src, static_cast<std::size_t>(n * item));
    return;
  }
  if (dst_stride == item && src_stride == 0) {
    std::fill_n(reinterpret_cast<T*>(dst), n, *reinterpret_cast<const T*>(src));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<T*>(dst + i * dst_stride) = *reinterpret_cast<const T*>(src + i * src_stride);
  }
}

template <class To, class From>
void convert_run(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  if (dst_stride == sizeof(To) && src_stride == sizeof(From)) {
    To* __restrict d = reinterpret_cast<To*>(dst);
    const From* __restrict s = reinterpret_cast<const From*>(src);
    for (int64_t i = 0; i < n; ++i) d[i] = convert<To>(s[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<To*>(dst + i * dst_stride) =
        convert<To>(*reinterpret_cast<const From*>(src + i * src_stride));
  }
}

using RunFn = void (*)(char*, int64_t, const char*, int64_t, int64_t);

RunFn find_run(DType to, DType from) {
  if (to == from) {
    return dispatch_any_size(to, [](auto tag) -> RunFn { return &move_run<tn_type(tag)>; });
  }
  return dispatch_any(to, [&](auto to_tag) -> RunFn {
    using To = tn_type(to_tag);
    return dispatch_any(from,
                        [](auto from_tag) -> RunFn { return &convert_run<To, tn_type(from_tag)>; });
  });
}

}  // namespace

void copy_elements(const Tensor& out, const Tensor& src) {
  const int64_t item = item_size(out.dtype());
  const bool same = out.dtype() == src.dtype();
  if (same && out.contiguous() && src.contiguous() && out.numel() == src.numel()) {
    char *dst = out.data<char>(), *from = src.data<char>();
    parallel_for(out.numel() * item, int64_t{1} << 20, [&](int64_t begin, int64_t end) {
      std::memcpy(dst + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
    return;
  }
  StridedLoop loop(out.sizes());
  if (loop.numel == 0) return;
  loop.add(out);
  loop.add(src);
  loop.finish(0);
  const int cross = same ? crossing(loop, item) : -1;
  if (cross > 0) {
    dispatch_any_size(out.dtype(), [&](auto tag) { copy_crossed<tn_type(tag)>(loop, cross); });
    return;
  }
  // Short runs cost more than the order of memory saves: the next dimension becomes the innermost.
  if (loop.ndim > 1 && loop.sizes[0] < 8 && loop.sizes[1] >= 2 * loop.sizes[0]) {
    std::swap(loop.sizes[0], loop.sizes[1]);
    std::swap(loop.strides[0], loop.strides[1]);
  }
  const RunFn run = find_run(out.dtype(), src.dtype());
  parallel_for(loop.numel, kMoveGrain, [&](int64_t begin, int64_t end) {
    loop.run(begin, end,
             [&](char* const* p, const int64_t* s, int64_t n) { run(p[0], s[0], p[1], s[1], n); });
  });
}

namespace {

tn_status copy(Call&, Tensor out, Tensor, Tensor src, bool) {
  if (out.data<char>() == src.data<char>() && out.dtype() == src.dtype()) {
    bool same = out.ndim() == src.ndim();
    for (int d = 0; same && d < out.ndim(); ++d) same = out.stride(d) == src.stride(d);
    if (same) return TN_OK;
  }
  copy_elements(out, src);
  return TN_OK;
}
TN_KERNEL(copy, copy,
          dtypes("all,complex").any_strides().mixed_dtypes().broadcasts().inplace("0=0"));

tn_status clone(Call&, Tensor out, Tensor self, std::optional<int64_t>) {
  copy_elements(out, self);
  return TN_OK;
}
TN_KERNEL(clone, clone, dtypes("all,complex").any_strides());

}  // namespace
}  // namespace tenon::cpu
