#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# examples/plugin_minimal trains a network, with every call staged.
. "$(dirname "$0")/common.sh"
rm -rf "$work/minimal"
configure "$root/examples/plugin_minimal" "$work/minimal" "$sdk"
quietly "$cmake" --build "$work/minimal"
lines=$(wc -l < "$root/examples/plugin_minimal/minimal.c")
echo "the smallest backend has $lines lines"
[ "$lines" -lt 40 ] || die "it was meant to have less than 40"
TENON_ADD_PLUGIN_PATH=$work/minimal/lib "$work/app/step" minimal
