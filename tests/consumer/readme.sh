#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# README.md's program builds with README.md's CMake lines. It runs from a folder with the libraries beside it, and on
# another device as soon as two files are put there.
. "$(dirname "$0")/common.sh"
unset TENON_PLUGIN_PATH TENON_ADD_PLUGIN_PATH
app=$work/readme shipped=$work/shipped
rm -rf "$app" "$shipped"
mkdir -p "$app" "$shipped/tenon"
sh "$root/tests/docs/block.sh" "$root/README.md" 1 > "$app/app.cpp"
awk '/^```/ { take = $0 == "```cmake"; next } take' "$root/README.md" > "$app/CMakeLists.txt"
[ -s "$app/app.cpp" ] && [ -s "$app/CMakeLists.txt" ] || die "README.md has no program or no CMake lines"
configure "$app" "$app/build" "$prefix" -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON '-DCMAKE_INSTALL_RPATH=$ORIGIN'
quietly "$cmake" --build "$app/build"

cp "$app/build/app" "$prefix"/lib*/libtenon.so.0 "$prefix"/lib*/libtenon_core.so.0 "$shipped"
cp "$prefix"/lib*/tenon/libtenon_cpu.* "$shipped/tenon"
quietly "$shipped/app"
if "$shipped/app" ref > "$log" 2>&1; then die "there is a device ref, and no plugin for it"; fi
grep -q "unknown device type 'ref'; loaded: cpu; its backend is not loaded: looked for libtenon_ref.so in .*/shipped/tenon" "$log" ||
  die "$(cat "$log")"
cp "$build/lib/libtenon_ref.so" "$build/lib/libtenon_ref.json" "$shipped/tenon"
quietly "$shipped/app" ref
echo "the program of README.md runs, and on a device that was added to it"
