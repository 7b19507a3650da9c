#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Called by ./dev bench.
# shellcheck disable=SC2030,SC2031  # what `count` sets is its own
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'EOT'
./dev bench [--rows REGEX] [--threads N] [--pairs N] [--json FILE] [--counts] [--ours]
    times our rows, libtorch's where it is found (TENON_TORCH=DIR, ./dev peers, or Debian's libtorch-dev) and their
    lower bounds, alternating, in one process. --json writes one object per row. --counts adds instructions (callgrind),
    heap blocks and heap bytes of the rows of small calls; minutes. --ours leaves libtorch out.
./dev bench --busy N [--threads N] [--rows REGEX] [--json FILE]
    times rows alone and beside N busy processes; without --rows: a digits epoch and a matrix product,
    without --threads: with two. Beside one they may take 1.8 times as long, beside two 3 times.
./dev bench --fusion [--threads N]   functions and a step of training through tenon::compile, beside themselves as they are
./dev bench --ranks N [mpi|gloo]     collectives of N ranks, beside the same library without Tenon
./dev bench --network N [KIB]        data parallel training, or an all_reduce, over a network of a known speed, which
    TENON_LOCAL_DELAY_US and TENON_LOCAL_MB_PER_S give
./dev bench --count 'ROW ROW ...'    counts alone
./dev bench --list                   names of groups and rows
./dev bench --markdown FILE ...      files of --json as bench/results/DATE-cpu.md

The whole table:
    for t in 1 2; do ./dev bench --threads $t --json t$t.json $([ $t = 2 ] || echo --counts); done
    ./dev bench --busy 1 --json b1.json && ./dev bench --busy 2 --json b2.json
    ./dev bench --markdown t1.json t2.json b1.json b2.json
EOT
}

# The engine is that of the tests.
exec_network() {
  export TENON_ADD_PLUGIN_PATH="$PWD/build/dev/tests/distributed/plugins"
  exec build/dev/bin/tenon launch --no-prefix -n "$1" build/dev/bin/bench_network "${@:2}"
}

build=build/dev args=() names="" whose="ours peer" counts="" rows="" threads="" busy="" fusion="" ranks="" engine=mpi markdown=()
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) usage; exit 0 ;;
    --count) names="$2"; shift 2 ;;
    --counts) counts=yes; shift ;;
    --build) build="$2"; shift 2 ;;
    --ours) whose=ours; shift ;;
    --rows) rows="$2"; shift 2 ;;
    --threads) threads="$2"; shift 2 ;;
    --busy) busy="$2"; shift 2 ;;
    --fusion) fusion=yes; shift ;;
    --ranks)
      ranks="$2"; shift 2
      case "${1:-}" in mpi | gloo) engine="$1"; shift ;; esac ;;
    --network) exec_network "${@:2}" ;;
    --markdown) shift; markdown=("$@"); break ;;
    *) args+=("$1"); shift ;;
  esac
done
export OMP_NUM_THREADS=1 OMP_PROC_BIND=false
# OpenBLAS takes processors that it does not know for very old ones.
grep -qw avx512bw /proc/cpuinfo 2>/dev/null && export OPENBLAS_CORETYPE="${OPENBLAS_CORETYPE:-SkylakeX}"
bench="$build/bin/tenon_bench"
ours="$PWD/$build/lib/libbench_ours.so" peer="$PWD/$build/lib/libbench_peer.so" lower_bounds="$PWD/$build/lib/libbench_lower_bounds.so"
sides=(--ours "$ours" --commit "$(git describe --always --dirty 2>/dev/null || echo unknown)")
[ ! -e "$lower_bounds" ] || sides+=(--lower-bounds "$lower_bounds")
[ "$whose" = ours ] || [ ! -e "$peer" ] || sides+=(--peer "$peer")
if [ -n "$ranks" ]; then
  launch=("$build/bin/tenon" launch --no-prefix -n "$ranks")
  # Ranks that spin must not share a processor where there are enough.
  bind=core
  [ "$ranks" -le "$(nproc)" ] || bind=none
  [ "$engine" = gloo ] || launch=(mpirun --allow-run-as-root --oversubscribe --bind-to "$bind" -n "$ranks")
  exec "${launch[@]}" "$build/bin/bench_ranks" "$engine"
