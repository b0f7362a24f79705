#!/bin/sh
# Every policy sells by its own rule. An offer remains while nothing changes and states the first cap of the new vGPU;
# the claim gives that cap. The cap of a removed vGPU returns by the same rule.
. "$(dirname "$0")/../lib.sh"

conf_extra='[policy]
fund_window_s = 2
predict_warm_periods = 3
[offer]
flavor_cap_pct = 50
max_vgpus = 3
ttl_s = 600
probation_s = 1'
start_sim
for v in a b; do sell $v 50 load:pct=5; done
open='[.offers[] | select(.state == "open")]'

sells() { # sells POLICY FUNDABLE: tests the first cap of a new vGPU beside two vGPUs that use 5 % each
  api PATCH /v1/policy "{\"name\": \"$1\"}" >/dev/null
  ok "$1 makes an offer" until_ok 20 that /v1/offers "$open | length == 1"
  id=$(get /v1/offers "${open}[0].id")
  periods 5
  is "$1: the offer does not change" "$(get /v1/offers "${open}[0] | \"\(.id) \(.fundable_pct)\"")" "$id $2"
  claim "$id" "key-$1" new '"labels": {"workload": "idle"}'
  is "$1: the new vGPU has the offered cap" "$(status) $(gojq -r .vgpu.cap_pct "$dir/body")" "200 $2"
  ok "$1: the caps fit the GPU" that /v1/gpus '.gpus[0].sum_cap_pct <= 100'
  ok "$1: the sale is kept" until_ok 20 that "/v1/offers?all=true" ".offers[] | select(.id == $id) | .state == \"kept\""
  ok "$1: the caps fit the GPU after probation" that /v1/gpus '.gpus[0].sum_cap_pct <= 100'
  api DELETE /v1/vgpus/new >/dev/null
  is "$1: the vGPU is removed" "$(status)" 204
}

sells none 33
ok "a and b have equal shares again" until_ok 10 that /v1/vgpus '[.vgpus[].cap_pct] == [50, 50]'
sells static 25
ok "a and b have their caps again" until_ok 10 that /v1/vgpus '[.vgpus[].cap_pct] == [25, 25]'
for name in credit fair p99 nsigma max gover; do
  sells "$name" 50
done
finish
