#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# prefixes.sh PREFIXES_AWK: five names of a folder may share a prefix, six may not; a header and its source are one name.
awk=$1
expected="src/deep: 6 names begin with host_
.: 7 names begin with x2_"
found=$({
  for n in a b c d e; do echo "src/host_$n.cpp"; done
  printf '%s\n' src/host_a.h src/host_notes.md src/hostile.cpp other/host_f.cpp
  for n in a b c d e f; do echo "src/deep/host_$n.cu"; done
  for n in a b_b c_c d e f g; do echo "x2_$n.h"; done
} | awk -f "$awk")
[ "$found" = "$expected" ] || { printf 'expected:\n%s\nfound:\n%s\n' "$expected" "$found"; exit 1; }
