#!/bin/sh
# What a guest claims is a stranger's hint: it wins nothing above the contract, is told as what it is where the GPU is
# idle, counts for nobody else, and cannot keep the daemon from its work.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

guest=''
says() { # says FPS [HOW]: from now on
  [ -z "$guest" ] || { kill "$guest" && wait "$guest"; } 2>/dev/null
  "$B/tests/fps-tell" "$dir/ports/vm-liar" "$@" &
  guest=$!
  # shellcheck disable=SC2034 # read by lib.sh
  cleanup="kill $guest 2>/dev/null"
}

most() { # the largest cap that the liar ever had
  history "SELECT max(cap_pct) FROM sample JOIN vgpu ON vgpu.num = sample.vgpu WHERE id = 'liar'"
}

for policy in gover qos; do
  rm -rf "$dir/state"
  conf_extra="ports = $dir/ports
[policy]
name = $policy
[offer]
max_vgpus = 2"
  speed=1 period_ms=200
  sim_conf
  start || exit 1
  sell liar 30 idle '"vm": "vm-liar", "target_fps": 60'
  sell other 20 idle '"vm": "vm-other", "target_fps": 60'
  says 7
  ok "$policy: an idle vGPU's guest claims 7 of 60 FPS" until_ok 30 that /v1/vgpus/liar '.fps > 6 and .fps < 8'
  ok "$policy: which is told as its own doing" until_ok 20 alerts 1 qos_not_gpu_bound liar
  is "$policy: it raises no signal" "$(get /v1/vgpus/liar '"\(.short) \(.overloaded)"')" "true false"
  is "$policy: and is nobody else's" "$(get /v1/vgpus/other '"\(.fps) \(.frames // 0)"')" "null 0"
  load liar busy
  ok "$policy: a busy one that claims so is overloaded" until_ok 30 that /v1/vgpus/liar '.short and .overloaded'
  ok "$policy: and is at its contract" until_ok 30 that /v1/vgpus/liar '.cap_pct == 30'
  periods 20
  stop # the history is whole then
  ok "$policy: with half of the GPU sold to nobody it never had more ($(most) %)" test "$(most)" -le 30
done

start || exit 1
for how in back anew noise flood; do
  before=$(get /v1/host '.fps.dropped + .fps.refused')
  says 7 $how
  ok "a liar ($how) is dropped" until_ok 30 that /v1/host ".fps.dropped + .fps.refused > $before"
  periods 5
  is "it wins no rate by that" "$(get /v1/vgpus/liar '.fps != null and .fps > 20')" false
  is "nor has the other" "$(get /v1/vgpus/other .fps)" null
done
says 50
api PATCH /v1/vgpus/other '{"vm": "vm-liar"}' >/dev/null
ok "two contracts name the machine: it is neither's" until_ok 20 that /v1/vgpus '[.vgpus[].fps] == [null, null]'
api PATCH /v1/vgpus/other '{"vm": "vm-other"}' >/dev/null
ok "who stops to lie is believed again" until_ok 30 that /v1/vgpus/liar '.fps > 45 and .fps < 55'
stop
is "a clean stop" "$stopped" 0
finish
