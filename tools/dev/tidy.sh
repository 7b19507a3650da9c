# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Of build/tidy, configured for clang, which refuses some of g++'s flags. Only what the compiler reads is built there.
# The static analyzer takes two thirds of the time, for what the sanitizers see as well: it runs with --deep alone.
dev_tidy() {
  local checks='-clang-analyzer-*'
  if [ "${1:-}" = --deep ]; then
    checks=''
    shift
  fi
  packages+=(clang-tidy)
  build tidy tenon_operators tenon_pointwise
  [ $# -gt 0 ] || mapfile -t changed < <({ git diff --name-only --diff-filter=d "$(git merge-base HEAD main 2>/dev/null || echo HEAD)"
    git ls-files --others --exclude-standard; } | sort -u)
  [ $# -gt 0 ] || set -- "${changed[@]}"
  [ $# -gt 0 ] || { echo "tidy: nothing differs from main"; return 0; }
  # A line for each file: its name, and the command that prints what the compiler reads.
  sed -nE 's/^ *"command": "(.*)",$/\1/p; s/^ *"file": "(.*)",?$/\1/p' build/tidy/compile_commands.json |
    sed 's/\\\(["\\]\)/\1/g' | awk -v OFS='\t' 'NR % 2 {sub(/ -o [^ ]+/, ""); command = $0; next} {print $0, command}' \
    >build/tidy/commands.tsv
  local files
  files=$(git ls-files --cached --others --exclude-standard -- "$@" | grep '\.cpp$' | sed "s|^|$PWD/|" |
    grep -xFf <(cut -f1 build/tidy/commands.tsv) || true)
  [ -n "$files" ] || { echo "tidy: none of these is compiled"; return 0; }
  mkdir -p build/tidy/clean
  say "clang-tidy over $(wc -l <<<"$files") files"
  xargs -P "$jobs" -n 1 tools/dev/tidy_file.sh "$checks" <<<"$files"
}
