# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
target_link_libraries(fuzz_hostile PRIVATE tenon_conformance)
target_compile_definitions(fuzz_hostile PRIVATE TENON_FUZZ_CALLS="${PROJECT_SOURCE_DIR}/tests/check")
# Where there is no memory, the address sanitizer shall say so as malloc does.
set_tests_properties(fuzz.hostile PROPERTIES ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1:alloc_dealloc_mismatch=0:detect_leaks=0")
