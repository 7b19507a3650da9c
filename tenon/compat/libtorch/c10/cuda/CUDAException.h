// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Checks of calls of the CUDA runtime. The program brings the runtime's header.
#pragma once

#include <c10/util/Exception.h>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

#define C10_CUDA_CHECK(call)                                                                \
  do {                                                                                      \
    const cudaError_t torch_status = (call);                                                \
    TORCH_CHECK(torch_status == cudaSuccess, #call ": ", cudaGetErrorString(torch_status)); \
  } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define AT_CUDA_CHECK(call) C10_CUDA_CHECK(call)
