#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# What docs/libtorch.md lists as missing is missing, and the headers that it names exist.
#   libtorch.sh TENON SOURCE_DIR WORK_DIR
tenon=$1 root=$2 work=$3
failed=0
mkdir -p "$work"
cd "$root" || exit 1
compat=tenon/compat/libtorch
"$tenon" ops | sed -n '2,$s/[. ].*//p' | sort -u > "$work/operators"
grep -rh '' tenon/include runtime/include core/include jit/include distributed/include $compat jit/compat distributed/compat | sed 's|//.*||' | grep -oE '\b[A-Za-z_][A-Za-z0-9_]+\b' | sort -u > "$work/names"

# The second column of the tables: names of headers, of operators with or without the underscore of the in-place form.
awk '/^## / { take = $0 == "## What is missing"; next } take && /^\|/' docs/libtorch.md | cut -d'|' -f3 |
  grep -oE '`[^`]+`' | tr -d '`' | sed 's/.*:://' > "$work/missing"
while read -r name; do
  case $name in
    *\*) prefix=${name%\*} && grep -q "^$prefix" "$work/operators" ;;
    *) grep -qxF "$name" "$work/names" || grep -qxF "${name%_}" "$work/operators" ;;
  esac && { echo "docs/libtorch.md says that $name is missing"; failed=1; }
done < "$work/missing"

grep -oE '`<(torch|ATen|c10)/[^>]+>`' docs/libtorch.md | tr -d '`<>' | sort -u > "$work/headers"
while read -r header; do
  [ -f "$compat/$header" ] || [ -f "jit/compat/libtorch/$header" ] || [ -f "distributed/compat/libtorch/$header" ] ||
    { echo "the header $header does not exist"; failed=1; }
done < "$work/headers"
echo "$(wc -l < "$work/missing") missing names, $(wc -l < "$work/headers") headers"
[ -s "$work/missing" ] && [ -s "$work/headers" ] || failed=1
exit $failed
