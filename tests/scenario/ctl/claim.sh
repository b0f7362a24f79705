#!/bin/sh
# Claiming an offer. A repeated claim sells only one vGPU.
. "$(dirname "$0")/../lib.sh"

conf_extra='[offer]
flavor_cap_pct = 30
ttl_s = 600
probation_s = 600'
start_sim
ok "the first vGPU is added" ctl vgpu add first --cap 50 --label workload=idle
ok "without overload an offer is made" until_ok 30 that /v1/offers '.offers | length == 1'
id=$(get /v1/offers '.offers[0].id')
ok "the list shows it" sh -c "'$B/gover-ctl' --socket '$sock' offers | grep -q 'open'"
ok "status shows how to claim it" sh -c "'$B/gover-ctl' --socket '$sock' status | grep -q 'claim $id --id NAME'"
ctl claim "$id" --id newcomer --vm vm-9 --target-fps 25 --label workload=idle --key k1 >"$dir/first" 2>&1
is "the offer is claimed" "$?" 0
ok "the new vGPU is printed" grep -q "claimed: offer $id: newcomer (vm vm-9) on gpu0" "$dir/first"
is "the claimed vGPU exists" "$(get /v1/vgpus/newcomer '[.initial_cap_pct, .target_fps, .state] | tostring')" '[30,25,"probation"]'
ok "repeating the claim succeeds" ctl claim "$id" --id newcomer --vm vm-9 --target-fps 25 --label workload=idle --key k1
ctl claim "$id" --id newcomer --key k1 >"$dir/other" 2>&1
ok "a claim with other terms and the same key is rejected" grep -q 'Idempotency-Key: k1 was used for a different request' "$dir/other"
ok "another claim is rejected" sh -c "! '$B/gover-ctl' --socket '$sock' claim $id --id late"
is "the host has two vGPUs" "$(get /v1/vgpus '.vgpus | length')" 2
finish
