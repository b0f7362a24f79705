#!/bin/sh
# Mode observe logs decisions without writing caps, mode frozen makes no decisions, and a dry run changes nothing.
. "$(dirname "$0")/../lib.sh"

conf_extra=$unfunded
start_sim
sell a 80 load:pct=10
sell b 50 idle
api PATCH /v1/gpus/gpu0 '{"mode": "observe"}' >/dev/null
load b busy
ok "in mode observe a steal is decided" until_ok 20 that '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "steal")] | length > 0'
is "in mode observe the steal is not written" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "steal").result] | unique | join(" ")')" observed
is "in mode observe caps do not change" "$(get /v1/vgpus '[.vgpus[].cap_pct] | join(" ")')" "80 20"
api PATCH /v1/gpus/gpu0 '{"mode": "frozen"}' >/dev/null
id=$(get '/v1/decisions?limit=1' '.decisions[-1].id')
periods 8
is "in mode frozen no decision is made" "$(get "/v1/decisions?after=$id" '.decisions | length')" 0
stop
start --dry-run || exit 1
is "a dry run is reported" "$(get /v1/host .dry_run)" true
sell c 50
ok "a dry run creates no vGPU" test "$(status)" -ge 400
finish
