#!/bin/sh
# A daemon that was stopped for some periods records a late tick and a gap. A gap does not count as calm, as a breach,
# or as an external change.
. "$(dirname "$0")/../lib.sh"

period_ms=250 speed=4
conf_extra='[policy]
quiet_periods = 1000'
start_sim
for v in a b; do
  sell "$v" 50 load:pct=10
done
ok "calm periods are counted" until_ok 20 that /v1/gpus '.gpus[0].calm_periods > 6'
before=$(get /v1/host '"\(.late_ticks) \(.gaps)"')
calm=$(get /v1/gpus '.gpus[0].calm_periods')
kill -STOP "$daemon_pid"
sleep 0.6
kill -CONT "$daemon_pid"
ok "a late tick is counted" until_ok 10 that /v1/host ".late_ticks > ${before% *}"
ok "a gap is counted" until_ok 10 that /v1/host ".gaps > ${before#* }"
ok "calm periods are counted from 0 again" that /v1/gpus ".gpus[0].calm_periods < $calm"
ok "calm periods are counted again" until_ok 10 that /v1/gpus '.gpus[0].calm_periods > 1'
is "no vGPU is put on hold" "$(get /v1/vgpus '[.vgpus[].held] | any')" false
is "no alert is raised" "$(get '/v1/alerts?all=true' '.alerts | length')" 0
ok "the history marks the gap" until_ok 10 recorded "SELECT * FROM sample WHERE gap"
finish
