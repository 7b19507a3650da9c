# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# libtorch's own tests of its C++ frontend against the installed Tenon. None of their code is in this tree.
suite_address=https://github.com/pytorch/pytorch.git
suite_tag=v1.9.1

# Sets `source` to a folder that has test/cpp/api and torch/lib/c10d/test: TENON_SUITE, or a clone of those alone.
suite_source() {
  source="${TENON_SUITE:-$PWD/build/suite/pytorch}"
  [ -d "$source/test/cpp/api" ] || [ -d "$source/torch/lib/c10d/test" ] && return 0
  say "cloning $suite_address"
  rm -rf "$source"
  mkdir -p "$(dirname "$source")"
  if ! { GIT_TERMINAL_PROMPT=0 git clone -q --depth 1 --branch "$suite_tag" --filter=blob:none --sparse \
    "$suite_address" "$source" && git -C "$source" sparse-checkout set test/cpp torch/lib/c10d/test; }; then
    rm -rf "$source"
    echo "dev: $suite_address could not be fetched; give a checkout of $suite_tag as TENON_SUITE=FOLDER" >&2
    return 1
  fi
}

dev_suite() {
  local source prefix torch cuda=()
  mkdir -p "$clients" # where clients_prefix installs
  suite_source || return
  clients_prefix
  : "$torch" # what CMake would be told
  [ -d build/dev/lib/cuda_whole ] && cuda=(--cuda build/dev/lib/cuda_whole --fakes build/dev/tests/fake_cuda)
  python3 tools/suite/run.py --source "$source" --work build/suite/results --waivers tools/suite/waivers.tsv "${cuda[@]}" \
    --flags "-I$prefix/include/tenon/compat/libtorch -I$prefix/include" \
    --link "-Wl,-rpath,$prefix/lib $prefix/lib/libtenon_distributed.so $prefix/lib/libtenon_jit.so $prefix/lib/libtenon.so $prefix/lib/libtenon_core.so" "$@"
  echo "by test: build/suite/results/tests.tsv"
}
