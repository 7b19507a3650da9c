# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
dev_gpu() {
  command -v nvcc >/dev/null || { echo "gpu: no CUDA toolkit (nvcc) is installed" >&2; return 1; }
  setup
  digits || echo "gpu: the pack comes without the digits"
  cmake --preset dev -DTENON_BUILD_BENCH=ON >/dev/null
  build dev tenon_command tenon_check tenon_oracle tenon_digits tenon_bench_gpu tenon_cuda_kernel_lab test_gpu \
    loop_programs_on_device tenon_cpu tenon_cuda tenon_sparse tenon_sparse_cuda tenon_ref
  mkdir -p build/gpu
  tools/gpu/pack.sh build/dev build/gpu
  say "running the pack"
  rm -rf build/gpu/here
  mkdir build/gpu/here
  tar -C build/gpu/here -xf build/gpu/gpu.tar.xz
  build/gpu/here/run.sh
}

# What CI does for sm_90 alone.
dev_cuda_archs() {
  command -v nvcc >/dev/null || { echo "cuda-archs: no CUDA toolkit (nvcc) is installed" >&2; return 1; }
  build cuda tenon_cuda tenon_sparse_cuda
}

dev_cuda_registers() {
  command -v nvcc >/dev/null || { echo "cuda-registers: no CUDA toolkit (nvcc) is installed" >&2; return 1; }
  build dev tenon_cuda tenon_sparse_cuda cuda_registers
  local version record
  version=$(nvcc --version | sed -n 's/.* V\([0-9.]*\)$/\1/p')
  for record in sm_90 sparse_sm_90; do
    build/dev/bin/cuda_registers "build/dev/lib/libtenon_${record/sm_90/cuda}.so" "$version" >"tests/cuda/registers/$record.csv.new"
    mv "tests/cuda/registers/$record.csv.new" "tests/cuda/registers/$record.csv"
  done
  git --no-pager diff --stat -- tests/cuda/registers
}
