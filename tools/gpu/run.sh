#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# In an unpacked archive of ./dev gpu, on a machine with an NVIDIA driver and the toolkit's libraries: runs tests,
# conformance, the oracle's cases, programs that torch saves here, the demo and the benchmarks, with torch as the baseline
# if it is installed. Writes one table for bench/results/ to OUT (default: out). run.sh [STEP..] runs these steps alone:
# checks sanitizer demo bench. SECONDS_AT_MOST (default 525) is the limit of all. Without a device every step says so.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit
out="${OUT:-$PWD/out}"
mkdir -p "$out"
table="$out/$(date -u +%F)-gpu.md"
python=$(command -v python3 || true)

# The toolkit's libraries: in the loader's path, in the usual folder, or in torch's packages.
path="$PWD/lib"
for dir in /usr/local/cuda/lib64 /usr/local/cuda/lib; do [ -d "$dir" ] && path+=":$dir"; done
if [ -n "$python" ]; then
  path+=$("$python" - <<'EOT' 2>/dev/null
import glob, os, site, sysconfig
for root in {sysconfig.get_paths()['purelib'], *site.getsitepackages()}:
    for d in sorted(glob.glob(os.path.join(root, 'nvidia', '*', 'lib'))): print(':' + d, end='')
EOT
)
fi
export LD_LIBRARY_PATH="$path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" TENON_PLUGIN_PATH="$PWD/lib"

# step NAME SECONDS COMMAND...: writes the output to out/NAME.txt and prints its last line. Limited to the rest of the
# time.
failed="$out/failed"
rm -f "$failed"
step() {
  local name="$1" begin=$SECONDS status=0 seconds="$2" left=$((${SECONDS_AT_MOST:-525} - SECONDS))
  shift 2
  [ "$seconds" -le "$left" ] || seconds=$((left > 1 ? left : 1))
  timeout -k 5 "$seconds" "$@" >"$out/$name.txt" 2>&1 || status=$?
  [ $status = 0 ] || [ "$device" = no ] || touch "$failed"
  printf '%-12s %4d s  status %d  %s\n' "$name" $((SECONDS - begin)) $status "$(grep -v '^$' "$out/$name.txt" | tail -1 | cut -c1-140)"
}

device=yes
if ! bin/tenon plugins --load >"$out/plugins.txt" 2>&1; then
  cat "$out/plugins.txt"
  exit 1
fi
grep -E '^(cuda|sparse)' "$out/plugins.txt"
grep -qE '^cuda +opened' "$out/plugins.txt" || device=no
if [ $device = no ]; then
  say=(echo "no device")
else
  say=(env)
fi
cores=$(nproc)

. ./programs.sh

checks() {
  make_programs &
  step tests 60 bin/test_gpu --gtest_brief=1 &
  step check 200 "${say[@]}" bin/tenon_check --device cuda --no-gradients -j "$cores" --calls share/calls --few share/few.txt --deterministic --samples 6 --cases share/oracle &
  step oracle 120 "${say[@]}" bin/tenon_oracle share/oracle --device cuda -j "$cores" --waivers share/oracle/waivers.csv --waivers share/waivers.csv &
  step loops 60 "${say[@]}" bin/loop_programs_on_device cuda share/loop_programs &
  wait
  export -f run_programs
  export out
  if [ -e share/zoo/make.py ] && [ -n "$python" ]; then
    step programs 100 "${say[@]}" bash -c run_programs
  else
    step programs 5 echo "no programs: the pack has no zoo, or there is no Python"
  fi
  rm -rf "$out/models"
}

sanitizer() {
  local tool
  tool=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  if [ -x "$tool" ]; then
    step sanitizer 60 "${say[@]}" "$tool" --error-exitcode 9 bin/test_gpu --gtest_filter='Gpu.Prod*:Gpu.AStep*:Gpu.Recurrent*:Gpu.TheFirst*:GpuSparse.*:GpuLoopProgram.AFused*'
    step sanitized 60 "${say[@]}" "$tool" --error-exitcode 9 bin/tenon_oracle share/oracle --device cuda -j 0 --waivers share/oracle/waivers.csv \
      --filter '^(softmax|log_softmax|layer_norm|native_layer_norm|index_select|index_copy|embedding|fft_rfft|sum|convolution)/'
  else
    step sanitizer 5 echo "no compute-sanitizer"
  fi
}

demo() {
  if [ -e share/digits.csv.gz ]; then
    step demo 45 "${say[@]}" bin/tenon_digits --data share/digits.csv.gz --out "$out" --device cuda --epochs 10 --min-accuracy 97
  else
    step demo 5 echo "no digits"
  fi
}

bench() {
  step kernel_lab 20 bin/tenon_cuda_kernel_lab
  step lower_bounds 40 bin/tenon_bench_gpu --lower-bounds
  step first_bound 20 bin/tenon_bench_gpu --first-bound
  step first 20 bin/tenon_bench_gpu --first
  step ours 120 bin/tenon_bench_gpu
  if [ -n "$python" ]; then
    step first_torch 60 env -u LD_LIBRARY_PATH "$python" share/peer.py --first
    step torch 120 env -u LD_LIBRARY_PATH "$python" share/peer.py
  else
    step torch 5 echo "no torch"
  fi
}

step devices 30 "${say[@]}" bin/tenon devices
for part in "${@:-all}"; do
  case $part in
    all) checks; sanitizer; demo; bench ;;
    checks | sanitizer | demo | bench) "$part" ;;
    *) echo "run.sh: no step $part" >&2; exit 2 ;;
  esac
done

{
  echo "# Benchmarks of a GPU"
  echo
  echo "$(date -u +%F), commit $(cat share/commit), $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo 'no device')"
  echo
  echo "| row | what | unit | Tenon | torch | the device itself |"
  echo "|---|---|---|---|---|---|"
  # shellcheck disable=SC2046
  awk -F'\t' 'FNR == 1 {side = FILENAME; sub(".*/", "", side)}
    NF == 4 {
      key = $1 "\t" $2 "\t" $4
      if (!(key in seen)) {seen[key] = 1; order[++n] = key}
      kind = side ~ /torch/ ? "torch" : side ~ /bound/ ? "bound" : "ours"
      value[key, kind] = $3
    }
    END {
      for (i = 1; i <= n; ++i) {
        split(order[i], k, "\t")
        printf "| %s | %s | %s | %s | %s | %s |\n", k[1], k[2], k[3], value[order[i], "ours"], value[order[i], "torch"], value[order[i], "bound"]
      }
    }' $(ls "$out"/{ours,first,torch,first_torch,lower_bounds,first_bound}.txt 2>/dev/null)
} >"$table"
echo "the table: $table"
[ ! -e "$failed" ]
