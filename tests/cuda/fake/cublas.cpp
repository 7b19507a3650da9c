// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// cuBLAS's triangular solves and batched LU by LAPACK, on the fake streams.
#include <cublas_v2.h>

#include <vector>

#include "late_work.h"

namespace {

using namespace tenon::fake;

struct Handle {
  void* stream = nullptr;
};
void* stream_of(cublasHandle_t h) { return reinterpret_cast<Handle*>(h)->stream; }

#define BEGIN() \
  if (tenon_fake_call("cublas") != 0) return CUBLAS_STATUS_INTERNAL_ERROR

char form_of(cublasOperation_t f) { return f == CUBLAS_OP_N ? 'N' : f == CUBLAS_OP_T ? 'T' : 'C'; }

template <class T>
void solve_triangle(cublasSideMode_t side, cublasFillMode_t triangle, cublasOperation_t form,
                    cublasDiagType_t diagonal, int m, int n, T alpha, const T* a, int lda, T* b,
                    int ldb) {
  using F = void (*)(const char*, const char*, const char*, const char*, const int*, const int*,
                     const T*, const T*, const int*, T*, const int*);
  const char name[] = {kLetter<T>, 't', 'r', 's', 'm', '_', 0};
  const char s = side == CUBLAS_SIDE_LEFT ? 'L' : 'R',
             u = triangle == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U', t = form_of(form),
             d = diagonal == CUBLAS_DIAG_UNIT ? 'U' : 'N';
  reinterpret_cast<F>(dlsym(lapack_library(), name))(&s, &u, &t, &d, &m, &n, &alpha, a, &lda, b,
                                                     &ldb);
}

template <class T>
cublasStatus_t trsm(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t triangle,
                    cublasOperation_t form, cublasDiagType_t diagonal, int m, int n, const T* alpha,
                    const T* a, int lda, T* b, int ldb) {
  BEGIN();
  if (m < 0 || n < 0 || lda < (side == CUBLAS_SIDE_LEFT ? m : n) || ldb < m)
    return CUBLAS_STATUS_INVALID_VALUE;
  enqueue(stream_of(h), [=, factor = *alpha] {
    solve_triangle(side, triangle, form, diagonal, m, n, factor, a, lda, b, ldb);
  });
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t trsm_batched(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t triangle,
                            cublasOperation_t form, cublasDiagType_t diagonal, int m, int n,
                            const T* alpha, const T* const* a, int lda, T* const* b, int ldb,
                            int count) {
  BEGIN();
  if (m < 0 || n < 0 || lda < (side == CUBLAS_SIDE_LEFT ? m : n) || ldb < m || count < 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  enqueue(stream_of(h), [=, factor = *alpha] {
    for (int i = 0; i < count; ++i)
      solve_triangle(side, triangle, form, diagonal, m, n, factor, a[i], lda, b[i], ldb);
  });
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t getrf_batched(cublasHandle_t h, int n, T* const* a, int lda, int* pivots, int* info,
                             int count) {
  BEGIN();
  if (n < 0 || lda < n || count < 0) return CUBLAS_STATUS_INVALID_VALUE;
  enqueue(stream_of(h), [=] {
    const auto f = lapack<int (*)(int, int, int, T*, int, int*)>(kLetter<T>, "getrf");
    for (int i = 0; i < count; ++i) {
      // The checks for NaN of LAPACKE refuse before they compute.
      const int code = f(kColumnMajor, n, n, a[i], lda, pivots + i * n);
      info[i] = code < 0 ? 0 : code;
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t getrs_batched(cublasHandle_t h, cublasOperation_t form, int n, int columns,
                             const T* const* a, int lda, const int* pivots, T* const* b, int ldb,
                             int* info, int count) {
  BEGIN();
  *info = n < 0 ? -2 : lda < n ? -5 : ldb < n ? -8 : 0;
  if (*info != 0) return CUBLAS_STATUS_INVALID_VALUE;
  enqueue(stream_of(h), [=] {
    const auto f = lapack<int (*)(int, char, int, int, const T*, int, const int*, T*, int)>(
        kLetter<T>, "getrs_work");
    for (int i = 0; i < count; ++i)
      f(kColumnMajor, form_of(form), n, columns, a[i], lda, pivots + i * n, b[i], ldb);
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* h) {
  BEGIN();
  *h = reinterpret_cast<cublasHandle_t>(new Handle);
  tenon_fake_count(TENON_FAKE_HANDLES, 1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t h) {
  delete reinterpret_cast<Handle*>(h);
  tenon_fake_count(TENON_FAKE_HANDLES, -1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t stream) {
  BEGIN();
  reinterpret_cast<Handle*>(h)->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

#define TYPED(T, L)                                                                                \
  cublasStatus_t cublas##L##trsm_v2(cublasHandle_t h, cublasSideMode_t s, cublasFillMode_t u,      \
                                    cublasOperation_t t, cublasDiagType_t d, int m, int n,         \
                                    const T* alpha, const T* a, int lda, T* b, int ldb) {          \
    return trsm(h, s, u, t, d, m, n, alpha, a, lda, b, ldb);                                       \
  }                                                                                                \
  cublasStatus_t cublas##L##trsmBatched(cublasHandle_t h, cublasSideMode_t s, cublasFillMode_t u,  \
                                        cublasOperation_t t, cublasDiagType_t d, int m, int n,     \
                                        const T* alpha, const T* const a[], int lda, T* const b[], \
                                        int ldb, int count) {                                      \
    return trsm_batched(h, s, u, t, d, m, n, alpha, a, lda, b, ldb, count);                        \
  }                                                                                                \
  cublasStatus_t cublas##L##getrfBatched(cublasHandle_t h, int n, T* const a[], int lda,           \
                                         int* pivots, int* info, int count) {                      \
    return getrf_batched(h, n, a, lda, pivots, info, count);                                       \
  }                                                                                                \
  cublasStatus_t cublas##L##getrsBatched(cublasHandle_t h, cublasOperation_t t, int n, int c,      \
                                         const T* const a[], int lda, const int* pivots,           \
                                         T* const b[], int ldb, int* info, int count) {            \
    return getrs_batched(h, t, n, c, a, lda, pivots, b, ldb, info, count);                         \
  }
TYPED(float, S)
TYPED(double, D)
TYPED(cuComplex, C)
TYPED(cuDoubleComplex, Z)
}
