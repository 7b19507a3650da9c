# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Toolchain for 64-bit ARM on Debian: its cross compiler, the libraries of TENON_SYSROOT, programs through an emulator.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(TENON_SYSROOT "" CACHE PATH "Folder with the packages of the target (./dev arm makes it)")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TENON_SYSROOT)
set(CMAKE_SYSROOT "${TENON_SYSROOT}")
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L "${TENON_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(TENON_MOLD "" CACHE FILEPATH "" FORCE)  # the cross compiler does not find it
