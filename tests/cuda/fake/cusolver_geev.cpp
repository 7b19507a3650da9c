// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What only newer versions of cuSOLVER have.
#include <vector>

#include "cusolver_parts.h"

namespace {

using namespace tenon::fake;

template <class T>
struct Complex {
  using type = T;
};
template <>
struct Complex<float> {
  using type = cuComplex;
};
template <>
struct Complex<double> {
  using type = cuDoubleComplex;
};

template <class T>
int eigenvalues(char job, int n, T* a, int lda, typename Complex<T>::type* values, T* v, int ldv) {
  if (!all_finite(a, n, n, lda)) std::fprintf(stderr, "geev does not end\n"), std::abort();
  T none{};
  T* const vectors = v ? v : &none;
  if constexpr (kComplex<T>) {
    const auto f =
        lapack<int (*)(int, char, char, int, T*, int, T*, T*, int, T*, int)>(kLetter<T>, "geev");
    return f(kColumnMajor, 'N', job, n, a, lda, values, nullptr, 1, vectors, ldv);
  } else {
    const auto f = lapack<int (*)(int, char, char, int, T*, int, T*, T*, T*, int, T*, int)>(
        kLetter<T>, "geev");
    std::vector<T> re(static_cast<std::size_t>(n)), im(re);
    const int code =
        f(kColumnMajor, 'N', job, n, a, lda, re.data(), im.data(), nullptr, 1, vectors, ldv);
    for (std::size_t i = 0; i < re.size(); ++i) values[i] = {re[i], im[i]};
    return code;
  }
}

// Eigenvalues as complex numbers, the rest of the matrix's type.
bool are_types(cudaDataType a, cudaDataType w, cudaDataType vl, cudaDataType vr,
               cudaDataType compute) {
  const bool single = a == CUDA_R_32F || a == CUDA_C_32F;
  return w == (single ? CUDA_C_32F : CUDA_C_64F) && vl == a && vr == a && compute == a;
}

}  // namespace

extern "C" {

cusolverStatus_t cusolverDnXgeev_bufferSize(cusolverDnHandle_t, cusolverDnParams_t,
                                            cusolverEigMode_t left, cusolverEigMode_t, int64_t n,
                                            cudaDataType a_type, const void*, int64_t lda,
                                            cudaDataType w_type, const void*, cudaDataType vl_type,
                                            const void*, int64_t, cudaDataType vr_type, const void*,
                                            int64_t ldv, cudaDataType compute, size_t* device,
                                            size_t* host) {
  BEGIN();
  NEED(left == CUSOLVER_EIG_MODE_NOVECTOR && n >= 0 && lda >= n && ldv >= n);
  NEED(are_types(a_type, w_type, vl_type, vr_type, compute));
  return ask(device, host);
}
cusolverStatus_t cusolverDnXgeev(cusolverDnHandle_t h, cusolverDnParams_t, cusolverEigMode_t left,
                                 cusolverEigMode_t right, int64_t n, cudaDataType a_type, void* a,
                                 int64_t lda, cudaDataType w_type, void* w, cudaDataType vl_type,
                                 void*, int64_t, cudaDataType vr_type, void* v, int64_t ldv,
                                 cudaDataType compute, void* device, size_t device_bytes,
                                 void* host, size_t host_bytes, int* info) {
  BEGIN();
  const bool vectors = right == CUSOLVER_EIG_MODE_VECTOR;
  NEED(left == CUSOLVER_EIG_MODE_NOVECTOR && n >= 0 && lda >= n && ldv >= n && (v || !vectors));
  NEED(are_types(a_type, w_type, vl_type, vr_type, compute));
  NEED(take(device, device_bytes, host, host_bytes));
  enqueue(stream_of(h), [=] {
    use(device);
    std::memset(host, 7, kHostBytes);
    dispatch(a_type, [&](auto tag) {
      using T = decltype(tag);
      *info = eigenvalues(vectors ? 'V' : 'N', static_cast<int>(n), static_cast<T*>(a),
                          static_cast<int>(lda), static_cast<typename Complex<T>::type*>(w),
                          static_cast<T*>(v), static_cast<int>(ldv));
    });
  });
  return CUSOLVER_STATUS_SUCCESS;
}
}
