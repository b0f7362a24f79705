#!/bin/sh
# An offer from calm to kept: claimed once, funded by the others, watched, kept; and one that nobody claims expires.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra='[policy]
fund_window_s = 2
[offer]
flavor_cap_pct = 50
flavor_target_fps = 60
max_vgpus = 3
ttl_s = 3
probation_s = 2'
sim_conf
start || exit 1
light=frame:gpu_ms=1,cpu_ms=4,fps_max=62
for v in a b; do sell $v 50 $light '"target_fps": 60'; done
open='[.offers[] | select(.state == "open")]'
ok "calm and little load: an offer" until_ok 20 that /v1/offers "$open | length == 1"
first=$(get /v1/offers "${open}[0].id")
ok "nobody claims it: it expires" until_ok 20 that "/v1/offers?all=true" ".offers[] | select(.id == $first) | .state == \"expired\""
ok "calm is counted anew: another" until_ok 20 that /v1/offers "$open | length == 1"
id=$(get /v1/offers "${open}[0].id")
is "there is one at a time" "$(get /v1/offers '.offers | length')" 1
is "it is the flavour" "$(get /v1/offers "${open}[0] | \"\(.initial_cap_pct) \(.target_fps)\"")" "50 60"

light_vm="\"vm\": \"vm-new\", \"labels\": {\"workload\": \"$light\"}"
claim "$id" key-1 new "$light_vm"
is "the first claimant wins" "$(status)" 200
is "and has its vGPU" "$(jq -r '.vgpu.id + " " + .vgpu.vm' "$dir/body")" "new vm-new"
ok "funded by the others, at least min_newcomer_pct" jq -e '.vgpu.cap_pct >= 10' "$dir/body"
ok "it is on probation" that /v1/vgpus/new '.state == "probation"'
claim "$id" key-1 new "$light_vm"
is "the same key again is the same claim" "$(status) $(jq -r .vgpu.id "$dir/body")" "200 new"
claim "$id" key-2 other
is "a second claimant is refused" "$(status)" 409
is "and gets nothing" "$(get /v1/vgpus '.vgpus | length')" 3
ok "the caps still fit" that /v1/gpus '.gpus[0].sum_cap_pct <= 100'
is "oversold" "$(get /v1/gpus '.gpus[0].overbooking_ratio')" 1.5
ok "no further offer meanwhile" that /v1/offers "$open | length == 0"
ok "it is kept" until_ok 20 that "/v1/offers?all=true" ".offers[] | select(.id == $id) | .state == \"kept\""
is "who funded stands in a decision" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "fund")] | length')" 1
periods 8
ok "the house is full: no offer beyond max_vgpus" that /v1/offers "$open | length == 0"
api DELETE /v1/vgpus/new >/dev/null
is "only a client removes" "$(status)" 204
ok "what it leaves returns to the others" until_ok 10 that /v1/gpus '.gpus[0].sum_cap_pct == 100'
ctl drain gpu0 >/dev/null
periods 8
ok "drained: no more offers" that /v1/offers "$open | length == 0"
stop
finish
