// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds of linear algebra.
#ifdef BENCH_OPENBLAS
#include <cblas.h>
#endif
#ifdef BENCH_FFTW
#include <fftw3.h>
#endif

#include "bench/lower_bounds/lower_bounds.h"

extern "C" {
void sgetrf_(int*, int*, float*, int*, int*, int*);
void sgetri_(int*, float*, int*, int*, float*, int*, int*);
void sgesv_(int*, int*, float*, int*, int*, float*, int*, int*);
void sgesdd_(char const*, int*, int*, float*, int*, float*, float*, int*, float*, int*, float*,
             int*, int*, int*);
void sgeqrf_(int*, int*, float*, int*, float*, float*, int*, int*);
void sorgqr_(int*, int*, int*, float*, int*, float*, float*, int*, int*);
void spotrf_(char const*, int*, float*, int*, int*);
}

namespace bench::lower_bounds {

namespace {

#ifdef BENCH_OPENBLAS
constexpr long N = 512;

Buffer<float> square() {
  auto a = floats(N * N);
  for (long i = 0; i < N; ++i) a[i * N + i] += 1000;
  return a;
}

void copy(Buffer<float> const& from, Buffer<float> const& to) {
  std::memcpy(to.get(), from.get(), N * N * 4);
}

void lapack(Group const& row) {
  row("inverse_512", [=] {
    return [=, a = square(), w = square(), work = floats(N * N)] {
      copy(a, w);
      int n = N, info, lwork = N * N;
      std::vector<int> pivots(N);
      sgetrf_(&n, &n, w.get(), &n, pivots.data(), &info);
      sgetri_(&n, w.get(), &n, pivots.data(), work.get(), &lwork, &info);
    };
  });
  row("solve_512", [=] {
    return [=, a = square(), w = square(), b = floats(N * 64)] {
      copy(a, w);
      int n = N, nrhs = 64, info;
      std::vector<int> pivots(N);
      sgesv_(&n, &nrhs, w.get(), &n, pivots.data(), b.get(), &n, &info);
    };
  });
  row("svd_512", [=] {
    return [=, a = square(), w = square(), u = square(), vt = square(), sv = floats(N),
            work = floats(8 * N * N)] {
      copy(a, w);
      int n = N, info, lwork = 8 * N * N;
      std::vector<int> iwork(8 * N);
      sgesdd_("A", &n, &n, w.get(), &n, sv.get(), u.get(), &n, vt.get(), &n, work.get(), &lwork,
              iwork.data(), &info);
    };
  });
  row("qr_512", [=] {
    return [=, a = square(), w = square(), tau = floats(N), work = floats(N * N)] {
      copy(a, w);
      int n = N, info, lwork = N * N;
      sgeqrf_(&n, &n, w.get(), &n, tau.get(), work.get(), &lwork, &info);
      sorgqr_(&n, &n, &n, w.get(), &n, tau.get(), work.get(), &lwork, &info);
    };
  });
  row("cholesky_512", [=] {
    return [=, a = square(), w = square()] {
      copy(a, w);
      int n = N, info;
      spotrf_("L", &n, w.get(), &n, &info);
    };
  });
}

void flops(Group const& row) {
  // The same flops as one matrix product, n x n x k.
  auto same = [&](char const* name, int k) {
    row(
        name,
        [=] {
          return [=, a = floats(N * k), b = floats(N * k), c = floats(N * N)] {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, k, 1, a.get(), k, b.get(),
                        N, 0, c.get(), N);
          };
        },
        "a matrix product of the same flops");
  };
  same("inverse_512", 512);
  same("solve_512", 235);
  same("qr_512", 683);
  same("cholesky_512", 86);
  same("svd_512", 11 * 512);
}

#endif

#ifdef BENCH_FFTW
void fourier(Group const& row) {
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
  [[maybe_unused]] Group row{s, "linalg"};
#ifdef BENCH_OPENBLAS
  lapack(row);
  flops(row);
#endif
#ifdef BENCH_FFTW
  fourier(row);
#endif
}

}  // namespace bench::lower_bounds
