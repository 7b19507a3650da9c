#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
#   block.sh FILE N          prints the Nth block of FILE that is marked cpp
#   block.sh FILE N program  prints the Nth program: a block marked cpp that begins with #include, and those that follow
#                            it up to the next such block
#   block.sh FILE N output   prints what the page says that this program prints: the blocks marked output. A line that
#                            ends with a backslash is joined with the next, without that one's indentation
awk -v wanted="$2" -v kind="${3:-block}" '
  /^```/ {
    marked = marked == "" ? substr($0, 4) " " : ""
    first = marked != ""
    if (marked == "cpp " && kind == "block") n++
    next
  }
  first && marked == "cpp " && kind != "block" && /^#include/ { n++ }
  { first = 0 }
  n != wanted || marked != (kind == "output" ? "output " : "cpp ") { next }
  kind != "output" { print; next }
  { if (joined) sub(/^ +/, "") }
  { joined = sub(/\\$/, ""); printf joined ? "%s" : "%s\n", $0 }' "$1"
