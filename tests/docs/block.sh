#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
#   block.sh FILE N      prints the Nth block of FILE that is marked cpp
awk -v wanted="$2" '
  /^```/ { if (!in_block && $0 == "```cpp") { n++; take = n == wanted } else take = 0; in_block = !in_block; next }
  take' "$1"
