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
  run_tests "$@"
}

# A test that fails is run once more: one that passes then does not fail the run, but is shown with its output at the end,
# as an unsteady test is a fault to be mended.
# Compiled programs stay in memory: what an earlier run left on the disk is not tested.
run_tests() {
  export TENON_LLVM_CACHE=0 TENON_CUDA_CACHE=0
  local log=build/dev/tests.log status=0
  ctest --test-dir build/dev -j "$jobs" --output-on-failure --timeout 600 --repeat until-pass:2 "$@" 2>&1 | tee "$log" || status=$?
  local bad='[*][*][*](Failed|Timeout|Exception|Not Run +[0-9])'  # not "Not Run (Disabled)"
  grep -Eq "$bad" "$log" || return $status
  if [ $status = 0 ]; then say "unsteady: failed once, passed the second time"; else say "failures once more"; fi
  awk -v bad="$bad" '/^ *([0-9]+\/[0-9]+ |Start +[0-9]+: |Test +#)/ { show = $0 ~ bad; lines = 0 }
    show && ++lines <= 60 { print substr($0, 1, 500) }' "$log" | sed -E 's/ \.{3,}/ .../'
  grep 'tests passed,' "$log"
  return $status
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
    local fuzzer status=0
    for fuzzer in build/dev/bin/fuzz_*; do
      say "${fuzzer##*/}"
      "$fuzzer" --seconds 60 || status=1
    done
    return $status
  fi
  local name=$1
  shift
  build dev "fuzz_$name" tenon_cpu tenon_sparse
  exec "build/dev/bin/fuzz_$name" "$@"
}
