#!/bin/sh
# GOVER_FPS_DEBUG=1 prints that the frames of a program in no vGPU are not counted.
. "$(dirname "$0")/../fps/lib.sh"

sim_conf
start || exit 1
GOVER_FPS_DEBUG=1 drawing direct-glx 20000 2000 2>"$dir/said" &
program=$!
# shellcheck disable=SC2034 # read by lib.sh
cleanup="kill $program 2>/dev/null"
ok "a program connects" until_ok 20 grep -q "connected to $fps" "$dir/said"
ok "it prints that it is in no vGPU, with its control group" until_ok 20 grep -qF \
  "this process is in no vGPU: its frames are not counted (control group: $(head -n 1 /proc/$program/cgroup))" "$dir/said"
ok "the daemon counts it as such" that /v1/host '.fps.unmatched == 1'
kill $program
wait $program 2>/dev/null
finish
