// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The bfloat16 products on AMX tiles, and attention on them.
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "bench/lower_bounds/lower_bounds.h"

namespace bench::lower_bounds {
namespace {

__attribute__((target("amx-tile,amx-bf16"))) inline void amx_step(uint16_t const* a, long lda,
                                                                  uint16_t const* b) {
  _tile_loadd(4, a, lda * 2);
  _tile_loadd(5, a + 16 * lda, lda * 2);
  _tile_loadd(6, b, 64);
  _tile_loadd(7, b + 512, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

__attribute__((target("amx-tile"))) inline void amx_end(float* c, long ldc) {
  _tile_stored(0, c, ldc * 4);
  _tile_stored(1, c + 16, ldc * 4);
  _tile_stored(2, c + 16 * ldc, ldc * 4);
  _tile_stored(3, c + 16 * ldc + 16, ldc * 4);
}

// oneDNN raises SIGILL on virtual machines that offer the tiles but leave CPUID leaf 0x1D empty (it
// then loads palette 0), so its bf16 has to run without them. This product shows what the tiles
// give: C (f32) = A (bf16) * B (bf16, packed in pairs of rows: 32 x 32 blocks, two tiles each), C
// in 32 x 32 blocks of four tiles.
__attribute__((target("amx-tile,amx-bf16"))) void amx_block(uint16_t const* a, long lda,
                                                            uint16_t const* b, float* c, long ldc,
                                                            long k) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (long p = 0; p < k; p += 32, b += 32 * 32) amx_step(a + p, lda, b);
  amx_end(c, ldc);
}

// The sums over nine taps for 32 pixels, `row` of them per row of the image.
__attribute__((target("amx-tile,amx-bf16"))) void amx_conv_block(uint16_t const* x, long row,
                                                                 long channels, uint16_t const* w,
                                                                 float* c) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (long tap = 0; tap < 9; ++tap)
    for (long p = 0; p < channels; p += 32, w += 32 * 32)
      amx_step(x + (tap / 3 * row + tap % 3) * channels + p, channels, w);
  amx_end(c, 32);
}

void narrow_block(float const* block, uint16_t* to, long row) {
  for (int r = 0; r < 32; ++r) {
    __m512bh h =
        _mm512_cvtne2ps_pbh(_mm512_load_ps(block + r * 32 + 16), _mm512_load_ps(block + r * 32));
    _mm512_storeu_si512(to + r * row, __m512i(h));
  }
}

__attribute__((target("amx-tile"))) void amx_begin() {
  alignas(64) char config[64] = {1};
  for (int i = 0; i < 8; ++i) config[16 + 2 * i] = 64, config[48 + i] = 16;
  _tile_loadconfig(config);
}

// Weights of one query from its scores: 2^(score - largest), in bfloat16; returns the sum. n is a
// multiple of 32.
float weigh(float const* scores, uint16_t* weights, long n, float scale) {
  auto scaled = [=](long j) {
    return _mm512_mul_ps(_mm512_loadu_ps(scores + j), _mm512_set1_ps(scale));
  };
  __m512 max = scaled(0), sum = _mm512_setzero_ps();
  for (long j = 16; j < n; j += 16) max = _mm512_max_ps(max, scaled(j));
  __m512 largest = _mm512_set1_ps(_mm512_reduce_max_ps(max));
  auto power = [=](long j) {
    __m512 x = _mm512_sub_ps(scaled(j), largest), whole = _mm512_roundscale_ps(x, 0),
           f = _mm512_sub_ps(x, whole);
    __m512 y = _mm512_set1_ps(1.3333558e-3f);
    for (float c : {9.6181291e-3f, 5.5504109e-2f, 2.4022651e-1f, 6.9314718e-1f, 1.0f})
      y = _mm512_fmadd_ps(y, f, _mm512_set1_ps(c));
    return _mm512_scalef_ps(y, whole);
  };
  for (long j = 0; j < n; j += 32) {
    __m512 low = power(j), high = power(j + 16);
    sum = _mm512_add_ps(sum, _mm512_add_ps(low, high));
    _mm512_storeu_si512(weights + j, __m512i(_mm512_cvtne2ps_pbh(high, low)));
  }
  return _mm512_reduce_add_ps(sum);
}

bool amx_allowed() { return syscall(SYS_arch_prctl, 0x1023 /* ARCH_REQ_XCOMP_PERM */, 18) == 0; }

}  // namespace

Loop amx_matmul(long n) {
  if (!amx_allowed()) throw std::runtime_error("no AMX");
  auto a = raw<uint16_t>(n * n), b = raw<uint16_t>(n * n), out = raw<uint16_t>(n * n);
  std::fill_n(a.get(), n * n, uint16_t(0x3c23));
  std::fill_n(b.get(), n * n, uint16_t(0x3c23));
  auto product = [=] {
#pragma omp parallel
    {
      amx_begin();
      alignas(64) static thread_local float block[32 * 32];
#pragma omp for collapse(2) schedule(static)
      for (long i2 = 0; i2 < n; i2 += 256)
        for (long j = 0; j < n; j += 32)
          for (long i = i2; i < i2 + 256; i += 32) {
            amx_block(a.get() + i * n, n, b.get() + j * n, block, 32, n);
            narrow_block(block, out.get() + i * n + j, n);
          }
    }
  };
  return [=](long calls) {
    for (long i = 0; i < calls; ++i) product();
  };
}

// Keys and values are packed as B is above. 32 queries at a time, whose scores and weights stay in
// the first caches. A 3 x 3 convolution of `batch` images of side x side, `channels` to as many (a
// multiple of 32): images lie as pixels of channels with a frame of zeros, weights as amx_block has
// B, by tap. The frame's pixels are computed, too, and each tap reads 32 of them where they lie.
Loop amx_conv3x3(long batch, long channels, long side) {
  if (!amx_allowed()) throw std::runtime_error("no AMX");
  const long row = side + 2, pixels = row * side / 32 * 32 + 32,
             image = (pixels + 2 * row + 2) * channels;
  auto x = raw<uint16_t>(batch * image), y = raw<uint16_t>(batch * pixels * channels);
  auto w = raw<uint16_t>(9 * channels * channels);
  std::fill_n(x.get(), batch * image, uint16_t(0x3c23));
  std::fill_n(w.get(), 9 * channels * channels, uint16_t(0x3c23));
  auto convolution = [=] {
#pragma omp parallel
    {
      amx_begin();
      alignas(64) static thread_local float block[32 * 32];
#pragma omp for collapse(2) schedule(static)
      for (long n = 0; n < batch; ++n)
        for (long i = 0; i < pixels; i += 32)
          for (long j = 0; j < channels; j += 32) {
            amx_conv_block(x.get() + n * image + i * channels, row, channels,
                           w.get() + 9 * j * channels, block);
            narrow_block(block, y.get() + (n * pixels + i) * channels + j, channels);
          }
    }
  };
  return [=](long calls) {
    for (long i = 0; i < calls; ++i) convolution();
  };
}

Loop amx_attention(long heads, long length, long depth) {
  if (!amx_allowed()) throw std::runtime_error("no AMX");
  const long head = length * depth;
  auto q = raw<uint16_t>(heads * head), k = raw<uint16_t>(heads * head),
       v = raw<uint16_t>(heads * head);
  auto out = raw<uint16_t>(heads * head);
  for (auto const& b : {q, k, v}) std::fill_n(b.get(), heads * head, uint16_t(0x3c23));
  auto attention = [=] {
#pragma omp parallel
    {
      amx_begin();
      auto scores = raw<float>(32 * length), sums = raw<float>(32 * depth);
      auto weights = raw<uint16_t>(32 * length);
#pragma omp for collapse(2) schedule(static)
      for (long h = 0; h < heads; ++h)
        for (long i = 0; i < length; i += 32) {
          float total[32];
          for (long j = 0; j < length; j += 32)
            amx_block(q.get() + h * head + i * depth, depth, k.get() + h * head + j * depth,
                      scores.get() + j, length, depth);
          for (long r = 0; r < 32; ++r)
            total[r] = weigh(scores.get() + r * length, weights.get() + r * length, length,
                             0.125f * 1.442695f);
          for (long j = 0; j < depth; j += 32)
            amx_block(weights.get(), length, v.get() + h * head + j * length, sums.get() + j, depth,
                      length);
          for (long r = 0; r < 32; ++r)
            for (long j = 0; j < depth; j += 32) {
              auto part = [&](long c) {
                return _mm512_div_ps(_mm512_loadu_ps(sums.get() + r * depth + c),
                                     _mm512_set1_ps(total[r]));
              };
              _mm512_storeu_si512(out.get() + h * head + (i + r) * depth + j,
                                  __m512i(_mm512_cvtne2ps_pbh(part(j + 16), part(j))));
            }
        }
    }
  };
  return [=](long calls) {
    for (long i = 0; i < calls; ++i) attention();
  };
}

}  // namespace bench::lower_bounds
