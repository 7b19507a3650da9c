#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
#   run.sh CMAKE BUILD_DIR APP_SOURCE WORK_DIR CXX CC [SANITIZERS]
set -e
cmake=$1 build=$2 source=$3 work=$4 cxx=$5 cc=$6 sanitize=$7
rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/prefix" > "$work/install.log" || { cat "$work/install.log"; exit 1; }
flags=
[ -z "$sanitize" ] || flags="-fsanitize=$sanitize"
"$cmake" -S "$source" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_C_FLAGS="$flags" > "$work/configure.log" ||
  { cat "$work/configure.log"; exit 1; }
"$cmake" --build "$work/build"
"$work/build/app"
TENON_ADD_PLUGIN_PATH="$work/build/lib" "$work/prefix/bin/tenon" plugins --load | tee "$work/plugins.txt"
grep -q '^visitor *opened' "$work/plugins.txt"
grep -q '^cpu *opened' "$work/plugins.txt"
