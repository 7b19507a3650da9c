#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# A project that calls find_package(Torch) builds against the installed Tenon, as docs/libtorch.md says, and so does one
# source with the compiler alone. The library of distributed programs is linked to the program that uses it alone.
. "$(dirname "$0")/common.sh"
page=$root/docs/libtorch.md
rm -rf "$work/libtorch"
mkdir -p "$work/libtorch"
sh "$root/tests/docs/block.sh" "$page" 1 program > "$work/libtorch/program.cpp"
sh "$root/tests/docs/block.sh" "$page" 1 output > "$work/libtorch/expected"
cat > "$work/libtorch/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(Ported LANGUAGES CXX)
find_package(Torch 2.3 REQUIRED)
if(Torch_VERSION VERSION_LESS 2.3)
  message(FATAL_ERROR "Torch_VERSION is '${Torch_VERSION}'")
endif()
if(NOT EXISTS "${TORCH_LIBRARY}")
  message(FATAL_ERROR "TORCH_LIBRARY is '${TORCH_LIBRARY}'")
endif()
set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} ${TORCH_CXX_FLAGS}")
add_executable(ported program.cpp)
target_link_libraries(ported "${TORCH_LIBRARIES}")
add_executable(ranks ranks.cpp)
target_link_libraries(ranks "${TORCH_LIBRARIES}")
find_package(Torch 99 QUIET)
if(Torch_FOUND)
  message(FATAL_ERROR "a libtorch that does not exist was found")
endif()
END
cp "$root/tests/libtorch/distributed.cpp" "$work/libtorch/ranks.cpp"
cd "$work/libtorch"
configure . build "" -DTorch_DIR="$prefix/include/tenon/compat/libtorch"
quietly "$cmake" --build build
TENON_PLUGINS_DISABLE=cuda build/ported | diff -u expected -
[ -z "$(find "$prefix/" -name 'libtenon_gloo.so')" ] || TENON_PLUGINS_DISABLE=cuda build/ranks
! readelf -d build/ported | grep -q tenon_distributed || die "a program that is not distributed links libtenon_distributed"
readelf -d build/ranks | grep -q tenon_distributed || die "the two ranks do not link libtenon_distributed"
lib=$(dirname "$(find "$prefix/" -name libtenon.so)")
# shellcheck disable=SC2086  # flags are words
quietly "$cxx" -std=c++17 $flags "-I$prefix/include/tenon/compat/libtorch" "-I$prefix/include" program.cpp \
  "-L$lib" "-Wl,-rpath,$lib" -ltenon -ltenon_core -o alone
TENON_PLUGINS_DISABLE=cuda ./alone | diff -u expected -
