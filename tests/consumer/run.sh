#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
#   run.sh CMAKE BUILD_DIR WORK_DIR CXX [SANITIZERS]
# Installs a build, and its SDK alone beside it; builds a program against the first and a plugin against the second.
set -e
cmake=$1 build=$2 work=$3 cxx=$4 sanitize=$5
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$work"
mkdir -p "$work"
flags=
[ -z "$sanitize" ] || flags="-fsanitize=$sanitize"
die() { echo "consumer: $*"; exit 1; }
quietly() { "$@" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }
configure() { # FOLDER PREFIX
  quietly "$cmake" -S "$here/$1" -B "$work/$1" -DCMAKE_PREFIX_PATH="$2" -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="$flags"
}

quietly "$cmake" --install "$build" --prefix "$work/prefix"
configure app "$work/prefix"
quietly "$cmake" --build "$work/app"
"$work/app/app"

quietly "$cmake" --install "$build" --component sdk --prefix "$work/sdk"
[ -z "$(find "$work/sdk" -name '*.so*')" ] || die "the component sdk brings libraries"
configure plugin "$work/sdk"
export CCACHE_DISABLE=1
# CPU time, which other processes do not stretch; a second is what it may take, two where the machine is slow.
(quietly "$cmake" --build "$work/plugin" --target tenon_visitor; times > "$work/times")
spent=$(tail -n 1 "$work/times")
echo "a plugin of one kernel takes $spent (user, system) to compile, link and describe"
case $spent in 0m[01].*) ;; *) [ -n "$sanitize" ] || die "that is too long" ;; esac
[ -f "$work/plugin/lib/libtenon_visitor.json" ] || die "$(cat "$work/log")"
if "$cmake" --build "$work/plugin" --target tenon_thread_guard > "$work/log" 2>&1; then die "a thread's destructor passed"; fi
grep -q 'thread_local object with a destructor' "$work/log" || die "$(cat "$work/log")"

# As it is built, then as it is installed, where it was stripped: each manifest has the hash of its own library.
quietly "$cmake" --install "$work/plugin" --strip --prefix "$work/installed"
cmp -s "$work/plugin/lib/libtenon_visitor.so" "$work/installed/lib/tenon/libtenon_visitor.so" && die "nothing was stripped"
for folder in "$work/plugin/lib" "$work/installed/lib/tenon"; do
  hash=$(sha256sum "$folder/libtenon_visitor.so")
  grep -q "\"sha256\": \"${hash%% *}\"" "$folder/libtenon_visitor.json" || die "another hash in $folder"
  TENON_ADD_PLUGIN_PATH="$folder" "$work/prefix/bin/tenon" plugins --load | tee "$work/plugins.txt"
  grep -q '^visitor *opened *cpu *1.0 *1 ' "$work/plugins.txt"
  grep -q '^cpu *opened' "$work/plugins.txt"
done
