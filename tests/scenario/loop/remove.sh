#!/bin/sh
# A vGPU is removed while its tenant and another tenant are busy: the loop continues, the other vGPU is not affected,
# and a new vGPU with the same name gets the contract and the cap of the removed vGPU.
. "$(dirname "$0")/../host.sh"

conf_extra='[offer]
max_vgpus = 2'
host_vfs='b:40 a:60'
start_loop
ok "a has 60 %" host_vgpu a 60
ok "b has 40 %" host_vgpu b 40
host_load a 100
host_load b 100
api PATCH "/v1/vgpus/$uuid_a" '{"held": true, "held_cap_pct": 45}' >/dev/null
ok "both are busy" until_ok 20 that /v1/vgpus '[.vgpus[] | select(.util_pct > 90)] | length == 2'
host_remove a
ok "a removed vGPU is reported as missing" until_ok 20 vgpu_is a '.state == "missing"'
ok "an alert names it" until_ok 20 that /v1/alerts "[.alerts[] | select(.name == \"vgpu_missing\" and .vgpu == \"$uuid_a\")] | length == 1"
is "the contract of a missing vGPU stays" "$(vgpu a .initial_cap_pct)" 60
ok "the loop continues" periods 4
ok "telemetry stays valid, except for late readings" until_ok 20 that /v1/gpus '.gpus[0].telemetry_valid'
ok "b is still busy" until_ok 20 vgpu_is b '.load_pct > 35'
is "b has its cap" "$(host_cap b)" 40
host_again a 60
ok "the new vGPU is found" until_ok 20 vgpu_is a '.state != "missing"'
ok "a vGPU that is created again gets its old cap" until_ok 20 cap_is a 45
is "the vGPU is on hold by the operator, without a foreign write" "$(vgpu a .held) $(decided foreign_write)" "true 0"
ok "the alert is cleared" until_ok 20 that /v1/alerts '[.alerts[] | select(.name == "vgpu_missing")] | length == 0'
finish
