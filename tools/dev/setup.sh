# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The packages of the system that a build needs.
packages=(g++ clang clang-format cmake ninja-build ccache mold git ca-certificates
  libboost-dev libboost-context-dev libcli11-dev libgloo-dev libopenmpi-dev openmpi-bin nlohmann-json3-dev libssl-dev zlib1g-dev liblz4-dev libgtest-dev
  libxxhash-dev libdnnl-dev libhwy-dev libsleef-dev libkissfft-dev liblapacke libopenblas0-pthread valgrind
  abigail-tools xz-utils shellcheck
  libprotobuf-dev protobuf-compiler pocl-opencl-icd ocl-icd-opencl-dev opencl-headers libclblast-dev llvm-14-dev)

root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

setup() {
  local missing=()
  for p in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
  done
  [ ${#missing[@]} = 0 ] && return 0
  say "installing ${missing[*]}"
  root apt-get update -q >/dev/null
  DEBIAN_FRONTEND=noninteractive root apt-get install -y -q --no-install-recommends "${missing[@]}" |
    grep -E '^(Setting up|E:)' || true
  for p in "${missing[@]}"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' ||
      { echo "dev: package $p could not be installed" >&2; return 1; }
  done
}

dev_setup() {
  setup
  fetch_nccl_header
}
