// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds of memory-bound rows.
#include <algorithm>

#include "bench/lower_bounds/stream.h"

namespace bench::lower_bounds {
namespace {

void transpose16(float* out, long ldo, float const* in, long ldi) {
  __m512 r[16], t[16];
  for (int i = 0; i < 16; ++i) r[i] = _mm512_loadu_ps(in + i * ldi);
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  auto pd = [](__m512 x) { return _mm512_castps_pd(x); };
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(pd(t[i]), pd(t[i + 2])));
    r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(pd(t[i]), pd(t[i + 2])));
    r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(pd(t[i + 1]), pd(t[i + 3])));
    r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(pd(t[i + 1]), pd(t[i + 3])));
  }
  for (int i = 0; i < 4; ++i) {
    __m512 a = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88),
           b = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
    __m512 c = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88),
           d = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
    t[i] = _mm512_shuffle_f32x4(a, c, 0x88);
    t[i + 8] = _mm512_shuffle_f32x4(a, c, 0xdd);
    t[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
    t[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
  }
  for (int i = 0; i < 16; ++i) _mm512_stream_ps(out + i * ldo, t[i]);
}

constexpr long n = 4096;

Buffer<float> square() { return floats(n * n); }
Buffer<float> blank() { return raw<float>(n * n); }

