// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// cuSOLVER's factorizations by LAPACK, on the fake streams. It refuses what the real one refuses.
#include <vector>

#include "cusolver_parts.h"

namespace {

using namespace tenon::fake;

template <class T>
void eigenvalues(char job, char triangle, int n, T* a, int lda, typename Real<T>::type* values,
                 int* info) {
  using R = typename Real<T>::type;
  if (!all_finite(a, n, n, lda)) {
    *info = n;
    for (int i = 0; i < n; ++i) values[i] = std::nan("");
    return;
  }
  const auto f = lapack<int (*)(int, char, char, int, T*, int, R*)>(
      kLetter<T>, kComplex<T> ? "heevd" : "syevd");
  *info = f(kColumnMajor, job, triangle, n, a, lda, values);
}

// Opaque handles that the test counts.
template <class T, class H>
cusolverStatus_t give(H* handle) {
  *handle = reinterpret_cast<H>(new T{});
  tenon_fake_count(TENON_FAKE_HANDLES, 1);
  return CUSOLVER_STATUS_SUCCESS;
}
template <class T, class H>
cusolverStatus_t take_back(H handle) {
  delete reinterpret_cast<T*>(handle);
  tenon_fake_count(TENON_FAKE_HANDLES, -1);
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* h) {
  BEGIN();
  return give<Handle>(h);
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t h) { return take_back<Handle>(h); }
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t h, cudaStream_t stream) {
  BEGIN();
  reinterpret_cast<Handle*>(h)->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* p) {
  BEGIN();
  return give<int>(p);
}
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t p) { return take_back<int>(p); }

cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t m,
                                             int64_t n, cudaDataType, const void*, int64_t lda,
                                             cudaDataType, size_t* device, size_t* host) {
  BEGIN();
  NEED(m >= 0 && n >= 0 && lda >= m);
  return ask(device, host);
}
cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t h, cusolverDnParams_t, int64_t m, int64_t n,
                                  cudaDataType type, void* a, int64_t lda, int64_t* pivots,
                                  cudaDataType, void* device, size_t device_bytes, void* host,
                                  size_t host_bytes, int* info) {
  BEGIN();
  NEED(m >= 0 && n >= 0 && lda >= m && take(device, device_bytes, host, host_bytes));
  enqueue(stream_of(h), [=] {
    use(device);
    dispatch(type, [&](auto tag) {
      using T = decltype(tag);
      std::vector<int> narrow(static_cast<std::size_t>(std::min(m, n)));
      const auto f = lapack<int (*)(int, int, int, T*, int, int*)>(kLetter<T>, "getrf_work");
      *info = f(kColumnMajor, static_cast<int>(m), static_cast<int>(n), static_cast<T*>(a),
                static_cast<int>(lda), narrow.data());
      std::copy(narrow.begin(), narrow.end(), pivots);
    });
  });
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t h, cusolverDnParams_t, cublasOperation_t form,
                                  int64_t n, int64_t columns, cudaDataType type, const void* a,
                                  int64_t lda, const int64_t* pivots, cudaDataType, void* b,
                                  int64_t ldb, int* info) {
  BEGIN();
  NEED(n >= 0 && columns >= 0 && lda >= n && ldb >= n);
  enqueue(stream_of(h), [=] {
    dispatch(type, [&](auto tag) {
      using T = decltype(tag);
      const std::vector<int> narrow(pivots, pivots + n);
      const auto f = lapack<int (*)(int, char, int, int, const T*, int, const int*, T*, int)>(
          kLetter<T>, "getrs_work");
      *info = f(kColumnMajor, form_of(form), static_cast<int>(n), static_cast<int>(columns),
                static_cast<const T*>(a), static_cast<int>(lda), narrow.data(), static_cast<T*>(b),
                static_cast<int>(ldb));
    });
  });
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t,
                                             cublasFillMode_t, int64_t n, cudaDataType, const void*,
                                             int64_t lda, cudaDataType, size_t* device,
                                             size_t* host) {
  BEGIN();
  NEED(n >= 0 && lda >= n);
  return ask(device, host);
}
cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t h, cusolverDnParams_t, cublasFillMode_t u,
                                  int64_t n, cudaDataType type, void* a, int64_t lda, cudaDataType,
                                  void* device, size_t device_bytes, void* host, size_t host_bytes,
                                  int* info) {
  BEGIN();
  NEED(n >= 0 && lda >= n && take(device, device_bytes, host, host_bytes));
  enqueue(stream_of(h), [=] {
    use(device);
    dispatch(type, [&](auto tag) {
      using T = decltype(tag);
      const auto f = lapack<int (*)(int, char, int, T*, int)>(kLetter<T>, "potrf_work");
      *info = f(kColumnMajor, triangle_of(u), static_cast<int>(n), static_cast<T*>(a),
                static_cast<int>(lda));
    });
  });
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t m,
                                             int64_t n, cudaDataType, const void*, int64_t lda,
                                             cudaDataType, const void*, cudaDataType,
                                             size_t* device, size_t* host) {
  BEGIN();
  NEED(m >= 0 && n >= 0 && lda >= m);
  return ask(device, host);
}
cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t h, cusolverDnParams_t, int64_t m, int64_t n,
                                  cudaDataType type, void* a, int64_t lda, cudaDataType, void* tau,
                                  cudaDataType, void* device, size_t device_bytes, void* host,
                                  size_t host_bytes, int* info) {
  BEGIN();
  NEED(m >= 0 && n >= 0 && lda >= m && take(device, device_bytes, host, host_bytes));
  enqueue(stream_of(h), [=] {
    use(device);
    dispatch(type, [&](auto tag) {
      using T = decltype(tag);
      const auto f = lapack<int (*)(int, int, int, T*, int, T*, T*, int)>(kLetter<T>, "geqrf_work");
      std::vector<T> work(static_cast<std::size_t>(64 * (n + 1)));
      *info = f(kColumnMajor, static_cast<int>(m), static_cast<int>(n), static_cast<T*>(a),
                static_cast<int>(lda), static_cast<T*>(tau), work.data(),
                static_cast<int>(work.size()));
    });
  });
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t,
                                             cusolverEigMode_t, cublasFillMode_t, int64_t n,
                                             cudaDataType, const void*, int64_t lda, cudaDataType,
                                             const void*, cudaDataType, size_t* device,
                                             size_t* host) {
  BEGIN();
  NEED(n >= 0 && lda >= n);
  return ask(device, host);
}
cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t h, cusolverDnParams_t, cusolverEigMode_t job,
                                  cublasFillMode_t u, int64_t n, cudaDataType type, void* a,
                                  int64_t lda, cudaDataType, void* values, cudaDataType,
                                  void* device, size_t device_bytes, void* host, size_t host_bytes,
                                  int* info) {
  BEGIN();
  NEED(n >= 0 && lda >= n && take(device, device_bytes, host, host_bytes));
  enqueue(stream_of(h), [=] {
    use(device);
    dispatch(type, [&](auto tag) {
      using T = decltype(tag);
      using R = typename Real<T>::type;
      eigenvalues(job == CUSOLVER_EIG_MODE_VECTOR ? 'V' : 'N', triangle_of(u), static_cast<int>(n),
                  static_cast<T*>(a), static_cast<int>(lda), static_cast<R*>(values), info);
    });
  });
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXgesvd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, signed char,
                                             signed char, int64_t m, int64_t n, cudaDataType,
                                             const void*, int64_t lda, cudaDataType, const void*,
                                             cudaDataType, const void*, int64_t, cudaDataType,
                                             const void*, int64_t, cudaDataType, size_t* device,
                                             size_t* host) {
  BEGIN();
  NEED(m >= n && n >= 0 && lda >= m);  // the real one has no wide matrices
  return ask(device, host);
}
cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t h, cusolverDnParams_t, signed char job_u,
                                  signed char job_v, int64_t m, int64_t n, cudaDataType type,
                                  void* a, int64_t lda, cudaDataType, void* s, cudaDataType,
                                  void* u, int64_t ldu, cudaDataType, void* v, int64_t ldv,
                                  cudaDataType, void* device, size_t device_bytes, void* host,
                                  size_t host_bytes, int* info) {
  BEGIN();
  NEED(m >= n && n >= 0 && lda >= m && job_u == job_v);
  NEED(take(device, device_bytes, host, host_bytes));
  enqueue(stream_of(h), [=] {
    use(device);
    dispatch(type, [&](auto tag) {
      using T = decltype(tag);
      using R = typename Real<T>::type;
      if (!all_finite(static_cast<T*>(a), m, n, lda)) {
        *info = -4;
        return;
      }
      const auto f =
          lapack<int (*)(int, char, int, int, T*, int, R*, T*, int, T*, int)>(kLetter<T>, "gesdd");
      T none{};
      *info = f(kColumnMajor, static_cast<char>(job_u), static_cast<int>(m), static_cast<int>(n),
                static_cast<T*>(a), static_cast<int>(lda), static_cast<R*>(s),
                u ? static_cast<T*>(u) : &none, static_cast<int>(ldu),
                v ? static_cast<T*>(v) : &none, static_cast<int>(ldv));
    });
  });
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXsytrs_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int64_t n,
                                             int64_t columns, cudaDataType, const void*,
                                             int64_t lda, const int64_t* pivots, cudaDataType,
                                             void*, int64_t ldb, size_t* device, size_t* host) {
  BEGIN();
  NEED(n >= 0 && columns >= 0 && lda >= n && ldb >= n && pivots);
  return ask(device, host);
}
cusolverStatus_t cusolverDnXsytrs(cusolverDnHandle_t h, cublasFillMode_t u, int64_t n,
                                  int64_t columns, cudaDataType type, const void* a, int64_t lda,
                                  const int64_t* pivots, cudaDataType, void* b, int64_t ldb,
                                  void* device, size_t device_bytes, void* host, size_t host_bytes,
                                  int* info) {
  BEGIN();
  NEED(n >= 0 && columns >= 0 && lda >= n && ldb >= n && pivots);
  NEED(take(device, device_bytes, host, host_bytes));
  enqueue(stream_of(h), [=] {
    use(device);
    dispatch(type, [&](auto tag) {
      using T = decltype(tag);
      const std::vector<int> narrow(pivots, pivots + n);
      const auto f = lapack<int (*)(int, char, int, int, const T*, int, const int*, T*, int)>(
          kLetter<T>, "sytrs_work");
      *info = f(kColumnMajor, triangle_of(u), static_cast<int>(n), static_cast<int>(columns),
                static_cast<const T*>(a), static_cast<int>(lda), narrow.data(), static_cast<T*>(b),
                static_cast<int>(ldb));
    });
  });
  return CUSOLVER_STATUS_SUCCESS;
}

