#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Every field, constant and signature of an older layout must be in the newer one, at its old place: a minor appends.
#   kept_layout.sh OLD NEW       (texts of tools/abi_layout)
with_struct() {
  awk '/^struct /{s = $2} /^(constant|typedef)/{s = ""} /^#/{s = ""; next} /^struct /{print "struct " s; next}
       /^constant TN_ABI_MINOR /{next} NF {print s, $0}' "$1" | sort
}
old=$(mktemp) new=$(mktemp)
trap 'rm -f "$old" "$new"' EXIT
with_struct "$1" >"$old"
with_struct "$2" >"$new"
[ "$(wc -l <"$old")" -gt 100 ] || { echo "$1 is not a layout dump"; exit 1; }
gone=$(comm -23 "$old" "$new")
[ -z "$gone" ] || { printf 'gone or changed since the older minor:\n%s\n' "$gone"; exit 1; }
echo "$(wc -l <"$old") lines kept, $(comm -13 "$old" "$new" | wc -l) added"
