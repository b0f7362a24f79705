#!/bin/sh
# gover-d is killed KILLS (100) times while programs draw: they draw every frame, and the next daemon counts them again.
# Frame times with and without the preload are printed for information.
. "$(dirname "$0")/../fps/lib.sh"
kills=${KILLS:-${GOVER_ASAN:+20}}
kills=${kills:-100} # fewer with a sanitizer, which slows the start
sim_conf

killing() { # killing: starts gover-d repeatedly and kills it after 0 to 90 ms
  killed=0
  while [ "$killed" -lt "$kills" ]; do
    "$B/gover-d" --config "$conf" >>"$dir/log" 2>&1 &
    daemon_pid=$!
    until_ok 20 test -S "$sock" || return 1
    sleep "0.0$((killed % 10))"
    kill -KILL "$daemon_pid"
    wait "$daemon_pid" 2>/dev/null
    rm -f "$sock"
    killed=$((killed + 1))
  done
  daemon_pid=''
}

paced() { # paced NAME: start a program that draws about 450 frames a second until it gets SIGTERM
  env LD_LIBRARY_PATH="$gl" LD_PRELOAD="$preload" GOVER_FPS="${where-unix:$fps}" \
    "$B/tests/fps-draw" timed 1000000 2000 >"$dir/$1" 2>"$dir/$1.err" &
  drawers="$drawers $!"
}

# shellcheck disable=SC2034,SC2016 # read by lib.sh at exit
cleanup='kill $drawers 2>/dev/null'
drawers=''
# Programs with and without reports run at the same time, under the same load.
for i in 1 2; do
  paced "with$i"
  where=off
  paced "without$i"
  unset where
done
begun=$(date +%s%N)
ok "gover-d is killed $kills times" killing
echo "# in $((($(date +%s%N) - begun) / 1000000)) ms (load: $(cut -d ' ' -f 1-3 /proc/loadavg))"
ok "the next daemon starts" start
ok "it counts all programs again" until_ok 60 that /v1/host ".fps.open == 2"
for drawer in $drawers; do
  kill "$drawer"
  ok "every frame of a program was drawn" wait "$drawer"
done
is "the programs printed nothing" "$(cat "$dir"/with*.err)" ""
stop
sed 's/^/# with: /' "$dir"/with[12]
sed 's/^/# without: /' "$dir"/without[12]
finish
