#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# figures.sh [--check]: writes the table between the two marks of README.md from the newest files of bench/results.
# --check changes nothing and shows how README.md differs.
set -euo pipefail
cd "$(dirname "$0")/../.."
newest() { find bench/results -name "????-??-??-$1.md" | sort | tail -1; }

render() {
  local cpu size
  cpu=$(newest cpu)
  size=$(newest size)
  grep -q '^<!-- figures: ' README.md && grep -q '^<!-- end of figures -->$' README.md ||
    { echo "README.md has no marks for the figures" >&2; return 1; }
  local table
  table=$(awk -f tools/readme/figures.awk tools/readme/figures.txt "$cpu" "$size") || return 1
  TABLE="$table" SOURCES="From [$(basename "$cpu")]($cpu)
and [$(basename "$size")]($size)." awk '
    /^<!-- end of figures -->$/ { inside = 0 }
    !inside
    /^<!-- figures: / { inside = 1; print ENVIRON["SOURCES"]; print ""; print ENVIRON["TABLE"] }' README.md
}

new=$(mktemp)
trap 'rm -f "$new"' EXIT
render >"$new"
if [ "${1:-}" = --check ]; then
  diff -U 0 --label README.md --label 'bench/results' README.md "$new"
else
  cat "$new" >README.md
fi
