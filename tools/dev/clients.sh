# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Programs of others for libtorch, built and run against the installed Tenon. None of their code is in this tree.
clients=build/clients

# NAME ADDRESS COMMIT: pfunit is what the unit tests of ftorch are written with, argparse what dcgan of examples reads
# its arguments by.
clients_table() {
  cat <<'EOT'
ftorch https://github.com/Cambridge-ICCS/FTorch.git 2010dd4ca4ee98d3f9b82db31f62774637c69312
examples https://github.com/pytorch/examples.git 77f55b912142e11fcfdf5b530231fb9c52f181e8
open_spiel https://github.com/google-deepmind/open_spiel.git 112b77704631fc2ce7ad8e4581f6ca09798ce15a
argparse https://github.com/p-ranav/argparse.git d924b84eba1f0f0adf38b20b7b4829f6f65b6570
pfunit https://github.com/Goddard-Fortran-Ecosystem/pFUnit.git e3ccb4e4e8b9b870a8e3d758ac9fdd13a89d4d80
EOT
}

# client_line CLIENT WHAT PASSED FAILED [REMARK]
client_line() {
  printf '%-9s %-34s %7s %7s  %s\n' "$@" >>"$clients/table"
  clients_failed=$((clients_failed + ${4/-/0}))
}

# Sets `source` to the folder of a client: one that was given, or a clone.
client_source() {
  local name address commit given
  read -r name address commit < <(clients_table | grep "^$1 ") || return 1
  for given in "${client_folders[$name]:-}" "${TENON_CLIENTS:+$TENON_CLIENTS/$name}" \
    "${TENON_CLIENTS:+$TENON_CLIENTS/$(basename "$address" .git)}" "$clients/src/$name"; do
    if [ -n "$given" ] && [ -d "$given" ]; then
      source=$(cd "$given" && pwd)
      return 0
    fi
  done
  say "cloning $address"
  source="$PWD/$clients/src/$name"
  if ! { GIT_TERMINAL_PROMPT=0 git clone -q "$address" "$source.part" && git -C "$source.part" checkout -q "$commit" &&
    git -C "$source.part" submodule update -q --init --recursive && mv "$source.part" "$source"; }; then
    rm -rf "$source.part"
    echo "dev: $address could not be fetched; give a copy of it: ./dev clients $name=FOLDER, or" \
      "TENON_CLIENTS=FOLDER with $(basename "$address" .git)/ in it" >&2
    return 1
  fi
}

# Sets `prefix` to an installed Tenon, and `torch` to what find_package(Torch) is told.
clients_prefix() {
  prefix="${TENON_PREFIX:-}"
  if [ -z "$prefix" ]; then
    build dev
    prefix="$PWD/$clients/tenon"
    cmake --install build/dev --prefix "$prefix" >/dev/null
  fi
  torch="-DTorch_DIR=$prefix/include/tenon/compat/libtorch"
}

# Sets `interpreter` to what CMake is told of a Python that has torch, which makes the models of the clients, and makes
# what they take for a virtual environment.
clients_python() {
  local python venv="$PWD/$clients/venv"
  mkdir -p "$venv/bin"
  for python in "${PYTHON:-python3}" build/zoo/venv/bin/python; do
    "$python" -c 'import torch' >/dev/null 2>&1 || continue
    python=$(realpath -s "$(command -v "$python")")
    interpreter="-DPython_EXECUTABLE=$python"
    printf '#!/bin/sh\nexec "%s" -c "import sys; sys.path.insert(0, \\"%s\\")\n%s" "$@"\n' "$python" "$1" \
      'from ftorch_utils.pt2ts import main_cli; main_cli()' >"$venv/bin/pt2ts"
    chmod +x "$venv/bin/pt2ts"
    export VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH"
    return 0
  done
  return 1
}

# dev clients [NAME | NAME=FOLDER | project=FOLDER]..: 1 if something failed, 75 if something could not be fetched
dev_clients() {
  local -A client_folders=()
  # shellcheck disable=SC2034  # client_builds.sh reads them
  local names=() word prefix torch interpreter clients_failed=0
  for word in "$@"; do
    if [[ $word != project=* ]] && ! clients_table | grep -q "^${word%%=*} "; then
      echo "dev: no client '${word%%=*}' among $(clients_table | cut -d' ' -f1 | tr '\n' ' ')project=FOLDER" >&2
      return 2
    fi
    [[ $word != *=* ]] || client_folders[${word%%=*}]=${word#*=}
    [[ ${word%%=*} == @(pfunit|argparse) ]] || names+=("${word%%=*}")
  done
  [ ${#names[@]} -gt 0 ] || names=(ftorch examples open_spiel)
  packages+=(gfortran m4)
  mkdir -p "$clients/src"
  clients_prefix
  : >"$clients/table"
  for word in "${names[@]}"; do "client_$word"; done
  printf '\n%-9s %-34s %7s %7s  %s\n' CLIENT WHAT PASSED FAILED REMARK
  cat "$clients/table"
  [ "$clients_failed" = 0 ] || return 1
  ! grep -q 'not run:' "$clients/table" || return 75  # as other commands that could not fetch
}
