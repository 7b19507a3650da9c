// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds of pointwise functions and of random numbers.
#include "bench/lower_bounds/stream.h"

namespace bench::lower_bounds {
namespace {

// Philox 4x32-10 on 16 counters at once: 32x32->64 multiplies on even and odd lanes.
inline void mul_hi_lo(__m512i x, __m512i m, __m512i& hi, __m512i& lo) {
  __m512i even = _mm512_mul_epu32(x, m), odd = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), m);
  hi = _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
  lo = _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32));
}
inline void philox(uint64_t counter, __m512i* out) {
  __m512i c0 =
      _mm512_add_epi32(_mm512_set1_epi32(int(counter)),
                       _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  __m512i c1 = _mm512_set1_epi32(int(counter >> 32)), c2 = _mm512_setzero_si512(), c3 = c2;
  __m512i ma = _mm512_set1_epi64(0xD2511F53u), mb = _mm512_set1_epi64(0xCD9E8D57u);
  uint32_t k0 = 0x12345678, k1 = 0x9abcdef0;
  for (int r = 0; r < 10; ++r, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    __m512i ha, la, hb, lb;
    mul_hi_lo(c0, ma, ha, la);
    mul_hi_lo(c2, mb, hb, lb);
    c0 = _mm512_xor_si512(_mm512_xor_si512(hb, c1), _mm512_set1_epi32(int(k0)));
    c2 = _mm512_xor_si512(_mm512_xor_si512(ha, c3), _mm512_set1_epi32(int(k1)));
    c1 = lb, c3 = la;
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}
inline __m512 uniform(__m512i bits) {
  return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srli_epi32(bits, 8)), _mm512_set1_ps(0x1p-24f));
}

template <class F>
void random_map(float* out, long n, F f) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < n; i += 64) {
    __m512i bits[4];
    philox(uint64_t(i) / 4, bits);
    for (int k = 0; k < 4; ++k) _mm512_stream_ps(out + i + 16 * k, f(bits[k], i + 16 * k));
  }
}

Buffer<float> out() { return raw<float>(16 * M); }

void functions(Group const& row) {
  auto map = [&](std::string const& name, auto f) {
    for (auto [label, n] : {std::pair<char const*, long>{"_256k", M / 4},
                            {"_1M", M},
                            {"_16M", 16 * M},
                            {"_16M_out", 16 * M}}) {
      if (n == 16 * M && std::string(label) == "_16M_out" && name != "exp") continue;
      row(
          name + label,
          [=, n = n] {
            return [=, a = floats(n), o = raw<float>(n)] {
              float const* x = a.get();
              float* y = o.get();
              if (n > 4 * M) {
                stream_blocks(y, n, [&](float* block, long i) {
                  for (int j = 0; j < 1024; ++j) block[j] = f(x[i + j]);
                });
              } else {
#pragma omp parallel for simd schedule(static)
                for (long i = 0; i < n; ++i) y[i] = f(x[i]);
              }
            };
          },
          "libmvec into a warm buffer");
    }
  };
  map("exp", [](float x) { return std::exp(x); });
  map("log", [](float x) { return std::log(x); });
  map("tanh", [](float x) { return std::tanh(x); });
  map("sigmoid", [](float x) { return 1 / (1 + std::exp(-x)); });
  map("gelu", [](float x) { return 0.5f * x * (1 + erff(x * 0.70710678f)); });
}

void uniform_draws(Group const& row) {
  row(
      "rand_16M",
      [] {
        return [o = out()] {
          random_map(o.get(), 16 * M, [](__m512i b, long) { return uniform(b); });
        };
      },
      "philox4x32-10");
  row(
      "bernoulli_16M",
      [=] {
        return [o = out()] {
          random_map(o.get(), 16 * M, [](__m512i b, long) {
            return _mm512_maskz_mov_ps(_mm512_cmpgt_epi32_mask(b, _mm512_setzero_si512()),
                                       _mm512_set1_ps(1));
          });
        };
      },
      "philox4x32-10");
  row(
      "dropout_16M",
      [=] {
        return [a = floats(16 * M), o = out()] {
          random_map(o.get(), 16 * M, [x = a.get()](__m512i b, long i) {
            return _mm512_maskz_mul_ps(_mm512_cmpgt_epi32_mask(b, _mm512_setzero_si512()),
                                       _mm512_loadu_ps(x + i), _mm512_set1_ps(2));
          });
        };
      },
      "philox4x32-10, one pass");
}

void normal_draws(Group const& row) {
  row(
      "randn_16M",
      [=] {
        return [o = out()] {
          stream_blocks(o.get(), 16 * M, [](float* block, long i) {
            alignas(64) float u[1024];
            for (int k = 0; k < 1024; k += 64) {
              __m512i bits[4];
              philox(uint64_t(i + k) / 4, bits);
              for (int q = 0; q < 4; ++q) _mm512_store_ps(u + k + 16 * q, uniform(bits[q]));
            }
            // Two loops: in one, GCC would merge sine and cosine into a call it cannot vectorize.
            for (int k = 0; k < 512; ++k) u[k] = std::sqrt(-2 * std::log(u[k] + 0x1p-25f));
            for (int k = 0; k < 512; ++k) block[k] = u[k] * std::cos(6.2831853f * u[k + 512]);
            asm volatile("" : : : "memory");
            for (int k = 0; k < 512; ++k) block[k + 512] = u[k] * std::sin(6.2831853f * u[k + 512]);
          });
        };
      },
      "philox4x32-10, Box-Muller with libmvec");
}

}  // namespace

void pointwise(Suite& s) {
  Group row{s, "pointwise"};
  functions(row);
  uniform_draws(row);
  normal_draws(row);
}

}  // namespace bench::lower_bounds
