# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
target_link_libraries(fuzz_calls PRIVATE tenon_conformance ${CMAKE_DL_LIBS})
target_compile_definitions(fuzz_calls PRIVATE TENON_ORACLE_DIR="${CMAKE_SOURCE_DIR}/tests/oracle"
                                              TENON_CALLS_DIR="${CMAKE_SOURCE_DIR}/tests/check/calls")
add_dependencies(fuzz_calls tenon_cpu tenon_ref)

# libtorch's side, for TENON_FUZZ_TORCH: not linked into the program, whose names it would meet.
include(TenonTorch)
if(TARGET tenon_torch AND TENON_TORCH_MAJOR GREATER_EQUAL 2)
  add_library(fuzz_calls_torch MODULE ${folder}/torch/module.cpp)
  target_include_directories(fuzz_calls_torch PRIVATE ${CMAKE_SOURCE_DIR}/abi/include)
  target_compile_options(fuzz_calls_torch PRIVATE -w)
  target_link_libraries(fuzz_calls_torch PRIVATE tenon_torch)
endif()
