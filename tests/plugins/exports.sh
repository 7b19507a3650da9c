#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Rule 1 of abi/RULES.md: a plugin exports its entry alone, imports no symbol of Tenon and links no library of Tenon.
#   exports.sh FOLDER...      checks every libtenon_NAME.so that has a manifest next to it
failed=0
for manifest in $(for folder in "$@"; do ls "$folder"/libtenon_*.json 2> /dev/null; done); do
  library=${manifest%.json}.so
  exported=$(nm -D --defined-only "$library" | sed 's/.* //' | grep -v '^_init$\|^_fini$' | sort | tr '\n' ' ')
  imported=$(nm -D --undefined-only "$library" | grep -E 'tenon|[[:space:]]tn_')
  needed=$(readelf -d "$library" | grep NEEDED | grep libtenon)
  unique=$(readelf --dyn-syms -W "$library" | grep UNIQUE)
  [ "$exported" = "tenon_plugin_v1 " ] || { echo "$library exports: $exported"; failed=1; }
  [ -z "$imported" ] || { echo "$library imports: $imported"; failed=1; }
  [ -z "$needed" ] || { echo "$library links: $needed"; failed=1; }
  [ -z "$unique" ] || { echo "$library has unique symbols: $unique"; failed=1; }
  echo "looked at $library"
done
exit $failed
