#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# launches.sh FOLDER ONE_BLOCK: checks the records in FOLDER (launches.h): every kernel ran, and with several block sizes,
# except those that ONE_BLOCK lists with a reason.
set -eu
ls "$1"/*.kernels "$1"/*.launches >/dev/null
awk -F'\t' '
  FILENAME ~ /\.kernels$/ { names[$1]; instances[$1, $2]; next }
  FILENAME ~ /\.launches$/ {
    ran[$1]; ran_instances[$1, $2]
    if (!(($1, $3) in seen)) { seen[$1, $3]; ++sizes[$1] }
    next
  }
  /^#/ || NF == 0 { next }
  NF != 2 { print "not \"kernel, tab, reason\": " $0; next }
  { reason[$1] }
  END {
    for (k in names) {
      ++kernels
      if (!(k in ran)) { print "never ran: " k }
      else if (sizes[k] > 1) ++several
      else if (!(k in reason)) { print "ran with one block size only: " k }
      if (sizes[k] > 1 && k in reason) { print "ran with several block sizes, but is listed as needing one: " k }
    }
    for (k in reason) if (!(k in names)) { print "is listed but is not a kernel: " k }
    for (k in instances) {
      ++all
      if (k in ran_instances) { ++have; continue }
      split(k, name, SUBSEP)
      if (name[1] in ran) print "never ran: " name[1] " as " name[2]
    }
    printf "%d kernels, %d of them with several block sizes; %d of %d instances ran\n", \
           kernels, several, have, all
  }' "$1"/*.kernels "$1"/*.launches "$2" >"$1/report"
sort "$1/report"
! grep -qE '^(never|ran with|is listed|not )' "$1/report"
