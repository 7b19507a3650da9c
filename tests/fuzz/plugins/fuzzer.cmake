# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
add_dependencies(fuzz_plugins bad_plugins tenon_cpu)
target_sources(fuzz_plugins PRIVATE ${CMAKE_SOURCE_DIR}/plugins/digest.cpp)
