# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Of build/tidy, configured for clang, which refuses some of g++'s flags. Only what the compiler reads is built there.
# A source alone takes about three seconds, nearly all for the headers that it includes. So ten with the same flags are
# read as one translation unit, in about five seconds. What is not seen then is left to --deep, where each is its own:
#   misc-unused-using-decls looks at the main file alone.
#   A source that lacks an include compiles after others that have it; the preset asan compiles each alone, too.
# The static analyzer takes two thirds of a source's time, for what the sanitizers see as well: --deep alone runs it.
dev_tidy() {
  local checks='-clang-analyzer-*' sources=10
  if [ "${1:-}" = --deep ]; then
    checks='' sources=1
    shift
  fi
  packages+=(clang-tidy)
  build tidy tenon_operators tenon_pointwise gen/onnx_proto/onnx/proto/model.pb.h
  [ $# -gt 0 ] || mapfile -t changed < <({
    git diff --name-only --diff-filter=d "$(git merge-base HEAD main 2>/dev/null || echo HEAD)"
    git ls-files --others --exclude-standard
  } | sort -u)
  [ $# -gt 0 ] || set -- "${changed[@]}"
  [ $# -gt 0 ] || { echo "tidy: nothing differs from main"; return 0; }
  # A line for each file: its name, and the compiler with its flags.
  sed -nE 's/^ *"command": "(.*)",$/\1/p; s/^ *"file": "(.*)",?$/\1/p' build/tidy/compile_commands.json |
    sed 's/\\\(["\\]\)/\1/g' | awk -v OFS='\t' 'NR % 2 {sub(/ -o [^ ]+/, ""); sub(/ -c [^ ]+$/, ""); flags = $0; next}
                                               !seen[$0]++ {print $0, flags}' >build/tidy/commands.tsv
  local units
  units=$(git ls-files --cached --others --exclude-standard -- "$@" | grep '\.cpp$' | sed "s|^|$PWD/|" |
    awk -F'\t' -v sources="$sources" '
      NR == FNR {flags[$1] = $2; next}
      !($1 in flags) {next}
      {unit = int((n[flags[$1]]++) / sources) SUBSEP flags[$1]}
      !(unit in files) {order[++units] = unit}
      {files[unit] = files[unit] " " $1}
      END {for (i = 1; i <= units; i++) print files[order[i]]}' build/tidy/commands.tsv -)
  [ -n "$units" ] || { echo "tidy: none of these is compiled"; return 0; }
  mkdir -p build/tidy/clean
  say "clang-tidy over $(wc -w <<<"$units") files"
  xargs -P "$jobs" -L 1 tools/dev/tidy_unit.sh "$checks" <<<"$units"
}
