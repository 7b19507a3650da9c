#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# examples/plugin_custom builds against the installed SDK; what it provides is found by name.
. "$(dirname "$0")/common.sh"
rm -rf "$work/custom"
configure "$root/examples/plugin_custom" "$work/custom" "$sdk"
quietly "$cmake" --build "$work/custom"
TENON_ADD_PLUGIN_PATH=$work/custom/lib "$tenon" plugins --load > "$work/custom/said"
grep 'custom .*opened .*any' "$work/custom/said"
TENON_ADD_PLUGIN_PATH=$work/custom/lib "$tenon" inspect "$work/custom/lib/libtenon_custom.so" | grep 'layout run_length'
