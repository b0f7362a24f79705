#!/bin/sh
# Runs in the virtual machine of check-guest: programs report over vsock to gover-d. The loopback has CID 1. REST
# rejects this CID, so the test writes it into the contracts file.
top=$(cd "$(dirname "$0")/../.." && pwd)
export GOVER_POLL=4 # read by lib.sh as it is sourced
. "$top/tests/scenario/lib.sh"
. "$top/tests/scenario/fps/lib.sh"
# shellcheck disable=SC2034 # read by drawing
where=vsock:1:7007

# shellcheck disable=SC2034 # read by lib.sh
conf_extra='vsock_port = 7007' speed=1 period_ms=500
sim_conf
start || exit 1
sell web 50 idle '"vm": "vm-web", "cid": 3, "target_fps": 60'
sell other 30 idle '"vm": "vm-other", "cid": 4, "target_fps": 60'

silent() { # silent command...: succeeds and prints nothing
  "$@" >"$dir/said" 2>&1 && ! grep . "$dir/said"
}

has() { # has FRAMES
  that /v1/vgpus/web ".frames == $1"
}

ok "a program without a vGPU runs undisturbed" silent drawing direct-glx 150 10000
ok "its connection is refused" that /v1/host '.fps.refused > 0'
is "its frames are not counted" "$(get /v1/vgpus '[.vgpus[].frames // 0] | add')" 0
stop
rm -f "$dir"/state/history.db*
sed -i 's/"cid": *3\b/"cid": 1/' "$dir/state/contracts.json"
start || exit 1
is "the contract now has CID 1" "$(get /v1/vgpus/web .cid)" 1
ok "a program draws 200 frames" silent drawing direct-glx 200 10000
ok "200 are counted" until_ok 20 has 200
ok "16 threads draw 20 each" silent drawing threads 20 20000
ok "320 more are counted" until_ok 20 has 520
is "the other vGPU has none" "$(get /v1/vgpus/other '.frames // 0')" 0

# A program reports once a second. If it calls exec() or ends without exit(), the frames of its last second are not
# reported.
ok "a program forks, and both processes draw" silent drawing fork 200 10000
ok "400 of the parent are counted, and those of the child's full seconds" \
  until_ok 20 that /v1/vgpus/web '.frames > 920 and .frames <= 1120'
settled() { # print the number of frames once it has stopped changing
  seen=''
  until [ "$seen" = "$(get /v1/vgpus/web .frames)" ]; do
    seen=$(get /v1/vgpus/web .frames)
    sleep 1
  done
  echo "$seen"
}
before=$(settled)
ok "a program calls exec" silent drawing exec 200 10000
ok "200 of the second are counted, and those of the first's full seconds" \
  until_ok 20 that /v1/vgpus/web ".frames > $((before + 200)) and .frames <= $((before + 400))"
before=$(settled)
ok "a program exits with a pending cancellation" silent drawing cancelled 200 10000
ok "200 more are counted" until_ok 20 has $((before + 200))
before=$((before + 200))

drawing direct-glx 400 10000 >"$dir/said" 2>&1 &
program=$!
ok "the wall clock jumps by a day forward and backward" \
  sh -c 'sleep 1; date -s "+1 day"; sleep 1; date -s "-2 days"; sleep 1; date -s "+1 day"'
wait "$program"
is "the program runs undisturbed" "$? $(cat "$dir/said")" "0 "
ok "400 more are counted" until_ok 20 has $((before + 400))
before=$((before + 400))

kill -STOP "$daemon_pid"
drawing direct-egl 300 10000 >"$dir/said" 2>&1
is "a stopped daemon does not block a program" "$? $(cat "$dir/said")" "0 "
kill -CONT "$daemon_pid"
ok "the daemon counts its frames when it continues" until_ok 20 has $((before + 300))

drawing direct-glx 2000 5000 >"$dir/said" 2>&1 &
program=$!
# shellcheck disable=SC2034 # read by lib.sh
cleanup="kill $program 2>/dev/null"
ok "a program has a rate" until_ok 20 that /v1/vgpus/web '.fps > 0'
stop KILL
start || exit 1
ok "the program reconnects to a restarted daemon" until_ok 30 that /v1/vgpus/web '.frames > 0 and .fps > 0'
kill -KILL "$program"
ok "the killed program's connection ends" until_ok 20 that /v1/host '.fps.open == 0'
ok "its rate ends, too" until_ok 20 that /v1/vgpus/web '.fps == null'

# --- frame rate limit ---

limit() { # limit FPS: set the limit
  ctl vgpu set web --fps-limit "$1" >"$dir/set"
}

rate() { # rate FILTER: wait until .fps matches
  until_ok 30 that /v1/vgpus/web ".fps != null and (.fps | $1)"
}

limits() { # limits N: succeeds if the program has received N limits
  [ "$(grep -c 'frame limit' "$dir/said")" -eq "$1" ]
}

GOVER_FPS_DEBUG=1 drawing direct-glx 1000000 5000 >"$dir/said" 2>&1 &
program=$!
ok "a program without a limit draws many frames a second" rate '. > 20'
ok "a limit of 5 is set while it runs" limit 5
ok "it draws no more" rate '. > 0 and . < 8'
ok "a limit of 2 is set" limit 2
ok "it draws no more" rate '. > 0 and . < 4'
ok "a limit of 0 lifts it" limit 0
ok "it is not limited any more" rate '. > 20'
is "each was sent once" "$(sed -n 's/.*frame limit: at least //p' "$dir/said" | tr '\n' ,)" \
  "200000000 ns a frame,500000000 ns a frame,0 ns a frame,"

away() { # away SED: kill the daemon and edit its contracts
  stop KILL
  until_ok 20 grep -q 'cannot reach the host' "$dir/said"
  sed -i "$1" "$dir/state/contracts.json"
  rm -f "$dir"/state/history.db*
}

limit 5
ok "it receives a limit of 5 again" until_ok 20 limits 4
away 's/"cid": *1\b/"cid": 9/'
is "it stays in force while the daemon is away" "$(sed -n 's/.*frame limit: at least //p' "$dir/said" | tail -n 1)" "200000000 ns a frame"
start || exit 1
ok "without a contract the limit is lifted" until_ok 30 limits 5
away 's/"cid": *9\b/"cid": 1/'
start || exit 1
ok "with a contract the limit is back" until_ok 30 limits 6
ok "it draws no more" rate '. > 0 and . < 8'
ctl vgpu remove web >"$dir/set"
ok "removing the vGPU lifts the limit" until_ok 30 limits 7
is "all limits" "$(sed -n 's/.*frame limit: at least //p' "$dir/said" | tail -n 4 | cut -d ' ' -f 1 | tr '\n' ,)" \
  200000000,0,200000000,0,
kill -KILL "$program"
stop
is "a clean stop" "$stopped" 0
finish
