#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# words.sh [--renew]: words that documents (words.budget) or sources (code_words.budget) have too often, and budgets that
# are too high; nothing if all is well. --renew writes the counts of today into both budgets, and prints which rise.
cd "$(dirname "$0")/../.." || exit 1
documents() { git ls-files README.md 'docs/*.md'; }
sources() {
  git ls-files '*.h' '*.c' '*.cpp' '*.cu' '*.cuh' '*.ops' '*.sh' '*.cmake' '*CMakeLists.txt' ':!build' ':!tests/golden'
}
# count FILES BUDGET [AWK_OPTION..]: all files in one process, as their counts are added up
count() {
  files=$1 budget=$2
  shift 2
  # shellcheck disable=SC2046
  awk "$@" -f tools/lint/words.awk "$budget" $("$files")
}
for pair in documents:words sources:code_words; do
  budget=tools/lint/${pair#*:}.budget
  if [ "$1" != --renew ]; then
    count "${pair%:*}" "$budget"
    continue
  fi
  count "${pair%:*}" "$budget" -v renew=1 > "$budget.new" && mv "$budget.new" "$budget"
done
