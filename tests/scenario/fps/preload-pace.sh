#!/bin/sh
# GOVER_FPS_MAX and the limit of the daemon restrict frames per second, with and without counting.
. "$(dirname "$0")/../fps/lib.sh"

ms() { # ms command...: print the run time
  from=$(date +%s%N)
  "$@" >"$dir/paced" 2>&1 || return 1
  echo $((($(date +%s%N) - from) / 1000000))
}

export GOVER_FPS_MAX=200
ok "200 frames at 200 a second take a second" test "$(ms counted direct-glx 200)" -ge 990
is "all 200 are counted" "$(cat "$dir/paced")" "frames 200 programs 1 refused 0 exit 0"
export GOVER_FPS_MAX=62.5
where=off
ok "50 frames at 62.5 a second take 0.8 s, with counting off" test "$(ms drawing direct-egl 50)" -ge 780
ok "errno is kept" drawing errno 10
unset GOVER_FPS_MAX where

# A frame takes 5 ms until the limit of the daemon arrives, about 2 s after the start. Then a frame takes 20 ms.
export GOVER_FPS_MAX=1000 FPS_SINK_LIMIT_NS=20000000
took=$(ms counted direct-glx 600 5000)
ok "600 frames that are limited while they are drawn take $took ms" test "$took" -ge 4500
is "all 600 are counted" "$(cat "$dir/paced")" "frames 600 programs 1 refused 0 exit 0"
FPS_SINK_LIMIT_NS=20000000000
is "an invalid limit is ignored" "$(counted direct-glx 600 5000)" "frames 600 programs 1 refused 0 exit 0"
finish
