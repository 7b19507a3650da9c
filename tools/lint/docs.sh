#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Files that the documents name and the tree does not have, and settings that docs/settings.md leaves out. Nothing if all
# is well.
cd "$(dirname "$0")/../.." || exit 1
# Paths in `code` from the root or from an include folder. What a build writes is not looked for.
# shellcheck disable=SC2016
git ls-files README.md 'docs/*.md' | xargs grep -noE '`[a-z_]+(/[A-Za-z0-9_.-]+)+/?`' | tr -d '`' |
  grep -vE ':(build|share|tenon/sdk/ops)/' | while IFS=: read -r file line path; do
    for root in . abi/include runtime/include core/include plugins/include sdk/include tenon/include jit/include distributed/include tenon/compat/libtorch jit/compat/libtorch distributed/compat/libtorch; do
      [ -e "$root/$path" ] && continue 2
    done
    echo "$file:$line: $path is not there"
  done
git grep -hoE '([a-z_]*setting[a-z_]*|heed)\("[A-Z0-9_]+"' -- runtime core plugins sdk tenon 'plugin_*' | sed 's/.*"\(.*\)"/TENON_\1/' |
  sort -u | while read -r name; do
    grep -q "\`$name\`" docs/settings.md || echo "docs/settings.md: $name is not there"
  done
