# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# For the plugins of NVIDIA GPUs: finds the CUDA toolkit, enables its compiler in the including folder and sets
# TENON_CUDA_FOUND; else the folder's plugin is left out, with one line that says why.
option(TENON_CUDA "Build the CUDA plugins where the CUDA toolkit is installed" ON)
set(TENON_CUDA_ARCHS 90-real CACHE STRING "Architectures to compile for, as CMAKE_CUDA_ARCHITECTURES has them")
get_filename_component(_tenon_cuda_folder "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
set(TENON_CUDA_FOUND OFF)
if(NOT TENON_CUDA)
  message(STATUS "${_tenon_cuda_folder} is left out: TENON_CUDA is off")
  return()
endif()
set(CMAKE_CUDA_ARCHITECTURES ${TENON_CUDA_ARCHS})
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
find_package(CUDAToolkit 12 QUIET)
if(CUDAToolkit_FOUND)
  # Not the stub-only libraries of a runtime package.
  set(CMAKE_CUDA_COMPILER "${CUDAToolkit_NVCC_EXECUTABLE}")
endif()
if(NOT CUDAToolkit_FOUND OR NOT CMAKE_CUDA_COMPILER OR NOT TARGET CUDA::cublasLt)
  message(STATUS "${_tenon_cuda_folder} is left out: no CUDA toolkit of version 12 or newer with nvcc and cuBLAS was found "
                 "(on PATH, or in CUDAToolkit_ROOT)")
  return()
endif()
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
enable_language(CUDA)
set(CMAKE_CUDA_FLAGS_RELEASE "-O1") # of launches on the host; kernels are optimized by ptxas in any case
set(TENON_CUDA_FOUND ON)

# Of a plugin's target: the folders of headers, and warnings as errors.
function(tenon_cuda_options target)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(${target} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>
    "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;--extended-lambda;--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra,-Werror>")
endfunction()
