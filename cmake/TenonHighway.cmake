# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# tenon_uses_highway(TARGET): Highway's NEON functions say that they need the crypto extension, although none of those that
# are used does, and are inlined only where their callers say the same.
function(tenon_uses_highway target)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    target_compile_options(${target} PRIVATE -march=armv8-a+crypto)
  endif()
endfunction()
