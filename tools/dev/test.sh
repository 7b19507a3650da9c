# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
dev_test() {
  if [ "${1:-}" = --quick ]; then
    build dev
    ctest --test-dir build/dev -j "$jobs" --output-on-failure -R '^(runtime|core|plugins|abi)\.'
    return
  fi
  build dev
  say "testing"
  ctest --test-dir build/dev -j "$jobs" --output-on-failure --timeout 600 "$@"
}

dev_op() {
  [ $# = 1 ] || { echo "usage: ./dev op NAME" >&2; exit 2; }
  build dev
  build/dev/bin/tenon ops "$1"
  build/dev/bin/tenon_oracle tests/oracle --filter "^(extra\.)?${1%%.*}/" || true
  build/dev/bin/tenon_check --op "$1"
}

# The cases hold strided tensors and sparse ones.
dev_oracle() {
  build dev tenon_oracle tenon_cpu tenon_sparse
  device_plugins "$@"
  case "${1:-}" in "" | -*) set -- tests/oracle "$@" ;; esac
  exec build/dev/bin/tenon_oracle "$@"
}

dev_check() {
  build dev
  exec build/dev/bin/tenon_check "$@"
}

dev_ulp() {
  build dev tenon_ulp tenon_cpu
  exec build/dev/bin/tenon_ulp "$@"
}

dev_fuzz() {
  if [ $# = 0 ]; then
    build dev
    ctest --test-dir build/dev -j "$jobs" --output-on-failure -R '^fuzz\.'
    return
  fi
  local name=$1
  shift
  build dev "fuzz_$name" tenon_cpu tenon_sparse
  exec "build/dev/bin/fuzz_$name" "$@"
}
