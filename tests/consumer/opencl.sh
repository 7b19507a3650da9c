#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# examples/plugin_opencl: opens, trains, reports bad indices, and replays a part of the cases of tests/oracle; all of
# them take `./dev oracle --device opencl`.
. "$(dirname "$0")/common.sh"
# PoCL compiles kernels for minutes of its own; what it made is kept beside the build.
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$work/pocl}"
mkdir -p "$POCL_CACHE_DIR"
rm -rf "$work/opencl"
configure "$root/examples/plugin_opencl" "$work/opencl" "$sdk" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror $flags"
quietly "$cmake" --build "$work/opencl" -j 2
export TENON_ADD_PLUGIN_PATH="$work/opencl/lib"
"$tenon" plugins --load > "$log"
grep -q '^opencl *opened *opencl *0.1.0 *14 ' "$log" || die "$(cat "$log")"
"$tenon" devices | grep 'opencl:0 .*asynchronous, opaque' || die "the device is not opaque"
"$work/app/step" opencl --native
"$work/app/device" opencl
"$build/bin/loop_programs_on_device" opencl
# Every check of a device, and operators of each family; all operators pass, which takes minutes if nothing is compiled yet.
operators='add.Tensor|mul.Tensor|floor_divide|softmax.int|sum.dim_IntList|cumsum|_index|put|scatter.value|nll_loss_forward|_loop_program_'
"$tenon" check "$work/opencl/lib/libtenon_opencl.so" --level 2 -j 2 --op "^(device[.].*|$operators)$" > "$log" 2>&1 ||
  die "$(cat "$log")"
tail -n 2 "$log"
grep -i warning "$log" && die "a kernel compiles with warnings"
"$build/bin/tenon_oracle" "$root/tests/oracle" --device opencl --waivers "$root/tests/oracle/waivers.csv" -j 2 --shards 8 --shard 3 --every 3 --seconds 120
