#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# tidy_unit.sh CHECKS FILE..: clang-tidy over sources of build/tidy with the same flags, as one translation unit, unless
# it was clean before with the same checks and the same text of it and of all that it includes, comments too. Sources
# that do not compile after the others (anonymous names clash, or they are Highway's, one per target) are read alone.
set -euo pipefail
checks=$1
shift
flags=$(awk -v file="$1" -F'\t' '$1 == file {print $2; exit}' build/tidy/commands.tsv)
unit=$1
if [ $# -gt 1 ]; then
  mkdir -p build/tidy/units
  unit=$PWD/build/tidy/units/$(sha256sum <<<"$*" | cut -d' ' -f1).cpp
  printf '#include "%s"  // NOLINT: that is what a unit is\n' "$@" >"$unit"
fi
in_build() { (cd build/tidy && eval "$*"); }
text() { cat .clang-tidy "$(command -v clang-tidy)"; echo "$checks"; in_build "$flags" -E -C "$unit"; }
key=$({ text 2>/dev/null || true; } | sha256sum | cut -d' ' -f1)  # clang-tidy reports errors
clean=build/tidy/clean/$key clash=build/tidy/clean/$key.clash
[ ! -e "$clean" ] || exit 0
if [ ! -e "$clash" ]; then
  if found=$(in_build clang-tidy --quiet "--checks='$checks'" "$unit" -- "${flags#* }" -ferror-limit=0 2>&1); then
    touch "$clean"
    exit 0
  fi
  if [ $# = 1 ] || ! grep -q '\[clang-diagnostic-error\]$' <<<"$found"; then
    grep -vE '^[0-9]+ warnings?( and [0-9]+ errors?)? generated\.$' <<<"$found"
    exit 1
  fi
  sed -nE 's/^([^:]+):[0-9]+:[0-9]+: error: .* \[clang-diagnostic-error\]$/\1/p' <<<"$found" | sort -u >"$clash"
fi
mapfile -t together < <(printf '%s\n' "$@" | grep -vxFf "$clash")
mapfile -t alone < <(printf '%s\n' "$@" | grep -xFf "$clash")
if [ ${#together[@]} = 0 ] || [ ${#alone[@]} = 0 ]; then
  together=() alone=("$@")
fi
status=0
[ ${#together[@]} = 0 ] || "$0" "$checks" "${together[@]}" || status=1
for file in "${alone[@]}"; do
  "$0" "$checks" "$file" || status=1
done
exit $status
