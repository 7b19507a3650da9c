// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// LAPACK for the fake cuSOLVER and cuBLAS, and their work on the fake streams.
#pragma once

#include <cuComplex.h>
#include <dlfcn.h>
#include <library_types.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "control.h"

namespace tenon::fake {

// OpenBLAS takes a processor that is newer than itself for an old one.
inline void* lapack_library() {
  static void* const library = [] {
    setenv("OPENBLAS_CORETYPE", __builtin_cpu_supports("avx512f") ? "SkylakeX" : "Haswell", 0);
    void* found = dlopen("liblapacke.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!found) std::fprintf(stderr, "the fake cuSOLVER needs liblapacke.so.3\n"), std::abort();
    return found;
  }();
  return library;
}

// A routine by its name without the letter of its type, or null.
template <class F>
F lapack(char letter, const char* name) {
  char text[64];
  std::snprintf(text, sizeof text, "LAPACKE_%c%s", letter, name);
  return reinterpret_cast<F>(dlsym(lapack_library(), text));
}

// Runs when the stream does.
inline void enqueue(void* stream, std::function<void()> run) {
  tenon_fake_enqueue_owned(
      stream, [](void* p) { (*static_cast<std::function<void()>*>(p))(); },
      [](void* p) { delete static_cast<std::function<void()>*>(p); },
      new std::function<void()>(std::move(run)));
}

inline constexpr int kColumnMajor = 102;

template <class T>
inline constexpr char kLetter = 's';
template <>
inline constexpr char kLetter<double> = 'd';
template <>
inline constexpr char kLetter<cuComplex> = 'c';
template <>
inline constexpr char kLetter<cuDoubleComplex> = 'z';

// Calls f with a value of the type.
template <class F>
auto dispatch(cudaDataType_t type, F&& f) {
  switch (type) {
    case CUDA_R_64F:
      return f(double{});
    case CUDA_C_32F:
      return f(cuComplex{});
    case CUDA_C_64F:
      return f(cuDoubleComplex{});
    default:
      return f(float{});
  }
}

}  // namespace tenon::fake
