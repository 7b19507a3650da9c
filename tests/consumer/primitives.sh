#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# examples/plugin_primitives trains a network, with no call staged.
. "$(dirname "$0")/common.sh"
rm -rf "$work/primitives"
configure "$root/examples/plugin_primitives" "$work/primitives" "$sdk" -DCMAKE_BUILD_TYPE=Debug  # compiles in a third
quietly "$cmake" --build "$work/primitives"
TENON_ADD_PLUGIN_PATH=$work/primitives/lib "$work/app/step" prim --native
