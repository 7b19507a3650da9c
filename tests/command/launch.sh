#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# launch.sh TENON: what `tenon launch` sets, prints and ends.
tenon=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# expect NAME STATUS PATTERN COMMAND...: exit status, and a line of output or error.
expect() {
  name=$1 status=$2 pattern=$3
  shift 3
  "$@" >"$folder/out" 2>"$folder/err"
  got=$?
  if [ $got -ne "$status" ] || ! grep -qE -- "$pattern" "$folder/out" "$folder/err"; then
    echo "$name: status $got, expected $status; no line like '$pattern' in:"
    cat "$folder/out" "$folder/err"
    failures=$((failures + 1))
  fi
}

say='echo "$RANK/$LOCAL_RANK of $WORLD_SIZE/$LOCAL_WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT, threads $TENON_NUM_THREADS"'
expect environment 0 '^\[2\] 2/2 of 3/3 at 127\.0\.0\.1:[0-9]+, threads [1-9]' "$tenon" launch -n 3 sh -c "$say"
expect nodes 0 '^\[3\] 3/1 of 4/2 at example\.org:29500' \
  "$tenon" launch -n 2 --nodes 2 --node-rank 1 --master example.org:29500 sh -c "$say"
TENON_NUM_THREADS=7 expect threads 0 'threads 7$' "$tenon" launch -n 2 sh -c "$say"
expect no_newline 0 '^\[1\] half$' "$tenon" launch -n 2 printf half
expect stderr 0 '^\[0\] to stderr$' "$tenon" launch -n 1 sh -c 'echo to stderr >&2'
expect no_prefix 0 '^-x 3 --help$' "$tenon" launch -n 2 --no-prefix printf '%s %s %s\n' -x 3 --help
expect long_line 0 '^\[0\] x+$' "$tenon" launch -n 1 sh -c 'head -c 70000 /dev/zero | tr "\0" x'

# One that fails; the others would go on for a minute, and one of them does not mind SIGTERM.
stubborn='[ "$RANK" = 1 ] && exit 7; [ "$RANK" = 2 ] && trap "" TERM; i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done'
begin=$(date +%s)
expect failure 7 'rank 1 \(process [0-9]+\) exited with status 7; .* ended: 0, 2' \
  "$tenon" launch -n 3 --grace 0.5 sh -c "$stubborn"
expect signal 137 'rank 0 \(process [0-9]+\) was killed by signal 9 \(Killed\)' \
  "$tenon" launch -n 2 sh -c '[ "$RANK" = 0 ] && kill -KILL $$; exec sleep 60'
expect timeout 124 'not finished after 0.3 s' "$tenon" launch -n 2 --timeout 0.3 sleep 60
# What a rank has started ends with it.
expect children 3 'exited with status 3' \
  "$tenon" launch -n 2 sh -c '[ "$RANK" = 0 ] && exit 3; sleep 61 & echo $! >'"$folder/child"'; wait'
if [ -s "$folder/child" ] && kill -0 "$(cat "$folder/child")" 2>/dev/null; then
  echo "children: a process of a rank is left"
  failures=$((failures + 1))
fi

# Signals are passed on.
"$tenon" launch -n 2 sh -c 'trap "echo got INT; exit 5" INT; touch '"$folder"'/up$RANK; while :; do sleep 0.05; done' \
  >"$folder/out" 2>"$folder/err" &
launcher=$!
tries=0
while { [ ! -e "$folder/up0" ] || [ ! -e "$folder/up1" ]; } && [ $tries -lt 200 ]; do
  sleep 0.05
  tries=$((tries + 1))
done
kill -INT $launcher
wait $launcher
status=$?
if [ $status -ne 130 ] || [ "$(grep -c 'got INT' "$folder/out")" != 2 ]; then
  echo "interrupt: status $status, expected 130 and a line of each rank in:"
  cat "$folder/out" "$folder/err"
  failures=$((failures + 1))
fi
[ $(($(date +%s) - begin)) -lt 40 ] || { echo "ranks were not ended in time"; failures=$((failures + 1)); }

expect missing 1 "cannot run '/nonexistent/program': No such file or directory" "$tenon" launch /nonexistent/program
expect no_program 1 'which program' "$tenon" launch -n 2
expect option 1 "unknown option '--rank'" "$tenon" launch --rank 2 true
expect no_master 1 'needs --master ADDR:PORT' "$tenon" launch --nodes 2 true
expect bad_master 1 "'host:99999' is not ADDR:PORT" "$tenon" launch --master host:99999 true
expect node_rank 1 '--node-rank 2 is not below --nodes 2' \
  "$tenon" launch --nodes 2 --node-rank 2 --master a:1 true
exit $failures
