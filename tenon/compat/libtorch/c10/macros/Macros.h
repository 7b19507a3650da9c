// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/runtime/export.h"

#define C10_UNUSED [[maybe_unused]]
#define C10_NODISCARD [[nodiscard]]
#define C10_LIKELY(e) (__builtin_expect(static_cast<bool>(e), 1))
#define C10_UNLIKELY(e) (__builtin_expect(static_cast<bool>(e), 0))
#define C10_API
#define C10_EXPORT __attribute__((visibility("default")))
#define C10_IMPORT C10_EXPORT
#define C10_HIDDEN __attribute__((visibility("hidden")))
#define C10_NOINLINE __attribute__((noinline))
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_RESTRICT __restrict
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_MACRO_EXPAND(args) args
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_UID __COUNTER__
#define C10_ANONYMOUS_VARIABLE(name) C10_CONCATENATE(name, C10_UID)
#define C10_FALLTHROUGH [[fallthrough]]
#if defined(__CUDACC__)
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#else
#define C10_HOST_DEVICE
#define C10_DEVICE
#define C10_HOST
#endif
#define TORCH_API
