# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
if(TARGET tenon_onnx)
  target_link_libraries(fuzz_onnx PRIVATE tenon_onnx tenon_onnx_proto)
  target_include_directories(fuzz_onnx PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(fuzz_onnx PRIVATE TENON_FUZZ_MODELS="${PROJECT_SOURCE_DIR}/tests/onnx/data")
else()
  set_target_properties(fuzz_onnx PROPERTIES EXCLUDE_FROM_ALL ON)
  set_tests_properties(fuzz.onnx PROPERTIES DISABLED ON)
endif()
