#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Installs a build, and its SDK alone in another folder; builds programs against the first. The other scripts use both.
mkdir -p "$3"
. "$(dirname "$0")/common.sh"
rm -rf "$prefix" "$sdk" "$work/app"
quietly "$cmake" --install "$build" --prefix "$prefix"
quietly "$cmake" --install "$build" --component sdk --prefix "$sdk"
[ -z "$(find "$sdk" -name '*.so*')" ] || die "the component sdk installs libraries"
grep -q '^ *// [a-z]' "$prefix/include/tenon/tensor_methods.gen.h" || die "the installed methods have no docs"
configure "$here/app" "$work/app" "$prefix"
quietly "$cmake" --build "$work/app"
"$work/app/app"
