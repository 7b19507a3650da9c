# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Everything under the address sanitizer, with the undefined-behavior and the leak one; under the thread sanitizer what
# threads share. The kernels are built for few instruction sets (TENON_CPU_MAX_ISA), so that this takes some ten minutes.
# With --quick runtime, core and the loader alone, which own memory, share it and read files of others: two minutes; and
# what runs on CUDA devices.
dev_sanitize() {
  local preset tests='runtime|core|plugins' fuzzers='' targets=(test_runtime test_core test_plugins)
  case "${1:-}" in
    "" | --quick) dev_sanitize address "$@"; dev_sanitize thread "$@"; return ;;
    address) preset=asan ;;
    thread) preset=tsan ;;
    *) echo "usage: ./dev sanitize [address|thread] [--quick]" >&2; return 2 ;;
  esac
  if [ "${2:-}" != --quick ]; then
    tests+='|data|ops|pointwise'
    targets+=(test_{data,ops,pointwise} tenon_cpu tenon_ulp)
    if [ $preset = asan ]; then
      tests+='|sdk|nn|optim|io|check|oracle|sparse|own'
      targets+=(test_{sdk,nn,optim,io,check,sparse,own} tenon_oracle tenon_check tenon_ref tenon_null fuzz_hostile)
      fuzzers='|fuzz\.hostile$'
    fi
  fi
  build "$preset" "${targets[@]}"
  say "testing ($1 sanitizer)"
  # plugins.exports looks at plugins that are not built here.
  ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 \
    TSAN_OPTIONS=halt_on_error=1:die_after_fork=0 ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure --timeout 600 \
    --no-tests=error -R "^(($tests)\\.$fuzzers)" -E '^plugins\.exports$'
  [ $preset = tsan ] || sanitize_kernels "${2:-}"
}

# plugin_cuda's kernels in the emulator: instrumented alone, beside build/dev's programs. Six minutes; with --quick three:
# a quarter of each operator's cases, in blocks of 96 threads alone.
sanitize_kernels() {
  local tests='(emulator|oracle_0|oracle_96|whole)$'
  [ "$1" != --quick ] || tests='(emulator|oracle_quick|whole)$'
  cmake --preset dev >/dev/null
  build dev cuda_sanitized tenon_cpu
  say "testing (address sanitizer, kernels of the CUDA plugins)"
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
    ctest --test-dir build/dev -C sanitized -j "$jobs" --output-on-failure --no-tests=error -R "^cuda_sanitized\\.$tests"
}
