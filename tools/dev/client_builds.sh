# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How each client of clients.sh is built and what of it is run.
clients=build/clients

# client_build NAME SOURCE [OPTIONS]: configures and builds; the log is $clients/NAME.log
client_build() {
  local name=$1 from=$2
  shift 2
  say "building $name"
  { cmake -G Ninja -S "$from" -B "$clients/$name" -DCMAKE_BUILD_TYPE=Release "$@" &&
    ninja -C "$clients/$name" -j "$jobs"; } >"$clients/$name.log" 2>&1
}

# client_ctest CLIENT WHAT FOLDER [OPTIONS]: one line of the table
client_ctest() {
  local client=$1 what=$2 folder=$3 total failed
  shift 3
  say "running the $what of $client"
  ctest --test-dir "$folder" "$@" >"$folder.tests" 2>&1 || true
  read -r failed total < <(sed -nE 's/.*, ([0-9]+) tests failed out of ([0-9]+)/\1 \2/p' "$folder.tests")
  client_line "$client" "$what" "$((${total:-0} - ${failed:-0}))" "${failed:-1}" \
    "$(sed -nE 's/^.*[0-9]+ - (.*) \((Failed|Timeout|SEGFAULT).*/\1/p' "$folder.tests" | tr '\n' ' ')"
}

# Its own dependencies are submodules of submodules.
client_pfunit() {
  [ ! -e "$clients/pfunit.prefix" ] || return 0
  local source
  client_source pfunit || return 1
  client_build pfunit "$source" "-DCMAKE_INSTALL_PREFIX=$PWD/$clients/pfunit.prefix" -DSKIP_MPI=YES -DSKIP_OPENMP=YES \
    -DSKIP_FHAMCREST=YES -DENABLE_TESTS=NO -DMAX_ASSERT_RANK=2 &&
    cmake --install "$clients/pfunit" >>"$clients/pfunit.log" 2>&1
}

client_ftorch() {
  local source
  client_source ftorch || { client_line ftorch "" - - "not run: no copy of it"; return; }
  if ! client_build ftorch "$source" "$torch"; then
    client_line ftorch "library" 0 1 "see $clients/ftorch.log"
    return
  fi
  client_line ftorch "library" 1 0
  if ! clients_python "$source"; then
    client_line ftorch "examples, unit tests" - - "not run: no Python has torch; PYTHON=... names one"
    return
  fi
  # resnet wants trained weights and plot wants matplotlib: neither is about the library
  if client_build ftorch_examples "$source" "$torch" "$interpreter" -DFTORCH_BUILD_INTEGRATION_TESTS=ON \
    -DFTORCH_BUILD_UNIT_TESTS=OFF; then
    client_ctest ftorch "examples, but resnet and plots" "$clients/ftorch_examples" -E 'resnet|plot'
  else
    client_line ftorch "examples" 0 1 "see $clients/ftorch_examples.log"
  fi
  if ! client_pfunit; then
    client_line ftorch "unit tests" - - "not run: no pFUnit (see above, or $clients/pfunit.log)"
  elif client_build ftorch_unit "$source" "$torch" "$interpreter" -DFTORCH_BUILD_INTEGRATION_TESTS=OFF \
    -DFTORCH_BUILD_UNIT_TESTS=ON "-DCMAKE_PREFIX_PATH=$PWD/$clients/pfunit.prefix"; then
    client_ctest ftorch "unit tests" "$clients/ftorch_unit"
  else
    client_line ftorch "unit tests" 0 1 "see $clients/ftorch_unit.log"
  fi
}

# mnist is built alone: its data would have to be fetched.
client_examples() {
  local source name run
  client_source examples || { client_line examples "" - - "not run: no copy of it"; return; }
  for name in autograd regression mnist; do
    run="$clients/examples_$name/$name"
    if ! client_build "examples_$name" "$source/cpp/$name" "$torch" -DDOWNLOAD_MNIST=OFF; then
      client_line examples "cpp/$name" 0 1 "see $clients/examples_$name.log"
    elif [ "$name" != mnist ] && ! "$run" >"$clients/examples_$name.tests" 2>&1; then
      client_line examples "cpp/$name" 0 1 "see $clients/examples_$name.tests"
    else
      client_line examples "cpp/$name" 1 0
    fi
  done
}
