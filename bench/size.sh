#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# size.sh [BUILD]: what a program that trains on the CPU ships, in bytes, stripped; for bench/results/DATE-size.md.
# The libraries below the CPU plugin are the system's, as installed.
set -euo pipefail
cd "$(dirname "$0")/.."
build="${1:-build/release}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grouped() { sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta' <<<"$1"; }
row() { echo "| $1 | $(grouped "$2") |"; }

echo "# What a program ships"
echo
echo "$(uname -m), $(g++ --version | head -1). Commit $(git describe --always --dirty), $(date -u +%F). Stripped; made by" \
  "\`bench/size.sh\`."
echo
echo "| library | bytes |"
echo "|---|---:|"
total=0
for library in libtenon_core libtenon libtenon_cpu libtenon_sparse; do
  [ -e "$build/lib/$library.so" ] || { echo "size.sh: $build/lib/$library.so is not built" >&2; exit 1; }
  strip --strip-unneeded -o "$work/$library.so" "$(readlink -f "$build/lib/$library.so")"
  bytes=$(stat -c %s "$work/$library.so")
  row "$library" "$bytes"
  [ "$library" = libtenon_sparse ] || total=$((total + bytes))
done
row "core, tenon and cpu" "$total"
for library in libdnnl libsleef; do
  file=$(ldd "$build/lib/libtenon_cpu.so" | awk -v name="$library" 'index($1, name) == 1 {print $3}')
  row "$library (system)" "$(stat -L -c %s "$file")"
done
