#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# complete.sh PLUGIN FOLDER: checks that the fakes in FOLDER have every CUDA function that PLUGIN calls.
set -eu
wanted=$(nm -D --undefined-only "$1" | awk '$2 ~ /^_*cu[a-z]/ || $2 ~ /^__cuda/ {sub("@.*", "", $2); print $2}' | sort -u)
faked=$(for f in "$2"/lib*.so; do nm -D --defined-only "$f"; done | awk '{sub("@.*", "", $3); print $3}' | sort -u)
missing=$(printf '%s\n' "$wanted" | grep -vxF -e "$faked" || true)
[ -n "$wanted" ] || { echo "PLUGIN calls no CUDA function"; exit 1; }
[ -z "$missing" ] || { echo "not faked:"; echo "$missing"; exit 1; }
echo "$(printf '%s\n' "$wanted" | wc -l) functions, all faked"
