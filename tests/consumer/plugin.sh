#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# A plugin of one kernel, as it is built and as it is installed.
. "$(dirname "$0")/common.sh"
rm -rf "$work/plugin" "$work/installed"
configure "$here/plugin" "$work/plugin" "$sdk"
export CCACHE_DISABLE=1
# CPU time, which other processes do not stretch; a second is what it may take, two where the machine is slow.
(quietly "$cmake" --build "$work/plugin" --target tenon_visitor; times > "$work/times")
spent=$(tail -n 1 "$work/times")
echo "a plugin of one kernel takes $spent (user, system) to compile, link and describe"
case $spent in 0m[01].*) ;; *) [ -n "$sanitize" ] || die "that is too long" ;; esac
[ -f "$work/plugin/lib/libtenon_visitor.json" ] || die "$(cat "$log")"
if "$cmake" --build "$work/plugin" --target tenon_thread_guard > "$log" 2>&1; then die "a thread's destructor passed"; fi
grep -q 'thread_local object with a destructor' "$log" || die "$(cat "$log")"

# The installed one is stripped: each manifest has the hash of its own library.
quietly "$cmake" --install "$work/plugin" --strip --prefix "$work/installed"
cmp -s "$work/plugin/lib/libtenon_visitor.so" "$work/installed/lib/tenon/libtenon_visitor.so" && die "nothing was stripped"
for folder in "$work/plugin/lib" "$work/installed/lib/tenon"; do
  hash=$(sha256sum "$folder/libtenon_visitor.so")
  grep -q "\"sha256\": \"${hash%% *}\"" "$folder/libtenon_visitor.json" || die "another hash in $folder"
  TENON_ADD_PLUGIN_PATH="$folder" "$tenon" plugins --load > "$log" || die "$(cat "$log")"
  grep -q '^visitor *opened *cpu *1.0 *1 ' "$log" || die "$(cat "$log")"
  grep -q '^cpu *opened' "$log" || die "$(cat "$log")"
done

# The installed command checks the installed plugin with the calls that were installed: every operator, without this tree.
(cd / && "$tenon" check "$work/installed/lib/tenon/libtenon_visitor.so" -j 2) > "$log" 2>&1 || die "$(cat "$log")"
# Operators whose arguments only the stored cases have are counted: fewer than 200.
grep -E '[0-9]{4,} operators have no samples|[2-9][0-9]{2} operators have no samples' "$log" && die "$(cat "$log")"
grep -Eq '^1[0-9]{3} operators called, [0-9]+ checks passed, 0 failed' "$log" || die "$(tail -n 3 "$log")"
tail -n 2 "$log"
