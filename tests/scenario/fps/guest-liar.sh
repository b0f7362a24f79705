#!/bin/sh
# Reports of a guest are untrusted. False reports give its vGPU no cap above its contract, affect no other vGPU, and
# do not keep the daemon busy. Low FPS on an idle GPU is reported as not GPU-bound.
. "$(dirname "$0")/../lib.sh"

guest=''
claim() { # claim FPS [HOW]: restart the fake reporter
  [ -z "$guest" ] || { kill "$guest" && wait "$guest"; } 2>/dev/null
  "$B/tests/fps-report" "$dir/ports/vm-liar" "$@" &
  guest=$!
  # shellcheck disable=SC2034 # read by lib.sh
  cleanup="kill $guest 2>/dev/null"
}

most() { # prints the largest cap of the vGPU with false reports
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
  claim 7
  ok "$policy: an idle vGPU's guest reports 7 of 60 FPS" until_ok 30 that /v1/vgpus/liar '.fps > 6 and .fps < 8'
  ok "$policy: an alert says that the GPU is not the bottleneck" until_ok 20 alerts 1 qos_not_gpu_bound liar
  is "$policy: it is short but not overloaded" "$(get /v1/vgpus/liar '"\(.short) \(.overloaded)"')" "true false"
  is "$policy: the other vGPU has no frames" "$(get /v1/vgpus/other '"\(.fps) \(.frames // 0)"')" "null 0"
  load liar busy
  ok "$policy: with a busy GPU it is overloaded" until_ok 30 that /v1/vgpus/liar '.short and .overloaded'
  ok "$policy: it gets its contract" until_ok 30 that /v1/vgpus/liar '.cap_pct == 30'
  periods 20
  stop # writes all samples to the history
  ok "$policy: it never had more ($(most) %), though half of the GPU is unsold" test "$(most)" -le 30
done

start || exit 1
for how in back new-ids noise flood; do
  before=$(get /v1/host '.fps.dropped + .fps.refused')
  claim 7 $how
  ok "false reports ($how) are dropped" until_ok 30 that /v1/host ".fps.dropped + .fps.refused > $before"
  periods 5
  is "they give no rate" "$(get /v1/vgpus/liar '.fps != null and .fps > 20')" false
  is "the other vGPU has none, either" "$(get /v1/vgpus/other .fps)" null
done
claim 50
api PATCH /v1/vgpus/other '{"vm": "vm-liar"}' >/dev/null
ok "two contracts name the virtual machine: it counts for neither" until_ok 20 that /v1/vgpus '[.vgpus[].fps] == [null, null]'
api PATCH /v1/vgpus/other '{"vm": "vm-other"}' >/dev/null
ok "correct reports count again" until_ok 30 that /v1/vgpus/liar '.fps > 45 and .fps < 55'
finish
