#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Called by ./dev bench: times rows, then counts instructions (callgrind) and heap blocks of those that are asked for.
#   bench/run.sh [--build DIR] [--ours] [--rows REGEX] [--threads N] [--json FILE] [--count 'row row ...']
# --ours leaves libtorch out.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/release
export OMP_NUM_THREADS=1 OMP_PROC_BIND=false
# A virtual machine may offer AMX without saying how its tiles look: oneDNN then dies with SIGILL in bfloat16.
export ONEDNN_MAX_CPU_ISA="${ONEDNN_MAX_CPU_ISA:-AVX512_CORE_BF16}" DNNL_MAX_CPU_ISA="${ONEDNN_MAX_CPU_ISA:-AVX512_CORE_BF16}"
args=() counts="" whose="ours peer"
while [ $# -gt 0 ]; do
  case "$1" in
    --count) counts="$2"; shift 2 ;;
    --build) build="$2"; shift 2 ;;
    --ours) whose=ours; shift ;;
    *) args+=("$1"); shift ;;
  esac
done
ours="$PWD/$build/lib/libbench_ours.so" peer="$PWD/$build/lib/libbench_peer.so" floors="$PWD/$build/lib/libbench_floors.so"
sides=(--ours "$ours" --floors "$floors")
[ "$whose" != ours ] && [ -e "$peer" ] && sides+=(--peer "$peer")
if [ -z "$counts" ]; then
  exec "$build/bin/tenon_bench" "${sides[@]}" "${args[@]}"
fi
# valgrind has no AVX-512: both libraries are held to AVX2. The overhead of a call does not depend on it.
export TENON_CPU_ISA=avx2 ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 DNNL_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2
out=$(mktemp)
for row in $counts; do
  calls=200
  case $row in chain* | mlp* | small_f*) calls=10 ;; esac
  for who in $whose; do
    side="${!who}"
    [ -e "$side" ] || continue
    blocks=$(LD_PRELOAD="$PWD/$build/lib/libbench_heap_count.so" "$build/bin/tenon_bench" --ours "$side" --count "$row" --calls 100 |
      sed 's/.*"blocks"://; s/}.*//')
    per=1
    case $row in chain_100*) per=100 ;; esac
    valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file="$out" \
      "$build/bin/tenon_bench" --ours "$side" --count "$row" --calls $calls >/dev/null 2>&1 || true
    total=$(sed -n 's/^totals: *//p' "$out" | head -1)
    instr=$(awk "BEGIN { printf \"%.0f\", ${total:-0} / $calls / $per }")
    printf '{"row":"%s","who":"%s","instr":%s,"blocks":%s}\n' "$row" "$who" "$instr" "${blocks:-null}"
  done
done
rm -f "$out"