fi
# The plugins of the tests lie beside those that are measured, and a process reads the manifests of all that it finds.
if [ -z "${TENON_PLUGIN_PATH:-}${TENON_ADD_PLUGIN_PATH:-}" ]; then
  export TENON_PLUGIN_PATH="$PWD/$build/bench/plugins"
  mkdir -p "$TENON_PLUGIN_PATH"
  ln -sf "$PWD/$build"/lib/libtenon_{cpu,sparse,null}.{so,json} "$TENON_PLUGIN_PATH"
fi
[ -z "$fusion" ] || exec "$build/bin/bench_fusion" "${threads:-1}"
for p in startup compile_all; do
  [ ! -e "$build/bin/bench_$p" ] || sides+=(--process-ours "$p=$build/bin/bench_$p")
  [ "$whose" = ours ] || [ ! -e "$build/bin/bench_${p}_peer" ] || sides+=(--process-peer "$p=$build/bin/bench_${p}_peer")
done

# count ROW ...: one object per row and library. valgrind has no AVX-512: both libraries are held to AVX2. The overhead
# of a call does not depend on it.
count() (
  export TENON_CPU_ISA=avx2 ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 DNNL_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2
  out=$(mktemp)
  trap 'rm -f "$out"' EXIT
  field() { sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p"; }
  for row in "$@"; do
    calls=200
    case $row in chain* | mlp* | small_*) calls=10 ;; esac
    for who in $whose; do
      side="${!who}"
      [ -e "$side" ] || continue
      heap=$(LD_PRELOAD="$PWD/$build/lib/libbench_heap_count.so" "$bench" --ours "$side" --count "$row" --calls 100) || heap=""
      blocks=$(field blocks <<<"$heap") bytes=$(field bytes <<<"$heap")
      instr=""
      if run=$(valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file="$out" \
        "$bench" --ours "$side" --count "$row" --calls $calls 2>/dev/null); then
        total=$(sed -n 's/^totals: *//p' "$out" | head -1)
        [ -z "$total" ] || instr=$(awk "BEGIN { printf \"%.0f\", $total / $(field operations <<<"$run") }")
      fi
      printf '{"row":"%s","who":"%s","instr":%s,"blocks":%s,"bytes":%s}\n' "$row" "$who" "${instr:-null}" \
        "${blocks:-null}" "${bytes:-null}"
    done
  done
)

if [ ${#markdown[@]} -gt 0 ]; then
  table="bench/results/$(date -u +%F)-cpu.md"
  "$bench" --markdown "${markdown[@]}" >"$build/table.md"
  mv "$build/table.md" "$table"
  echo "$table"
  exit 0
fi
if [ -n "$names" ]; then
  # shellcheck disable=SC2086
  count $names
  exit 0
fi
# A virtual machine may offer AMX without describing its tiles: oneDNN then raises SIGILL in bfloat16.
export ONEDNN_MAX_CPU_ISA="${ONEDNN_MAX_CPU_ISA:-AVX512_CORE_BF16}"
export DNNL_MAX_CPU_ISA="$ONEDNN_MAX_CPU_ISA"
if [ -n "$busy" ] && [ "$busy" != 0 ]; then
  args+=(--busy "$busy")
  rows="${rows:-digits_epoch|mm_1024_f32}" threads="${threads:-2}"
fi
[ -z "$rows" ] || args+=(--rows "$rows")
[ -z "$threads" ] || args+=(--threads "$threads")
if [ -n "$counts" ]; then
  file=$(mktemp)
  trap 'rm -f "$file"' EXIT
  # Training on convolutions takes valgrind hours and tells nothing about the cost of a call.
  # shellcheck disable=SC2046
  count $("$bench" "${sides[@]}" ${rows:+--rows "$rows"} --list | awk '$1 ~ /^(small|train_small)$/ && $2 !~ /^digits/ { print $2 }') >"$file"
  args+=(--counts "$file")
fi
"$bench" "${sides[@]}" "${args[@]}"
