#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# A program is built by one command with the options of tenon.pc, also after the installed tree has moved.
. "$(dirname "$0")/common.sh"
command -v pkg-config > /dev/null || { echo "skipped: no pkg-config"; exit 77; }
moved=$work/moved
rm -rf "$moved" "$work/pkg_config"
mkdir -p "$work/pkg_config"
cp -R "$prefix" "$moved"
at=$(dirname "$(find "$moved" -name tenon.pc)")
[ -f "$at/tenon.pc" ] || die "there is no tenon.pc"
export PKG_CONFIG_PATH="$at"
options() { pkg-config --cflags --libs "$@" | grep . || die "pkg-config $*: no options"; }
for word in $(options tenon); do
  case $word in
    -I* | -L*) case $(cd "${word#-?}" && pwd) in "$moved"/*) ;; *) die "tenon.pc names $word" ;; esac ;;
  esac
done
version=$(pkg-config --modversion tenon)
grep -q "set(PACKAGE_VERSION \"$version\")" "$moved"/lib*/cmake/Tenon/TenonConfigVersion.cmake "$moved"/lib*/*/cmake/Tenon/TenonConfigVersion.cmake \
  2> /dev/null || die "tenon.pc has version $version, CMake another"
# shellcheck disable=SC2046,SC2086
quietly "$cxx" -std=c++17 $flags "$here/app/app.cpp" -o "$work/pkg_config/app" $(options tenon) -Wl,-rpath,"$at/.."
"$work/pkg_config/app"
printf '#include <tenon/jit/pickle.h>\nint main() { return tenon::pickle_save(tenon::IValue(1)).empty(); }\n' > "$work/pkg_config/jit.cpp"
# shellcheck disable=SC2046,SC2086
quietly "$cxx" -std=c++17 $flags "$work/pkg_config/jit.cpp" -o "$work/pkg_config/jit" $(options tenon_jit) -Wl,-rpath,"$at/.."
"$work/pkg_config/jit" || die "pickle_save wrote nothing"
rm -rf "$moved"
echo "a program is built with the options of tenon.pc $version"
