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
  # libtenon_jit, which loads saved programs, and libtenon_distributed are needed by those alone that use them.
  target_link_libraries(torch INTERFACE Tenon::tenon -Wl,--push-state,--as-needed Tenon::jit Tenon::distributed
                        -Wl,--pop-state)
  target_include_directories(torch INTERFACE "${CMAKE_CURRENT_LIST_DIR}")
  target_compile_features(torch INTERFACE cxx_std_17)
endif()
set(Torch_FOUND TRUE)
set(TORCH_FOUND TRUE)
set(TORCH_LIBRARIES torch)
set(TORCH_INCLUDE_DIRS "${CMAKE_CURRENT_LIST_DIR}")
set(TORCH_CXX_FLAGS "")
# The file of the library: projects take the folder for their RPATH from it.
get_target_property(TORCH_LIBRARY Tenon::tenon LOCATION)
get_filename_component(TORCH_INSTALL_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
