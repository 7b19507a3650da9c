#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Every header of the ABI alone, as C11 and as C++17, with each compiler that is installed.
#   headers.sh INCLUDE_DIR HEADER...
include=$1
shift
failed=0
tried=0
for header in "$@"; do
  for compiler in gcc clang g++ clang++; do
    command -v "$compiler" > /dev/null || continue
    case $compiler in
      *++) options="-std=c++17 -x c++" ;;
      *) options="-std=c11 -x c" ;;
    esac
    tried=$((tried + 1))
    # shellcheck disable=SC2086
    echo "#include \"$header\"" |
      $compiler $options -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$include" - || {
      echo "$header fails with $compiler $options" >&2
      failed=1
    }
  done
done
echo "$tried compilations"
[ "$tried" -gt 0 ] && exit $failed
