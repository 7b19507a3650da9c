# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034
# Read by the scripts of this folder, which are called with
#   SCRIPT.sh CMAKE BUILD_DIR WORK_DIR CXX CC [SANITIZERS]
set -e
cmake=$1 build=$2 work=$3 cxx=$4 cc=$5 sanitize=$6
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
prefix=$work/prefix sdk=$work/sdk   # everything; what the component sdk installs
tenon=$prefix/bin/tenon
name=$(basename "$0" .sh)
log=$work/$name.log
flags=
[ -z "$sanitize" ] || flags="-fsanitize=$sanitize"
die() { echo "consumer: $*"; exit 1; }
quietly() { "$@" > "$log" 2>&1 || { cat "$log"; exit 1; }; }
# configure SOURCE BUILD PREFIX [ARGUMENTS]
configure() {
  source=$1 into=$2 from=$3
  shift 3
  quietly "$cmake" -S "$source" -B "$into" -DCMAKE_PREFIX_PATH="$from" -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_C_FLAGS="$flags" "$@"
}
