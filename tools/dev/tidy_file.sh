#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# tidy_file.sh CHECKS FILE: clang-tidy over a source of build/tidy, unless it was clean before with the same checks and
# the same text of it and of all that it includes, comments too.
set -euo pipefail
checks=$1 file=$2
command=$(awk -v file="$file" -F'\t' '$1 == file {print $2; exit}' build/tidy/commands.tsv)
text() { (cd build/tidy && eval "${command/ -c / -E -C }"); }
key=$({ cat .clang-tidy "$(command -v clang-tidy)"; echo "$checks"; text; } | sha256sum | cut -d' ' -f1)
[ ! -e "build/tidy/clean/$key" ] || exit 0
clang-tidy -p build/tidy --quiet --checks="$checks" "$file" 2> >(grep -v ' warnings\? generated\.$' >&2) &&
  touch "build/tidy/clean/$key"
