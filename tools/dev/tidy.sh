# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Of build/tidy, configured for clang, which refuses some of g++'s flags. Only what the compiler reads is built there.
dev_tidy() {
  packages+=(clang-tidy)
  build tidy tenon_operators tenon_pointwise
  [ $# -gt 0 ] || mapfile -t changed < <({ git diff --name-only --diff-filter=d "$(git merge-base HEAD main 2>/dev/null || echo HEAD)"
    git ls-files --others --exclude-standard; } | sort -u)
  [ $# -gt 0 ] || set -- "${changed[@]}"
  [ $# -gt 0 ] || { echo "tidy: nothing differs from main"; return 0; }
  local files
  files=$(git ls-files --cached --others --exclude-standard -- "$@" | grep '\.cpp$' | sed "s|^|$PWD/|" |
    grep -xFf <(sed -n 's/^ *"file": "\(.*\)",*$/\1/p' build/tidy/compile_commands.json) || true)
  [ -n "$files" ] || { echo "tidy: none of these is compiled"; return 0; }
  say "clang-tidy over $(wc -l <<<"$files") files"
  xargs -P "$jobs" -n 1 clang-tidy -p build/tidy --quiet <<<"$files"
}
