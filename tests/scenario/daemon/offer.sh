#!/bin/sh
# A calm GPU makes an offer. It can be claimed once, the other vGPUs give cap to the new vGPU, and the sale is kept
# after the probation. An unclaimed offer expires.
. "$(dirname "$0")/../lib.sh"

conf_extra='[policy]
fund_window_s = 2
[offer]
flavor_cap_pct = 50
flavor_target_fps = 60
max_vgpus = 3
ttl_s = 3
probation_s = 2'
start_sim
light=frame:gpu_ms=1,cpu_ms=4,fps_max=62
for v in a b; do sell $v 50 $light '"target_fps": 60'; done
open='[.offers[] | select(.state == "open")]'
ok "a calm GPU with little load makes an offer" until_ok 20 that /v1/offers "$open | length == 1"
first=$(get /v1/offers "${open}[0].id")
api PATCH /v1/policy '{"ttl_s": 600}' >/dev/null # the next offers stay open until they are claimed
ok "an unclaimed offer expires" until_ok 20 that "/v1/offers?all=true" ".offers[] | select(.id == $first) | .state == \"expired\""
ok "after new calm periods the GPU makes another offer" until_ok 20 that /v1/offers "$open | length == 1"
id=$(get /v1/offers "${open}[0].id")
is "a GPU has one open offer at a time" "$(get /v1/offers '.offers | length')" 1
is "the offer has the values of the flavour" \
  "$(get /v1/offers "${open}[0] | \"\(.flavor) \(.initial_cap_pct) \(.target_fps)\"")" "default 50 60"

light_vm="\"vm\": \"vm-new\", \"labels\": {\"workload\": \"$light\"}"
claim "$id" key-1 new "$light_vm"
is "the first claim succeeds" "$(status)" 200
is "the claim returns its vGPU" "$(gojq -r '.vgpu.id + " " + .vgpu.vm' "$dir/body")" "new vm-new"
ok "the new vGPU is funded with at least min_newcomer_pct" gojq -e '.vgpu.cap_pct >= 10' "$dir/body"
ok "the new vGPU is on probation" that /v1/vgpus/new '.state == "probation"'
claim "$id" key-1 new "$light_vm"
is "the same key returns the same claim" "$(status) $(gojq -r .vgpu.id "$dir/body")" "200 new"
claim "$id" key-2 other
is "a second claim is rejected" "$(status)" 409
is "a rejected claim creates no vGPU" "$(get /v1/vgpus '.vgpus | length')" 3
ok "the caps fit the GPU" that /v1/gpus '.gpus[0].sum_cap_pct <= 100'
is "the GPU is oversold" "$(get /v1/gpus '.gpus[0].overbooking_ratio')" 1.5
ok "the GPU makes no offer during probation" that /v1/offers "$open | length == 0"
ok "the sale is kept" until_ok 20 that "/v1/offers?all=true" ".offers[] | select(.id == $id) | .state == \"kept\""
is "a decision records the funding" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "fund")] | length')" 1
periods 8
ok "a GPU with max_vgpus vGPUs makes no offer" that /v1/offers "$open | length == 0"
api DELETE /v1/vgpus/new >/dev/null
is "a client removes the vGPU" "$(status)" 204
ok "the freed cap returns to the others" until_ok 10 that /v1/gpus '.gpus[0].sum_cap_pct == 100'
ctl drain gpu0 >/dev/null
periods 8
ok "a drained GPU makes no offer" that /v1/offers "$open | length == 0"
finish
