#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# manifests.sh DIGEST FOLDER: each manifest of the folder has the digest of its library, that of the CPU plugin among them.
set -eu
digest="$1" folder="$2"
[ -e "$folder/libtenon_cpu.json" ] || { echo "manifests.sh: no libtenon_cpu.json in $folder" >&2; exit 1; }
for manifest in "$folder"/libtenon_*.json; do
  library=$(sed -n 's/.*"library": "\([^"]*\)".*/\1/p' "$manifest")
  expected=$("$digest" "$folder/$library")
  grep -q "\"digest\": \"$expected\"" "$manifest" || { echo "manifests.sh: $manifest lacks $expected" >&2; exit 1; }
done
