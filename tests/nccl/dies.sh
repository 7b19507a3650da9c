#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# dies.sh PROGRAM SIZE [unseen]: rank 1 dies; the other ranks must be told so, and end with 0.
set -u
file=$(mktemp -u)
rank=0
pids=
while [ $rank -lt "$2" ]; do
  "$1" dies "$file" $rank "$2" "${3:-}" &
  [ $rank = 1 ] || pids="$pids $!"
  rank=$((rank + 1))
done
failed=0
for pid in $pids; do
  wait "$pid" || failed=1
done
rm -f "$file" "$file".*
exit $failed
