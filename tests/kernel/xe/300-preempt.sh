#!/bin/sh
# Endless work keeps the GPU without a preemption timeout, and is reset with one. A stopped VF has no time.
top=$(cd "$(dirname "$0")/../../.." && pwd)
. "$top/tests/scenario/lib.sh"
. "$top/tests/kernel/xe/lib.sh"

active() { # active VF: its active time of half a second, in hundredths of a percent
  "$B/kernel/xe-pmu" shares "$pmu_type" 500 0 1 2 | awk -v i="$1" '$1 == i { print $2 }'
}

gpu 7
functions low 1 20 30
load vf1 endless
load vf2 100
sleep 0.5
is "without a timeout, endless work keeps the GPU" "$(active 2)" 0
is "its load is endless" "$(cat "$device/gover_sim/vf1")" endless

functions low 1 20 30
echo 40000 >"$admin/vf1/profile/preempt_timeout_us"
load vf1 endless
load vf2 100
ok "with a timeout it is reset" until_ok 20 grep -q '^0$' "$device/gover_sim/vf1"
ok "the other VF has the GPU" test "$(active 2)" -ge 9500

load vf1 100
ok "both are busy" test "$(active 1)" -ge 3500
echo 1 >"$admin/vf1/stop"
is "a stopped VF has no time" "$(active 1)" 0
functions low 1 20 30
load vf1 100
ok "it runs again after it is enabled again" test "$(active 1)" -ge 9500
finish
