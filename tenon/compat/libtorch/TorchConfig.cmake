# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# find_package(Torch) for programs written for libtorch: the target `torch` and TORCH_LIBRARIES are Tenon.
#   cmake -DTorch_DIR=PREFIX/include/tenon/compat/libtorch ...
if(NOT TARGET Tenon::tenon)
  include(CMakeFindDependencyMacro)
  find_dependency(Tenon PATHS "${CMAKE_CURRENT_LIST_DIR}/../../../..")
endif()
if(NOT TARGET torch)
  add_library(torch INTERFACE IMPORTED GLOBAL)
  target_link_libraries(torch INTERFACE Tenon::tenon)
  target_include_directories(torch INTERFACE "${CMAKE_CURRENT_LIST_DIR}")
  target_compile_features(torch INTERFACE cxx_std_17)
endif()
set(Torch_FOUND TRUE)
set(TORCH_FOUND TRUE)
set(TORCH_LIBRARIES torch)
set(TORCH_INCLUDE_DIRS "${CMAKE_CURRENT_LIST_DIR}")
set(TORCH_CXX_FLAGS "")
