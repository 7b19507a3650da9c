// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the sources of the fake cuSOLVER share.
#pragma once

#include <cusolverDn.h>

#include <cmath>
#include <cstring>
#include <type_traits>

#include "late_work.h"

#define BEGIN() \
  if (tenon_fake_call("cusolver") != 0) return CUSOLVER_STATUS_INTERNAL_ERROR
#define NEED(condition) \
  if (!(condition)) return CUSOLVER_STATUS_INVALID_VALUE

namespace tenon::fake {

struct Handle {
  void* stream = nullptr;
};
inline void* stream_of(cusolverDnHandle_t h) { return reinterpret_cast<Handle*>(h)->stream; }

// Buffers of these sizes are asked for, and their last bytes written.
inline constexpr std::size_t kDeviceBytes = 4096, kHostBytes = 64;

inline cusolverStatus_t ask(std::size_t* device, std::size_t* host) {
  *device = kDeviceBytes;
  *host = kHostBytes;
  return CUSOLVER_STATUS_SUCCESS;
}
inline bool take(void* device, std::size_t device_bytes, void* host, std::size_t host_bytes) {
  if (device_bytes < kDeviceBytes || host_bytes < kHostBytes || !device || !host) return false;
  std::memset(host, 7, kHostBytes);
  return true;
}
inline void use(void* device) { std::memset(device, 7, kDeviceBytes); }

template <class T>
bool finite(T v) {
  return std::isfinite(v);
}
template <>
inline bool finite(cuComplex v) {
  return std::isfinite(v.x) && std::isfinite(v.y);
}
template <>
inline bool finite(cuDoubleComplex v) {
  return std::isfinite(v.x) && std::isfinite(v.y);
}
template <class T>
bool all_finite(const T* a, int64_t rows, int64_t columns, int64_t lead) {
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i)
      if (!finite(a[j * lead + i])) return false;
  return true;
}

inline char triangle_of(cublasFillMode_t u) { return u == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U'; }
inline char form_of(cublasOperation_t f) {
  return f == CUBLAS_OP_N ? 'N' : f == CUBLAS_OP_T ? 'T' : 'C';
}

template <class T>
struct Real {
  using type = T;
};
template <>
struct Real<cuComplex> {
  using type = float;
};
template <>
struct Real<cuDoubleComplex> {
  using type = double;
};
template <class T>
inline constexpr bool kComplex = !std::is_same_v<typename Real<T>::type, T>;

}  // namespace tenon::fake
