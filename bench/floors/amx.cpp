// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The bfloat16 product on AMX tiles.
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "bench/floors/floors.h"

namespace bench::floors {
namespace {

// oneDNN dies with SIGILL on virtual machines that offer the tiles but leave CPUID leaf 0x1D empty (it then loads
// palette 0), so its bf16 has to run without them. This product shows what the tiles give: C (f32) = A (bf16) * B
// (bf16, packed in pairs of rows: 32 x 32 blocks, two tiles each), C in 32 x 32 blocks of four tiles.
__attribute__((target("amx-tile,amx-bf16"))) void amx_block(uint16_t const* a, long lda, uint16_t const* b, float* c,
                                                            long ldc, long k) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (long p = 0; p < k; p += 32, b += 32 * 32) {
    _tile_loadd(4, a + p, lda * 2);
    _tile_loadd(5, a + 16 * lda + p, lda * 2);
    _tile_loadd(6, b, 64);
    _tile_loadd(7, b + 512, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, ldc * 4);
  _tile_stored(1, c + 16, ldc * 4);
  _tile_stored(2, c + 16 * ldc, ldc * 4);
  _tile_stored(3, c + 16 * ldc + 16, ldc * 4);
}

__attribute__((target("amx-tile"))) void amx_begin() {
  alignas(64) char config[64] = {1};
  for (int i = 0; i < 8; ++i) config[16 + 2 * i] = 64, config[48 + i] = 16;
  _tile_loadconfig(config);
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
            for (int r = 0; r < 32; ++r) {
              __m512bh h = _mm512_cvtne2ps_pbh(_mm512_load_ps(block + r * 32 + 16), _mm512_load_ps(block + r * 32));
              _mm512_storeu_si512(out.get() + (i + r) * n + j, __m512i(h));
            }
          }
    }
  };
  return [=](long calls) {
    for (long i = 0; i < calls; ++i) product();
  };
}

}  // namespace bench::floors
