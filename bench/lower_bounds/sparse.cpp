// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds of sparse rows.
#include <immintrin.h>
#include <omp.h>

#include <algorithm>

#include "bench/lower_bounds/lower_bounds.h"

namespace bench::lower_bounds {
namespace {

struct Coo {
  long n;
  Buffer<int64_t> row, col;
  Buffer<float> value;
};

Coo random_coo(long rows, long cols, long nnz, bool sorted) {
  Coo c{nnz, integers(nnz, rows), integers(nnz, cols), floats(nnz)};
  if (sorted) {
    std::vector<std::pair<int64_t, int64_t>> at;
    for (long i = 0; i < nnz; ++i) at.push_back({c.row[i], c.col[i]});
    std::sort(at.begin(), at.end());
    for (long i = 0; i < nnz; ++i) c.row[i] = at[i].first, c.col[i] = at[i].second;
  }
  return c;
}

void coalesce(Group const& row) {
  row(
      "coalesce_655k",
      [] {
        constexpr long n = 655360;
        return [c = random_coo(65536, 65536, n, false), p = raw<uint64_t>(n), q = raw<uint64_t>(n),
                out = random_coo(65536, 65536, n, false)] {
          auto* bits = reinterpret_cast<uint32_t*>(c.value.get());
          for (long i = 0; i < n; ++i) p[i] = uint64_t(c.row[i] << 16 | c.col[i]) << 32 | bits[i];
          radix(p.get(), q.get(), n);
          long at = -1;
          uint64_t previous = ~0ull;
          for (long i = 0; i < n; ++i) {
            uint64_t key = q[i] >> 32;
            uint32_t b = uint32_t(q[i]);
            float v;
            std::memcpy(&v, &b, 4);
            if (key != previous)
              out.row[++at] = int64_t(key >> 16), out.col[at] = int64_t(key & 65535),
              out.value[at] = 0, previous = key;
            out.value[at] += v;
          }
          keep(at);
        };
      },
      "radix sort of 32-bit keys, 1 thread");
}

void products(Group const& row) {
  auto spmm = [](long n) {
    return [n] {
      return [=, a = random_coo(n, n, 10 * n, true), b = floats(n * 64), o = floats(n * 64)] {
#pragma omp parallel
        {
          long id = omp_get_thread_num(), of = omp_get_num_threads();
          auto cut = [&](long part) {
            long i = a.n * part / of;
            while (i > 0 && i < a.n && a.row[i] == a.row[i - 1]) ++i;
            return i;
          };
          long end = cut(id + 1);
          for (long i = cut(id); i < end;) {
            long r = a.row[i];
            V t[4] = {};
            for (; i < end && a.row[i] == r; ++i) {
              float const* ahead = b.get() + a.col[i + 16 < a.n ? i + 16 : i] * 64;
              for (int k = 0; k < 4; ++k) _mm_prefetch(ahead + 16 * k, _MM_HINT_T0);
              for (int k = 0; k < 4; ++k)
                t[k] += a.value[i] * load(b.get() + a.col[i] * 64 + 16 * k);
            }
            for (int k = 0; k < 4; ++k) _mm512_stream_ps(o.get() + r * 64 + 16 * k, __m512(t[k]));
          }
        }
      };
    };
  };
  row("spmm_65k", spmm(65536), "rows in registers, prefetched");
  row("spmm_262k", spmm(262144), "rows in registers, prefetched");
  row("spmm_262k_csr", spmm(262144), "rows in registers, prefetched");
}

void sums(Group const& row) {
  for (char const* name : {"sparse_add", "sparse_add_coalesce"})
    row(
        name,
        [] {
          constexpr long n = 655360;
          return [a = random_coo(65536, 65536, n, true), b = random_coo(65536, 65536, n, true),
                  o = random_coo(65536, 65536, 2 * n, false)] {
            long i = 0, j = 0, at = 0;
            auto key = [](Coo const& c, long k) { return c.row[k] << 16 | c.col[k]; };
            while (i < n && j < n) {
              int64_t x = key(a, i), y = key(b, j);
              int64_t low = x < y ? x : y;
              o.row[at] = low >> 16, o.col[at] = low & 65535;
              o.value[at++] = (x == low ? a.value[i] : 0) + (y == low ? b.value[j] : 0);
              i += x == low, j += y == low;
            }
            keep(at);
          };
        },
        "one merge of two sorted lists, 1 thread");
  row(
      "sparse_mul_200k",
      [] {
        constexpr long n = 200000;
        return [a = random_coo(2000, 2000, n, true), b = random_coo(2000, 2000, n, true),
                o = random_coo(2000, 2000, n, false)] {
          long i = 0, j = 0, at = 0;
          auto key = [](Coo const& c, long k) { return c.row[k] * 2000 + c.col[k]; };
          while (i < n && j < n) {
            int64_t x = key(a, i), y = key(b, j);
            o.row[at] = a.row[i], o.col[at] = a.col[i], o.value[at] = a.value[i] * b.value[j];
            at += x == y, i += x <= y, j += y <= x;
          }
          keep(at);
        };
      },
      "one merge of two sorted lists, 1 thread");
  row(
      "strided_add_duplicates",
      [] {
        return [c = random_coo(2000, 2000, 200000, false), a = floats(2000 * 2000),
                o = floats(2000 * 2000)] {
          std::memcpy(o.get(), a.get(), 2000 * 2000 * 4);
          for (long i = 0; i < c.n; ++i) o[c.row[i] * 2000 + c.col[i]] += c.value[i];
        };
      },
      "memcpy and scatter, 1 thread");
  row(
      "sparse_to_dense_2000",
      [] {
        return [c = random_coo(2000, 2000, 40000, true), o = floats(2000 * 2000)] {
          std::memset(o.get(), 0, 2000 * 2000 * 4);
          for (long i = 0; i < c.n; ++i) o[c.row[i] * 2000 + c.col[i]] = c.value[i];
        };
      },
      "memset and scatter, 1 thread");
}

}  // namespace

void sparse(Suite& s) {
  Group row{s, "sparse"};
  coalesce(row);
  products(row);
  sums(row);
}

}  // namespace bench::lower_bounds
