#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# manifest.sh TENON LIBRARY FOLDER: writes a manifest, strips and patches the library, updates the manifest.
set -eu
tenon="$1" library="$2" folder="$3"
rm -rf "$folder"
mkdir -p "$folder"
chmod go-w "$folder"
cp "$library" "$folder/libtenon_works.so"
export TENON_PLUGIN_PATH="$folder"
die() { echo "manifest.sh: $*" >&2; exit 1; }
state() { "$tenon" plugins --load | grep -q "^works *$1 " || die "not $1: $("$tenon" plugins --load)"; }

"$tenon" manifest "$folder/libtenon_works.so" | grep -q 'libtenon_works.json: written, xxh64:' || die "not written"
grep -q '"device": "works"' "$folder/libtenon_works.json" || die "no device"
state opened
strip "$folder/libtenon_works.so"
state opened
# A byte of the text with the plugin's name: it is loaded, and the loader does not use it.
sed -i 's/Tenon tests/Tenon_tests/' "$folder/libtenon_works.so"
state refused
sed -i 's/"priority": 0/"priority": 4, "sha256": "0000000000000000000000000000000000000000000000000000000000000000"/' \
  "$folder/libtenon_works.json"
"$tenon" manifest "$folder/libtenon_works.json" | grep -q updated || die "not updated"
grep -q sha256 "$folder/libtenon_works.json" && die "the old hash is still there"
grep -q '"priority": 4' "$folder/libtenon_works.json" || die "the priority is lost"
state opened
