# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
target_link_libraries(fuzz_archives PRIVATE tenon_jit)
target_compile_definitions(fuzz_archives PRIVATE TENON_FUZZ_ARCHIVES="${PROJECT_SOURCE_DIR}/tests/jit/data")
