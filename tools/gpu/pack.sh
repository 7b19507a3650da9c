#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# pack.sh BUILD FOLDER: creates FOLDER/gpu.tar.xz for a machine with no more than an NVIDIA driver and the toolkit's
# libraries: programs, our libraries, system libraries that may be missing, cases. 45 MB at most.
set -euo pipefail
build="$1" out="$2" stage="$2/pack"
rm -rf "$stage"
mkdir -p "$stage"/{bin,lib,share}
for program in tenon tenon_check tenon_oracle tenon_digits tenon_bench_gpu tenon_cuda_kernel_lab test_gpu loop_programs_on_device; do
  strip -o "$stage/bin/$program" "$build/bin/$program"
done
for library in libtenon_core libtenon libtenon_jit libtenon_onnx libtenon_distributed libtenon_cpu libtenon_cuda libtenon_sparse \
  libtenon_sparse_cuda libtenon_ref libgpu_lower_bounds; do
  file=$(readlink -f "$build/lib/$library.so")
  name=$(objdump -p "$file" | awk '$1 == "SONAME" {print $2}')
  strip --strip-unneeded -o "$stage/lib/${name:-$library.so}" "$file"
  [ -e "$build/lib/$library.json" ] && cp "$build/lib/$library.json" "$stage/lib/"  # its digest fits the stripped library, too
done
# LAPACK, which the CPU plugin opens by name.
lapack=$(ldconfig -p | awk '$1 == "liblapacke.so.3" {print $NF; exit}')
# All dependencies except the C library, the driver and the toolkit.
cuda='lib(cuda|cu[A-Za-z_]*|nv[^/]*)\.so'
dependencies=$(for file in "$stage"/bin/* "$stage"/lib/*.so* $lapack; do LD_LIBRARY_PATH="$stage/lib" ldd "$file"; done)
missing=$(awk '/not found/ {print $1}' <<<"$dependencies" | sort -u | grep -vE "^$cuda" || true)
[ -z "$missing" ] || { echo "pack.sh: not found: $missing" >&2; exit 1; }
{ echo "$lapack"; awk '$2 == "=>" && $3 ~ /^\// {print $3}' <<<"$dependencies"; } | sort -u | grep -vE "^$stage|^$|/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux[^/]*)\.so|/$cuda" |
  while read -r file; do cp -L "$file" "$stage/lib/"; done
for file in "$stage"/bin/* "$stage"/lib/*.so*; do chmod u+w "$file"; done
cp -r tests/oracle "$stage/share/oracle"
cp -r tests/check/calls tests/check/few.txt tools/gpu/waivers.csv "$stage/share/"
[ -e ../shared/zoo/make.py ] && cp -r ../shared/zoo "$stage/share/"
cp -r tests/loop_program/programs "$stage/share/loop_programs"
cp bench/gpu/peer.py "$stage/share/"
[ -e .cache/digits.csv.gz ] && cp .cache/digits.csv.gz "$stage/share/"
git rev-parse --short HEAD >"$stage/share/commit"
cp tools/gpu/run.sh tools/gpu/programs.sh "$stage/"
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner -c . | xz -T0 -3 >"$out/gpu.tar.xz"
size=$(stat -c %s "$out/gpu.tar.xz")
echo "$out/gpu.tar.xz: $((size / 1000000)) MB"
[ "$size" -le 45000000 ] || { echo "pack.sh: it must stay below 45 MB" >&2; exit 1; }
