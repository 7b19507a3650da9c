# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Its malloc, open and similar functions replace the C library's for every library of the process.
set_target_properties(fuzz_faults PROPERTIES ENABLE_EXPORTS ON)
target_link_libraries(fuzz_faults PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
target_compile_definitions(fuzz_faults PRIVATE TENON_TEST_PLUGINS="$<TARGET_FILE_DIR:tenon_cpu>")
if(TENON_SANITIZE) # a sanitizer's malloc is its own
  set_tests_properties(fuzz.faults PROPERTIES DISABLED TRUE)
endif()
