#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# What is wrong with the words of the documents, and the settings that docs/settings.md leaves out. Nothing if all is well.
cd "$(dirname "$0")/../.." || exit 1
git ls-files README.md 'docs/*.md' | xargs awk -f tools/lint/words.awk tools/lint/words.budget
git grep -hoE '(setting|setting_on|heed)\("[A-Z0-9_]+"' -- core plugins sdk tenon 'plugin_*' | sed 's/.*"\(.*\)"/TENON_\1/' |
  sort -u | while read -r name; do
    grep -q "\`$name\`" docs/settings.md || echo "docs/settings.md: $name is not there"
  done
