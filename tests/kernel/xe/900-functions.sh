#!/bin/sh
# gover-d reads and steers 64 VFs on four GPUs once a second without a late tick, and each busy VF gets its cap.
top=$(cd "$(dirname "$0")/../../.." && pwd)
. "$top/tests/scenario/lib.sh"
. "$top/tests/kernel/xe/lib.sh"
seconds=20

{
  printf '[daemon]\nsocket = %s\nstate_dir = %s/state\nperiod_ms = 1000\n[fps]\nsocket = %s/fps.sock\n' "$sock" "$dir" "$dir"
  for number in 9 10 19 20; do
    gpu $number
    # The caps are 6 % each, of a round of 100 ms.
    functions normal 4 6 6 6 6 6 6 6 6 6 6 6 6 6 6 6 6
    for vf in $(seq 1 16); do
      load "vf$vf" 100
    done
    printf '[gpu gpu%d]\nbackend = xe\nparent = %s\nsharing = hard\n' $number "$pf"
  done
} >"$conf"
start || exit 1
ok "64 VFs are found" until_ok 30 that /v1/vgpus '.vgpus | length == 64'
ok "all are busy" until_ok 30 that /v1/vgpus '[.vgpus[] | select(.util_pct > 90)] | length == 64'
late=$(get /v1/host .late_ticks)
ticks=$(get /v1/host .ticks)
ok "$seconds periods pass" until_ok $((seconds * 4)) that /v1/host ".ticks >= $ticks + $seconds"
is "no tick is late" "$(($(get /v1/host .late_ticks) - late))" 0
ok "the use of each VF is its cap, within two points" \
  until_ok 10 that /v1/vgpus '[.vgpus[] | select(.load_pct > 4 and .load_pct < 8)] | length == 64'
stop
finish
