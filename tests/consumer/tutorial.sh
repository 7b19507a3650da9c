#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# The project of docs/tutorial.md builds against the installed Tenon and prints what the page says.
. "$(dirname "$0")/common.sh"
page=$root/docs/tutorial.md
rm -rf "$work/tutorial"
mkdir -p "$work/tutorial"
awk '/^```/ { take = $0 == "```cmake"; next } take' "$page" > "$work/tutorial/CMakeLists.txt"
sh "$root/tests/docs/block.sh" "$page" 2 program > "$work/tutorial/spirals.cpp"
sh "$root/tests/docs/block.sh" "$page" 2 output > "$work/tutorial/expected"
configure "$work/tutorial" "$work/tutorial/build" "$prefix"
quietly "$cmake" --build "$work/tutorial/build"
cd "$work/tutorial"
TENON_PLUGINS_DISABLE=cuda build/spirals > printed
diff -u expected printed
