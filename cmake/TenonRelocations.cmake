# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
#
# tenon_pack_relocations(TARGET): what a library's tables relocate is written as bit masks, which glibc reads from 2.36 on.
# It makes libtenon_core a quarter smaller and opens it sooner. Without such a glibc, or binutils of 2.38, nothing changes.
# ld.bfd links it, as older versions of mold leave out the version by which glibc knows such a file.
include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)
check_cxx_source_compiles("
  #include <features.h>
  #if !__GLIBC_PREREQ(2, 36)
  #error
  #endif
  int main() {}" TENON_GLIBC_READS_RELR)
check_linker_flag(CXX "-fuse-ld=bfd;-Wl,-z,pack-relative-relocs" TENON_BFD_WRITES_RELR)

# Binutils of 2.40 writes them for x86 alone, and only warns elsewhere.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i[3-6]86")
  set(TENON_BFD_WRITES_RELR OFF)
endif()

function(tenon_pack_relocations target)
  if(TENON_GLIBC_READS_RELR AND TENON_BFD_WRITES_RELR)
    target_link_options(${target} PRIVATE -fuse-ld=bfd LINKER:-z,pack-relative-relocs)
  endif()
endfunction()
