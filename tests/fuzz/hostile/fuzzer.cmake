# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
target_link_libraries(fuzz_hostile PRIVATE tenon_conformance)
target_compile_definitions(fuzz_hostile PRIVATE TENON_FUZZ_CALLS="${PROJECT_SOURCE_DIR}/tests/check")
if(TENON_SANITIZE) # their shadow memory does not fit the limit, without which a hostile size is memory that is there
  set_tests_properties(fuzz.hostile PROPERTIES DISABLED TRUE)
endif()
