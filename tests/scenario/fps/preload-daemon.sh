#!/bin/sh
# The daemon starts late, is killed, and starts again: the program continues, and its frames are counted again.
. "$(dirname "$0")/../fps/lib.sh"

sink() { # sink NAME: start a fake daemon that writes its counters to a file
  "$B/tests/fps-sink" "$fps" >"$dir/$1" 2>&1 &
  sink=$!
  cleanup="kill $program $sink 2>/dev/null"
}

frames() { # frames NAME: print the last counter, or 0
  sed -n 's/^frames \([0-9]*\) .*/\1/p' "$dir/$1" | tail -n 1 | grep . || echo 0
}

rises() { # rises NAME: succeeds after two counts, because the first count may precede a lost connection
  [ "$(grep -c '^frames [1-9]' "$dir/$1")" -ge 2 ]
}

env LD_LIBRARY_PATH="$gl" LD_PRELOAD="$preload" GOVER_FPS="unix:$fps" GOVER_FPS_DEBUG=1 \
  "$B/tests/fps-draw" direct-glx 20000 2000 2>"$dir/said" &
program=$!
# shellcheck disable=SC2034 # read by lib.sh
cleanup="kill $program 2>/dev/null"
ok "a program cannot connect without a daemon" until_ok 20 grep -q "cannot connect to" "$dir/said"
sink first
ok "a daemon started later counts its frames" until_ok 30 rises first
kill -KILL "$sink"
wait "$sink" 2>/dev/null
ok "a killed daemon leaves its socket" test -S "$fps"
ok "the program keeps running" kill -0 "$program"
sink second
ok "the next daemon replaces the stale socket and counts" until_ok 30 rises second
ok "earlier frames are not counted as new ones" test "$(frames second)" -lt 3000
kill "$sink"
wait "$sink" 2>/dev/null
ok "a clean stop removes the socket" test ! -e "$fps"
sink third
ok "a third daemon counts, too" until_ok 30 rises third
ok "the program is still running" kill -0 "$program"
is "it is counted as one program" "$(sed -n 's/.*programs \([0-9]*\) .*/\1/p' "$dir/third" | tail -n 1)" 1
finish
