// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds of linear algebra.
#ifdef BENCH_FFTW
#include <fftw3.h>
#endif

#include "bench/lower_bounds/lower_bounds.h"

extern "C" {
void sgesv_(int*, int*, float*, int*, int*, float*, int*, int*);
void ssyevd_(char const*, char const*, int*, float*, int*, float*, float*, int*, int*, int*, int*);
void sgesdd_(char const*, int*, int*, float*, int*, float*, float*, int*, float*, int*, float*,
             int*, int*, int*);
}

namespace bench::lower_bounds {

namespace {

#ifdef BENCH_OPENBLAS
constexpr int N = 1024;

// A routine overwrites its matrix, so each call works on a copy.
Buffer<float> copied(Buffer<float> const& from, Buffer<float> const& to, long count) {
  std::memcpy(to.get(), from.get(), size_t(count) * 4);
  return to;
}

Buffer<float> invertible(int n, int batch) {
  auto a = floats(long(n) * n * batch);
  for (int m = 0; m < batch; ++m)
    for (int i = 0; i < n; ++i) a[(long(m) * n + i) * n + i] += 8;
  return a;
}

auto solve(int n, int batch) {
  return [=] {
    auto a = invertible(n, batch);
    long count = long(n) * n * batch;
    return [=, w = floats(count), b = floats(long(n) * batch), pivots = integers(n, 1)] {
      copied(a, w, count);
      int one = 1, info, size = n;
      for (int m = 0; m < batch; ++m)
        sgesv_(&size, &one, w.get() + long(m) * n * n, &size, reinterpret_cast<int*>(pivots.get()),
               b.get() + long(m) * n, &size, &info);
    };
  };
}

void lapack(Group const& row) {
  row("solve_8x8", solve(8, N), "LAPACK");
  row("solve_1024", solve(N, 1), "LAPACK");
  row(
      "eigh_1024",
      [] {
        auto a = floats(long(N) * N);
        long lwork = 1 + 6L * N + 2L * N * N;
        return [=, w = floats(long(N) * N), e = floats(N), work = floats(lwork),
                iwork = integers(3 + 5 * N, 1)] {
          copied(a, w, long(N) * N);
          int n = N, info, l = int(lwork), li = 3 + 5 * N;
          ssyevd_("V", "L", &n, w.get(), &n, e.get(), work.get(), &l,
                  reinterpret_cast<int*>(iwork.get()), &li, &info);
        };
      },
      "LAPACK, eigenvectors too");
  row(
      "svd_1024",
      [] {
        auto a = floats(long(N) * N);
        int lwork = 8 * N * N;
        return [=, w = floats(long(N) * N), u = floats(long(N) * N), vt = floats(long(N) * N),
                sv = floats(N), work = floats(lwork), iwork = integers(8 * N, 1)] {
          copied(a, w, long(N) * N);
          int n = N, info, l = lwork;
          sgesdd_("A", &n, &n, w.get(), &n, sv.get(), u.get(), &n, vt.get(), &n, work.get(), &l,
                  reinterpret_cast<int*>(iwork.get()), &info);
        };
      },
      "LAPACK, both sides");
}
#endif

#ifdef BENCH_FFTW
void fourier(Group const& row) {
  auto complex_ones = [&](char const* name, int n, int batch) {
    row(
        name,
        [=] {
          auto a = floats(2L * n * batch), o = floats(2L * n * batch);
          auto in = reinterpret_cast<fftwf_complex*>(a.get()),
               out = reinterpret_cast<fftwf_complex*>(o.get());
          auto plan = fftwf_plan_many_dft(1, &n, batch, in, nullptr, 1, n, out, nullptr, 1, n,
                                          FFTW_FORWARD, FFTW_MEASURE);
          return [plan, a, o] { fftwf_execute(plan); };
        },
        "FFTW, measured plan, 1 thread");
  };
  complex_ones("fft_1M", int(M), 1);
  complex_ones("fft_1024x1024", 1024, 1024);
  row(
      "rfft_1M",
      [] {
        auto a = floats(M), o = floats(2 * M + 16);
        auto plan = fftwf_plan_dft_r2c_1d(int(M), a.get(),
                                          reinterpret_cast<fftwf_complex*>(o.get()), FFTW_MEASURE);
        return [plan, a, o] { fftwf_execute(plan); };
      },
      "FFTW, measured plan, 1 thread");
}
#endif

}  // namespace

void linalg(Suite& s) {
  Group row{s, "linalg"};
#ifdef BENCH_OPENBLAS
  lapack(row);
#endif
#ifdef BENCH_FFTW
  fourier(row);
#endif
  row(
      "foreach_add_100",
      [] {
        return [a = floats(409600), b = floats(409600)] {
          for (long i = 0; i < 409600; ++i) a[i] += 1e-3f * b[i];
        };
      },
      "one loop over as many elements");
}

}  // namespace bench::lower_bounds
