#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Called by ./dev overhead: what a small call costs, in instructions (callgrind) and heap blocks, against limits.tsv.
# Counts do not depend on the machine's speed, only on the compiler, so 5 % allows for another patch release.
#   bench/overhead.sh BUILD [--update] [ROW ...]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 update="" slack=5 table=bench/limits.tsv
shift
[ "${1:-}" != --update ] || { update=yes; shift; }
rows="${*:-$(grep -v '^#' "$table" | cut -f1)}"
counted=$(mktemp)
trap 'rm -f "$counted"' EXIT
bench/run.sh --build "$build" --ours --count "$rows" |
  sed -E 's/.*"row":"([^"]*)".*"instr":([0-9]+),"blocks":([0-9.]+|null).*/\1\t\2\t\3/' >"$counted"

# A row that did not run has no counts; it must not pass as one with small counts.
awk -F'\t' -v slack="$slack" -v update="$update" -v rows="$rows" '
  FILENAME == ARGV[1] { if ($0 !~ /^#/) { limit[$1] = $2; heap[$1] = $3 } next }
  { instr[$1] = $2; blocks[$1] = $3 }
  END {
    printf "%-20s %12s %12s %8s %8s\n", "row", "instructions", "table", "blocks", "table"
    n = split(rows, row, /[ \n]+/)
    for (i = 1; i <= n; i++) {
      r = row[i]; verdict = ""
      if (!(r in instr) || instr[r] < 1 || blocks[r] !~ /^[0-9.]+$/) verdict = "could not be counted"
      else if (update) verdict = ""
      else if (!(r in limit)) verdict = "has no limit"
      else if (instr[r] > limit[r] * (1 + slack / 100)) verdict = "too many instructions"
      else if (blocks[r] > heap[r]) verdict = "too many heap blocks"
      else if (instr[r] < limit[r] * (1 - slack / 100)) note[r] = "better: ./dev overhead --update"
      printf "%-20s %12d %12d %8.2f %8.2f  %s\n", r, instr[r], limit[r], blocks[r], heap[r], verdict note[r]
      if (verdict) bad++
    }
    exit bad > 0
  }' "$table" "$counted" || { echo "overhead: refused" >&2; exit 1; }

[ -n "$update" ] || exit 0
awk -F'\t' -v OFS='\t' 'FILENAME == ARGV[1] { instr[$1] = $2; blocks[$1] = $3; next }
  ($1 in instr) { $2 = instr[$1]; $3 = blocks[$1]; delete instr[$1] }
  { print }
  END { for (r in instr) print r, instr[r], blocks[r] }' "$counted" "$table" >"$table.new"
mv "$table.new" "$table"
echo "overhead: $table is up to date"
