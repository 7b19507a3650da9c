#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# A project that calls find_package(Torch) builds against the installed Tenon, as docs/libtorch.md says, and so does one
# source with the compiler alone.
. "$(dirname "$0")/common.sh"
page=$root/docs/libtorch.md
rm -rf "$work/libtorch"
mkdir -p "$work/libtorch"
sh "$root/tests/docs/block.sh" "$page" 1 program > "$work/libtorch/program.cpp"
sh "$root/tests/docs/block.sh" "$page" 1 output > "$work/libtorch/expected"
cat > "$work/libtorch/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(Ported LANGUAGES CXX)
find_package(Torch REQUIRED)
if(NOT EXISTS "${TORCH_LIBRARY}")
  message(FATAL_ERROR "TORCH_LIBRARY is '${TORCH_LIBRARY}'")
endif()
set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} ${TORCH_CXX_FLAGS}")
add_executable(ported program.cpp)
target_link_libraries(ported "${TORCH_LIBRARIES}")
END
cd "$work/libtorch"
configure . build "" -DTorch_DIR="$prefix/include/tenon/compat/libtorch"
quietly "$cmake" --build build
TENON_PLUGINS_DISABLE=cuda build/ported | diff -u expected -
lib=$(dirname "$(find "$prefix/" -name libtenon.so)")
# shellcheck disable=SC2086  # flags are words
quietly "$cxx" -std=c++17 $flags "-I$prefix/include/tenon/compat/libtorch" "-I$prefix/include" program.cpp \
  "-L$lib" "-Wl,-rpath,$lib" -ltenon -ltenon_core -o alone
TENON_PLUGINS_DISABLE=cuda ./alone | diff -u expected -
