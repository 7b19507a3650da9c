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

# Whether example NAME is run, and how: those that classify pictures want data sets that would have to be fetched.
client_run_example() {
  local run="$PWD/$clients/examples_$1/$1"
  case $1 in
    custom-dataset | transfer-learning) return 0 ;;
    mnist | dcgan) python3 tools/clients/digits.py "$clients/examples_$1/data" || return ;;
  esac
  (cd "$clients/examples_$1" && if [ "$1" = dcgan ]; then "$run" --epochs 2; else "$run"; fi) \
    >"$clients/examples_$1.tests" 2>&1
}

client_examples() {
  local source name argparse
  client_source argparse || { client_line examples "" - - "not run: no copy of argparse"; return; }
  argparse=$source
  client_source examples || { client_line examples "" - - "not run: no copy of it"; return; }
  for name in autograd regression mnist dcgan custom-dataset transfer-learning; do
    if ! client_build "examples_$name" "$source/cpp/$name" "$torch" -DDOWNLOAD_MNIST=OFF \
      "-DOpenCV_DIR=$PWD/tools/clients/opencv" "-DCMAKE_CXX_FLAGS=-I$argparse/include"; then
      client_line examples "cpp/$name" 0 1 "see $clients/examples_$name.log"
    elif ! client_run_example "$name"; then
      client_line examples "cpp/$name" 0 1 "see $clients/examples_$name.tests"
    else
      client_line examples "cpp/$name" 1 0
    fi
  done
}

# Its networks, over a stand-in of its games.
client_open_spiel() {
  local source
  client_source open_spiel || { client_line open_spiel "" - - "not run: no copy of it"; return; }
  if ! client_build open_spiel tools/clients/open_spiel "$torch" "-DSPIEL=$source"; then
    client_line open_spiel "networks" 0 1 "see $clients/open_spiel.log"
    return
  fi
  client_ctest open_spiel "networks" "$clients/open_spiel"
}

# Any CMake project with find_package(Torch), as it stands: TENON_PROJECT_OPTIONS are for its cmake.
client_project() {
  local source name options=()
  source=$(cd "${client_folders[project]}" && pwd) || { client_line project "" 0 1 "no such folder"; return; }
  name=$(basename "$source")
  read -r -a options <<<"${TENON_PROJECT_OPTIONS:-}"
  if ! client_build "project.$name" "$source" "$torch" "${options[@]}"; then
    client_line project "$name" 0 1 "see $clients/project.$name.log"
    return
  fi
  client_line project "$name" 1 0
  if ctest --test-dir "$clients/project.$name" -N | grep -q 'Total Tests: [1-9]'; then
    client_ctest project "tests" "$clients/project.$name"
  fi
}
