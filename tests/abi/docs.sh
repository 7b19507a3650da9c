#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# What the headers give today against what is checked in.
#   docs.sh PAGE PROGRAM ARGUMENTS...
page=$1
shift
text=$("$@") || exit 1
printf '%s\n' "$text" | diff -u "$page" - || {
  echo "docs/abi.md differs from the headers of abi/; ./dev abi-docs regenerates it" >&2
  exit 1
}
