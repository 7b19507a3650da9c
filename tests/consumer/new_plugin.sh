#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# What `tenon new-plugin` writes builds, opens and computes; what is there is not overwritten.
. "$(dirname "$0")/common.sh"
rm -rf "$work/fresh"
"$tenon" new-plugin fresh --dir "$work/fresh" > "$log"
grep -qF -- "-DCMAKE_PREFIX_PATH=$prefix" "$log" || die "$(cat "$log")"
cp "$work/fresh/fresh.cpp" "$work/fresh.before"
rm "$work/fresh/README.md"
if "$tenon" new-plugin fresh --dir "$work/fresh" > "$log" 2>&1; then die "it wrote over a project"; fi
grep -q 'exists already and is left unchanged' "$log" || die "$(cat "$log")"
cmp "$work/fresh/fresh.cpp" "$work/fresh.before"
[ ! -e "$work/fresh/README.md" ] || die "it wrote a part of a project"
configure "$work/fresh" "$work/fresh/build" "$sdk" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror $flags"
quietly "$cmake" --build "$work/fresh/build"
"$tenon" inspect "$work/fresh/build/lib/libtenon_fresh.so"
export TENON_ADD_PLUGIN_PATH="$work/fresh/build/lib"
"$tenon" plugins --load > "$log"
grep -q '^fresh *opened *fresh *0.1.0 *1 ' "$log" || die "$(cat "$log")"
"$tenon" why relu fresh float32 | grep -q 'native *yes *plugin fresh 0.1.0' || die "relu has no kernel"
"$work/app/step" fresh
