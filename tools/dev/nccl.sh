# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The header of NCCL from PyPI's wheel, which is large, as .peers/nccl/include: for plugin_nccl, where a CUDA toolkit is
# installed without it. Its library is not needed to build or to test.
nccl_wheel=nvidia-nccl-cu12==2.32.3

fetch_nccl_header() {
  local toolkit=${CUDAToolkit_ROOT:-/usr/local/cuda} dir
  [ -e "$toolkit/include/cuda_runtime.h" ] || return 0
  for dir in "$toolkit/include" /usr/include .peers/nccl/include; do
    [ ! -e "$dir/nccl.h" ] || return 0
  done
  say "fetching the header of $nccl_wheel"
  mkdir -p .peers
  dir=$(mktemp -d -p .peers)
  if python3 -m pip download --no-deps --only-binary :all: -q -d "$dir" "$nccl_wheel"; then
    mkdir -p .peers/nccl/include
    python3 -c 'import sys, zipfile
sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read("nvidia/nccl/include/nccl.h"))' "$dir"/*.whl >"$dir/nccl.h"
    mv "$dir/nccl.h" .peers/nccl/include/
  else
    echo "dev: no plugin_nccl, as its header could not be fetched; it is include/nccl.h of the wheel, in" \
      ".peers/nccl/include" >&2
  fi
  rm -rf "$dir"
}