void additions(Group const& row) {
  for (char const* name : {"add_4096_fresh", "add_4096_out"}) {
    row(
        name,
        [=] {
          return [a = square(), b = square(), o = blank()] {
            stream_map(o.get(), n * n,
                       [&](long i) { return load(a.get() + i) + load(b.get() + i); });
          };
        },
        "streaming stores into a warm buffer");
    row(
        name,
        [=] {
          return [a = square(), b = square(), o = blank()] {
            float *x = a.get(), *y = b.get(), *z = o.get();
#pragma omp parallel for schedule(static)
            for (long i = 0; i < n * n; ++i) z[i] = x[i] + y[i];
          };
        },
        "plain loop into a warm buffer");
  }
  row(
      "memcpy_64MB",
      [=] { return [a = square(), o = blank()] { std::memcpy(o.get(), a.get(), n * n * 4); }; },
      "memcpy, 1 thread");
  row(
      "first_touch_64MB",
      [=] {
        return [] {
          auto* p = static_cast<char*>(
              mmap(nullptr, n * n * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
          for (long i = 0; i < n * n * 4; i += 4096) p[i] = 1;
          munmap(p, n * n * 4);
        };
      },
      "mmap, touch every 4 KiB page, munmap");
}

void chains(Group const& row) {
  row(
      "chain5_16M",
      [=] {
        return [x = square(), a = square(), b = square(), c = square(), o = blank()] {
          stream_blocks(o.get(), n * n, [&](float* block, long i) {
            float *xx = x.get() + i, *aa = a.get() + i, *bb = b.get() + i, *cc = c.get() + i;
            for (int j = 0; j < 1024; ++j) {
              float t = xx[j] * aa[j] + bb[j];
              block[j] = std::exp((t > 0 ? t : 0) * cc[j]);
            }
          });
        };
      },
      "one fused pass");
  row(
      "softmax_4096",
      [=] {
        return [=, a = square(), o = blank()] {
#pragma omp parallel for schedule(static)
          for (long r = 0; r < n; ++r) {
            alignas(64) float e[n];
            float const* x = a.get() + r * n;
            float top = x[0], sum = 0;
            for (long j = 0; j < n; ++j) top = x[j] > top ? x[j] : top;
            for (long j = 0; j < n; ++j) sum += e[j] = std::exp(x[j] - top);
            __m512 scale = _mm512_set1_ps(1 / sum);
            for (long j = 0; j < n; j += 16)
              _mm512_stream_ps(o.get() + r * n + j, _mm512_mul_ps(_mm512_load_ps(e + j), scale));
          }
        };
      },
      "row in L1, streamed out");
  row(
      "layer_norm_4096",
      [=] {
        return [=, a = square(), w = floats(n), b = floats(n), o = blank()] {
#pragma omp parallel for schedule(static)
          for (long r = 0; r < n; ++r) {
            float const* x = a.get() + r * n;
            float sum = 0, squares = 0;
            for (long j = 0; j < n; ++j) sum += x[j], squares += x[j] * x[j];
            float mean = sum / n, scale = 1 / std::sqrt(squares / n - mean * mean + 1e-5f);
            for (long j = 0; j < n; j += 16)
              _mm512_stream_ps(
                  o.get() + r * n + j,
                  __m512((load(x + j) - mean) * scale * load(w.get() + j) + load(b.get() + j)));
          }
        };
      },
      "row in L1, streamed out");
}

void sums(Group const& row) {
  row("sum_dim0_4096", [=] {
    return [a = square(), o = raw<float>(2 * n)] {
      std::memset(o.get(), 0, 2 * n * 4);
#pragma omp parallel
      {
        int id = omp_get_thread_num(), of = omp_get_num_threads();
        float* acc = o.get() + id * n;
        for (long r = n * id / of; r < n * (id + 1) / of; r += 4) {
          float const* x = a.get() + r * n;
          for (long j = 0; j < n; ++j) acc[j] += x[j] + x[j + n] + x[j + 2 * n] + x[j + 3 * n];
        }
      }
      for (long j = 0; j < n; ++j) o[j] += o[j + n];
    };
  });
  auto sums = [=](bool each) {
    return [=, a = square(), o = floats(n)] {
      float total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
      for (long r = 0; r < n; ++r) {
        V t[4] = {};
        float const* x = a.get() + r * n;
        for (long j = 0; j < n; j += 64)
          for (int k = 0; k < 4; ++k) t[k] += load(x + j + 16 * k);
        float sum = _mm512_reduce_add_ps(__m512(t[0] + t[1] + t[2] + t[3]));
        if (each) o[r] = sum;
        total += sum;
      }
      keep(total);
    };
  };
  row("sum_dim1_4096", [=] { return sums(true); });
  row("sum_all_4096", [=] { return sums(false); });
}

void moves(Group const& row) {
  row(
      "transpose_copy_4096",
      [=] {
        return [=, a = square(), o = blank()] {
#pragma omp parallel for schedule(static)
          for (long i = 0; i < n; i += 16)
            for (long j = 0; j < n; j += 16)
              transpose16(o.get() + i * n + j, n, a.get() + j * n + i, n);
        };
      },
      "16x16 register tiles, streamed");
  row(
      "transpose_copy_4096",
      [=] {
        return [=, a = square(), o = blank()] {
#pragma omp parallel for schedule(static)
          for (long i = 0; i < n; i += 64)
            for (long j = 0; j < n; j += 16)
              for (long k = i; k < i + 64; k += 16)
                transpose16(o.get() + k * n + j, n, a.get() + j * n + k, n);
        };
      },
      "16x64 tiles, streamed");
}

void lookups(Group const& row) {
  row(
      "index_select",
      [] {
        return [t = floats(262144 * 64), i = integers(16384, 262144), o = floats(16384 * 64)] {
#pragma omp parallel for schedule(static)
          for (long r = 0; r < 16384; ++r) {
            float const* ahead = t.get() + i[r + 12 < 16384 ? r + 12 : r] * 64;
            for (int k = 0; k < 64; k += 16) _mm_prefetch(ahead + k, _MM_HINT_T0);
            for (int k = 0; k < 64; k += 16)
              store(o.get() + r * 64 + k, load(t.get() + i[r] * 64 + k));
          }
        };
      },
      "prefetched copies");
  row(
      "embedding_fwd_bwd",
      [] {
        return [w = floats(50000 * 128), g = floats(50000 * 128), i = integers(8192, 50000),
                o = floats(8192 * 128)] {
          stream_map(g.get(), 50000 * 128, [](long) { return V{}; });
          for (long r = 0; r < 8192; ++r) std::memcpy(o.get() + r * 128, w.get() + i[r] * 128, 512);
          for (long r = 0; r < 8192; ++r)
            for (int k = 0; k < 128; k += 16)
              store(g.get() + i[r] * 128 + k, load(g.get() + i[r] * 128 + k) + 1.f);
        };
      },
      "stream zeros into the dense gradient, scatter");
  row(
      "embedding_fwd_bwd",
      [] {
        return [w = floats(50000 * 128), g = floats(50000 * 128), i = integers(8192, 50000),
                o = floats(8192 * 128)] {
          std::memset(g.get(), 0, 50000 * 128 * 4);
          for (long r = 0; r < 8192; ++r) std::memcpy(o.get() + r * 128, w.get() + i[r] * 128, 512);
          for (long r = 0; r < 8192; ++r)
            for (int k = 0; k < 128; k += 16)
              store(g.get() + i[r] * 128 + k, load(g.get() + i[r] * 128 + k) + 1.f);
        };
      },
      "memset the dense gradient, scatter");
}

void ordering(Group const& row) {
  row(
      "sort_1M",
      [] {
        return [a = floats(M), p = raw<uint64_t>(M), q = raw<uint64_t>(M), v = floats(M),
                i = raw<int64_t>(M)] {
          auto* bits = reinterpret_cast<uint32_t const*>(a.get());
          for (long j = 0; j < M; ++j) {
            uint32_t k = bits[j];
            k ^= uint32_t(int32_t(k) >> 31) | 0x80000000u;
            p[j] = uint64_t(k) << 32 | uint64_t(j);
          }
          radix(p.get(), q.get(), M);
          auto* values = reinterpret_cast<uint32_t*>(v.get());
          for (long j = 0; j < M; ++j) {
            uint32_t k = uint32_t(q[j] >> 32);
            values[j] = k ^ (uint32_t(int32_t(~k) >> 31) | 0x80000000u);
            i[j] = int64_t(uint32_t(q[j]));
          }
        };
      },
      "radix sort of (key, index), 1 thread");
  row(
      "topk_1M_100",
      [] {
        return [a = floats(M)] {
          std::vector<std::pair<float, long>> heap(100, {-1e30f, 0});
          auto more = [](auto const& x, auto const& y) { return x.first > y.first; };
          float bar = -1e30f;
          for (long i = 0; i < M; i += 16) {
            unsigned mask =
                _mm512_cmp_ps_mask(__m512(load(a.get() + i)), _mm512_set1_ps(bar), _CMP_GT_OQ);
            for (; mask; mask &= mask - 1) {
              long j = i + __builtin_ctz(mask);
              if (a[j] <= bar) continue;
              std::pop_heap(heap.begin(), heap.end(), more);
              heap.back() = {a[j], j};
              std::push_heap(heap.begin(), heap.end(), more);
              bar = heap.front().first;
            }
          }
          std::sort_heap(heap.begin(), heap.end(), more);
          keep(heap[0]);
        };
      },
      "vector compare, then a heap, 1 thread");
}

void scan(Group const& row) {
  row(
      "cumsum_1M",
      [] {
        return [a = floats(M), o = floats(M)] {
          __m512 carry = _mm512_setzero_ps();
          auto shift = [](__m512 x, __m512i by, __mmask16 m) {
            return _mm512_maskz_permutexvar_ps(m, by, x);
          };
          __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
          auto back = [&](int k) { return _mm512_sub_epi32(lanes, _mm512_set1_epi32(k)); };
          __m512i b1 = back(1), b2 = back(2), b4 = back(4), b8 = back(8),
                  last = _mm512_set1_epi32(15);
          for (long i = 0; i < M; i += 16) {
            __m512 x = _mm512_loadu_ps(a.get() + i);
            x = _mm512_add_ps(x, shift(x, b1, 0xfffe));
            x = _mm512_add_ps(x, shift(x, b2, 0xfffc));
            x = _mm512_add_ps(x, shift(x, b4, 0xfff0));
            x = _mm512_add_ps(x, shift(x, b8, 0xff00));
            x = _mm512_add_ps(x, carry);
            _mm512_storeu_ps(o.get() + i, x);
            carry = _mm512_permutexvar_ps(last, x);
          }
        };
      },
      "in-register prefix, 1 thread");
}

void masks(Group const& row) {
  auto mask = [] {
    auto m = raw<uint8_t>(M);
    for (long i = 0; i < M; ++i) m[i] = generator() & 1;
    return m;
  };
  row(
      "nonzero_1M",
      [=] {
        return [m = mask(), o = raw<int64_t>(M)] {
          int64_t* out = o.get();
          __m512i at = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), eight = _mm512_set1_epi64(8);
          for (long i = 0; i < M; i += 64) {
            uint64_t bits =
                _mm512_test_epi8_mask(_mm512_loadu_si512(m.get() + i), _mm512_set1_epi8(-1));
            for (int k = 0; k < 8; ++k, bits >>= 8) {
              _mm512_storeu_si512(out, _mm512_maskz_compress_epi64(__mmask8(bits), at));
              out += __builtin_popcountll(bits & 255);
              at = _mm512_add_epi64(at, eight);
            }
          }
          keep(out);
        };
      },
      "compress stores, 1 thread");
  row(
      "masked_select_1M",
      [=] {
        return [m = mask(), a = floats(M), o = floats(M)] {
          float* out = o.get();
          for (long i = 0; i < M; i += 16) {
            __mmask16 bits = _mm_test_epi8_mask(_mm_loadu_si128((__m128i const*)(m.get() + i)),
                                                _mm_set1_epi8(-1));
            _mm512_storeu_ps(out, _mm512_maskz_compress_ps(bits, _mm512_loadu_ps(a.get() + i)));
            out += __builtin_popcount(bits);
          }
          keep(out);
        };
      },
      "compress stores, 1 thread");
}

}  // namespace

void radix(uint64_t* a, uint64_t* spare, long n) {
  std::vector<uint32_t> counts(3 * 2048);
  for (long i = 0; i < n; ++i) {
    uint32_t k = uint32_t(a[i] >> 32);
    ++counts[k & 2047], ++counts[2048 + (k >> 11 & 2047)], ++counts[4096 + (k >> 22)];
  }
  for (int pass = 0; pass < 3; ++pass) {
    uint32_t* c = counts.data() + 2048 * pass;
    uint32_t at = 0;
    for (int i = 0; i < 2048; ++i) at += std::exchange(c[i], at);
    int shift = 32 + 11 * pass;
    for (long i = 0; i < n; ++i) spare[c[a[i] >> shift & 2047]++] = a[i];
    std::swap(a, spare);
  }
}

void memory(Suite& s) {
  Group row{s, "memory"};
  additions(row);
  chains(row);
  sums(row);
  moves(row);
  lookups(row);
  ordering(row);
  scan(row);
  masks(row);
}

}  // namespace bench::lower_bounds
