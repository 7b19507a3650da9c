#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# thread_state.sh NM READELF LIBRARY..: no library registers thread-local destructors, as the C library ends the
# process if memory is short for them; and no plugin, which is opened late, has a thread-local block, for the same
# reason.
nm=$1 readelf=$2 failed=0
shift 2
[ $# -gt 0 ] || exit 2
for library in "$@"; do
  imports=$("$nm" -D --undefined-only "$library") || exit 2
  case $imports in
    *__cxa_thread_atexit*) echo "$library has a thread_local object with a destructor"; failed=1 ;;
  esac
  case $library in
    *libtenon.so* | *libtenon_core.so*) continue ;; # there from the start
  esac
  headers=$("$readelf" -lW "$library") || exit 2
  case $headers in
    *" TLS "*) echo "$library has thread-local variables"; failed=1 ;;
  esac
done
exit $failed