#define TYPED(T, L, name)                                                                          \
  cusolverStatus_t cusolverDn##L##name##gqr_bufferSize(cusolverDnHandle_t, int m, int n, int k,    \
                                                       const T*, int lda, const T*, int* size) {   \
    BEGIN();                                                                                       \
    NEED(m >= n && n >= k && k >= 0 && lda >= m);                                                  \
    *size = 64 * (n + 1);                                                                          \
    return CUSOLVER_STATUS_SUCCESS;                                                                \
  }                                                                                                \
  cusolverStatus_t cusolverDn##L##name##gqr(cusolverDnHandle_t h, int m, int n, int k, T* a,       \
                                            int lda, const T* tau, T* work, int size, int* info) { \
    BEGIN();                                                                                       \
    NEED(m >= n && n >= k && k >= 0 && lda >= m && size >= 64 * (n + 1));                          \
    enqueue(stream_of(h), [=] {                                                                    \
      *info = lapack<int (*)(int, int, int, int, T*, int, const T*, T*, int)>(                     \
          kLetter<T>, #name "gqr_work")(kColumnMajor, m, n, k, a, lda, tau, work, size);           \
    });                                                                                            \
    return CUSOLVER_STATUS_SUCCESS;                                                                \
  }                                                                                                \
  cusolverStatus_t cusolverDn##L##name##mqr_bufferSize(                                            \
      cusolverDnHandle_t, cublasSideMode_t side, cublasOperation_t, int m, int n, int k, const T*, \
      int lda, const T*, const T*, int ldc, int* size) {                                           \
    BEGIN();                                                                                       \
    const int order = side == CUBLAS_SIDE_LEFT ? m : n;                                            \
    NEED(k >= 0 && k <= order && lda >= order && ldc >= m);                                        \
    *size = 64 * (m + n + 64);                                                                     \
    return CUSOLVER_STATUS_SUCCESS;                                                                \
  }                                                                                                \
  cusolverStatus_t cusolverDn##L##name##mqr(                                                       \
      cusolverDnHandle_t h, cublasSideMode_t side, cublasOperation_t form, int m, int n, int k,    \
      const T* a, int lda, const T* tau, T* c, int ldc, T* work, int size, int* info) {            \
    BEGIN();                                                                                       \
    const int order = side == CUBLAS_SIDE_LEFT ? m : n;                                            \
    NEED(k >= 0 && k <= order && lda >= order && ldc >= m && size >= 64 * (m + n + 64));           \
    enqueue(stream_of(h), [=] {                                                                    \
      *info = lapack<int (*)(int, char, char, int, int, int, const T*, int, const T*, T*, int, T*, \
                             int)>(kLetter<T>, #name "mqr_work")(                                  \
          kColumnMajor, side == CUBLAS_SIDE_LEFT ? 'L' : 'R', form_of(form), m, n, k, a, lda, tau, \
          c, ldc, work, size);                                                                     \
    });                                                                                            \
    return CUSOLVER_STATUS_SUCCESS;                                                                \
  }                                                                                                \
  cusolverStatus_t cusolverDn##L##sytrf_bufferSize(cusolverDnHandle_t, int n, T*, int lda,         \
                                                   int* size) {                                    \
    BEGIN();                                                                                       \
    NEED(n >= 0 && lda >= n);                                                                      \
    *size = 64 * (n + 1);                                                                          \
    return CUSOLVER_STATUS_SUCCESS;                                                                \
  }                                                                                                \
  cusolverStatus_t cusolverDn##L##sytrf(cusolverDnHandle_t h, cublasFillMode_t u, int n, T* a,     \
                                        int lda, int* pivots, T* work, int size, int* info) {      \
    BEGIN();                                                                                       \
    NEED(n >= 0 && lda >= n && size >= 64 * (n + 1));                                              \
    enqueue(stream_of(h), [=] {                                                                    \
      *info = lapack<int (*)(int, char, int, T*, int, int*, T*, int)>(kLetter<T>, "sytrf_work")(   \
          kColumnMajor, triangle_of(u), n, a, lda, pivots, work, size);                            \
    });                                                                                            \
    return CUSOLVER_STATUS_SUCCESS;                                                                \
  }
TYPED(float, S, or)
TYPED(double, D, or)
TYPED(cuComplex, C, un)
TYPED(cuDoubleComplex, Z, un)
}
