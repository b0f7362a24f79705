#!/bin/sh
# Inside check-guest's virtual machine: gover-d and programs that report to it over vsock. The loopback has the CID 1,
# which no contract can have, as it is no virtual machine's; so the contract's file is changed by hand.
top=$(cd "$(dirname "$0")/../.." && pwd)
export GOVER_POLL=4 # read by lib.sh as it is sourced
# shellcheck source=tests/scenario/lib.sh
. "$top/tests/scenario/lib.sh"
# shellcheck source=tests/scenario/300-lib.sh
. "$top/tests/scenario/300-lib.sh"
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

ok "a program whose machine has no vGPU notices nothing" silent drawing direct-glx 150 10000
ok "it is refused" that /v1/host '.fps.refused > 0'
is "and counts for nobody" "$(get /v1/vgpus '[.vgpus[].frames // 0] | add')" 0
stop
rm -f "$dir"/state/history.db*
sed -i 's/"cid": *3\b/"cid": 1/' "$dir/state/contracts.json"
start || exit 1
is "the contract says 1 now" "$(get /v1/vgpus/web .cid)" 1
ok "a program draws 200 frames" silent drawing direct-glx 200 10000
ok "200 are counted" until_ok 20 has 200
ok "16 threads draw 20 each" silent drawing threads 20 20000
ok "320 more are counted" until_ok 20 has 520
is "one vGPU has them all" "$(get /v1/vgpus/other '.frames // 0')" 0

# Who ends without exit(), or is replaced, has told what it had drawn a second ago at the latest.
ok "a program forks, and both draw on" silent drawing fork 200 10000
ok "400 of the parent are counted, and of the child its whole seconds" \
  until_ok 20 that /v1/vgpus/web '.frames > 920 and .frames <= 1120'
settled() { # prints how many are counted when two looks, two periods apart, see the same
  seen=''
  until [ "$seen" = "$(get /v1/vgpus/web .frames)" ]; do
    seen=$(get /v1/vgpus/web .frames)
    sleep 1
  done
  echo "$seen"
}
before=$(settled)
ok "a program becomes another" silent drawing exec 200 10000
ok "200 of the second are counted, and of the first its whole seconds" \
  until_ok 20 that /v1/vgpus/web ".frames > $((before + 200)) and .frames <= $((before + 400))"
before=$(settled)

drawing direct-glx 400 10000 >"$dir/said" 2>&1 &
program=$!
ok "the wall clock goes a day ahead, and two back, beneath a program and its daemon" \
  sh -c 'sleep 1; date -s "+1 day"; sleep 1; date -s "-2 days"; sleep 1; date -s "+1 day"'
wait "$program"
is "it notices nothing" "$? $(cat "$dir/said")" "0 "
ok "400 more are counted" until_ok 20 has $((before + 400))
before=$((before + 400))

kill -STOP "$daemon_pid"
drawing direct-egl 300 10000 >"$dir/said" 2>&1
is "a daemon that stands still does not hold a program up" "$? $(cat "$dir/said")" "0 "
kill -CONT "$daemon_pid"
ok "and counts its frames when it goes on" until_ok 20 has $((before + 300))

drawing direct-glx 2000 5000 >"$dir/said" 2>&1 &
program=$!
# shellcheck disable=SC2034 # read by lib.sh
cleanup="kill $program 2>/dev/null"
ok "a program has a rate" until_ok 20 that /v1/vgpus/web '.fps > 0'
stop KILL
start || exit 1
ok "a daemon that was killed is found again" until_ok 30 that /v1/vgpus/web '.frames > 0 and .fps > 0'
kill -KILL "$program"
ok "the killed program's connection ends" until_ok 20 that /v1/host '.fps.open == 0'
ok "and with it its rate" until_ok 20 that /v1/vgpus/web '.fps == null'

# --- a limit of frames a second, told back ---

limit() { # limit FPS: from now on
  ctl vgpu set web --fps-limit "$1" >"$dir/set"
}

rate() { # rate FILTER: of what .fps will be
  until_ok 30 that /v1/vgpus/web ".fps != null and (.fps | $1)"
}

orders() { # orders N: so many did the program hear of
  [ "$(grep -c ordered "$dir/said")" -eq "$1" ]
}

GOVER_FPS_DEBUG=1 drawing direct-glx 1000000 5000 >"$dir/said" 2>&1 &
program=$!
ok "a program without a limit draws many frames a second" rate '. > 20'
ok "a limit of 5 is set beneath it" limit 5
ok "it draws no more" rate '. > 0 and . < 8'
ok "a limit of 2 is set" limit 2
ok "it draws no more" rate '. > 0 and . < 4'
ok "a limit of 0 lifts it" limit 0
ok "it draws as before" rate '. > 20'
is "each was told once" "$(sed -n 's/.*ordered: //p' "$dir/said" | tr '\n' ,)" \
  "200000000 ns a frame at least,500000000 ns a frame at least,0 ns a frame at least,"

away() { # away SED: the daemon is killed, and its contracts are others when it comes back
  stop KILL
  until_ok 20 grep -q 'no way to the host' "$dir/said"
  sed -i "$1" "$dir/state/contracts.json"
  rm -f "$dir"/state/history.db*
}

limit 5
ok "it hears of a limit of 5 again" until_ok 20 orders 4
away 's/"cid": *1\b/"cid": 9/'
is "which stands while the daemon is away" "$(sed -n 's/.*ordered: //p' "$dir/said" | tail -n 1)" "200000000 ns a frame at least"
start || exit 1
ok "who has no contract any more has no limit" until_ok 30 orders 5
away 's/"cid": *9\b/"cid": 1/'
start || exit 1
ok "and who has one again has its limit" until_ok 30 orders 6
ok "it draws no more" rate '. > 0 and . < 8'
ctl vgpu remove web >"$dir/set"
ok "nor has it one when the contract ends beneath it" until_ok 30 orders 7
is "these were the limits" "$(sed -n 's/.*ordered: //p' "$dir/said" | tail -n 4 | cut -d ' ' -f 1 | tr '\n' ,)" \
  200000000,0,200000000,0,
kill -KILL "$program"
stop
is "a clean stop" "$stopped" 0
finish
