#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# examples/plugin_custom builds against the installed SDK; what it provides is found by name.
. "$(dirname "$0")/common.sh"
rm -rf "$work/own"
configure "$root/examples/plugin_custom" "$work/own" "$sdk"
quietly "$cmake" --build "$work/own"
TENON_ADD_PLUGIN_PATH=$work/own/lib "$tenon" plugins --load > "$work/own/said"
grep 'custom .*opened .*any' "$work/own/said"
TENON_ADD_PLUGIN_PATH=$work/own/lib "$tenon" inspect "$work/own/lib/libtenon_custom.so" | grep 'layout run_length'
