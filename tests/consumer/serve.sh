#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# examples/serve as a project of its own against the installed Tenon, on a saved program.
. "$(dirname "$0")/common.sh"
rm -rf "$work/serve"
configure "$root/examples/serve" "$work/serve" "$prefix" -DCMAKE_UNITY_BUILD=ON  # takes a fourth of the time
quietly "$cmake" --build "$work/serve"
answer=$(echo '{"id": 1, "method": "spin", "inputs": [10]}' |
  "$work/serve/tenon_serve" "$root/tests/command/program/script.pt" 2> "$log")
[ "$answer" = '{"id":1,"outputs":[10]}' ] || die "the answer is $answer"
