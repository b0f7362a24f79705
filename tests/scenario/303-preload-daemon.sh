#!/bin/sh
# The daemon comes late, is killed, and comes back: the program goes on and is counted again.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/scenario/300-lib.sh
. "$(dirname "$0")/300-lib.sh"

sink() { # sink NAME: a daemon's end that goes on until it is killed, its counts in a file
  "$B/tests/fps-sink" "$fps" >"$dir/$1" 2>&1 &
  sink=$!
  cleanup="kill $program $sink 2>/dev/null"
}

frames() { # frames NAME: the last count, 0 when there is none
  sed -n 's/^frames \([0-9]*\) .*/\1/p' "$dir/$1" | tail -n 1 | grep . || echo 0
}

rises() { # rises NAME: frames are counted, and for a second: a connection lost at once is not tried again soon
  [ "$(grep -c '^frames [1-9]' "$dir/$1")" -ge 2 ]
}

env LD_LIBRARY_PATH="$gl" LD_PRELOAD="$preload" GOVER_FPS="unix:$fps" GOVER_FPS_DEBUG=1 \
  "$B/tests/fps-draw" direct-glx 20000 2000 2>"$dir/said" &
program=$!
# shellcheck disable=SC2034 # read by lib.sh
cleanup="kill $program 2>/dev/null"
ok "a program looks for a daemon in vain" until_ok 20 grep -q "cannot connect to" "$dir/said"
sink first
ok "a daemon that comes after the program counts it" until_ok 30 rises first
kill -KILL "$sink"
wait "$sink" 2>/dev/null
ok "killed: the socket is still there" test -S "$fps"
ok "and the program goes on" kill -0 "$program"
sink second
ok "the next daemon takes the stale socket and counts on" until_ok 30 rises second
ok "frames of the time before are not counted as if they came now" test "$(frames second)" -lt 3000
kill "$sink"
wait "$sink" 2>/dev/null
ok "a clean end takes the socket away" test ! -e "$fps"
sink third
ok "and once more" until_ok 30 rises third
ok "the same program all the time" kill -0 "$program"
is "there is one program" "$(sed -n 's/.*programs \([0-9]*\) .*/\1/p' "$dir/third" | tail -n 1)" 1
finish
