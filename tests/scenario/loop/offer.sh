#!/bin/sh
# With little load an offer is made and claimed. The new vGPU is created, gets cap from the other vGPUs, and is kept
# after the probation. After its contract is removed, its cap returns to the other vGPUs.
. "$(dirname "$0")/../host.sh"

conf_extra="[policy]
fund_window_s = 4
[offer]
flavor_cap_pct = 50
max_vgpus = $(host_room 3)
ttl_s = 60
probation_s = 3"
host_vfs='a:40 b:40 c:19'
start_loop
for vgpu in a b; do
  ok "$vgpu has 50 %" host_vgpu "$vgpu" 50
  host_load "$vgpu" 15
done
# On some hosts all vGPUs exist from the beginning, and an offer can open before they are busy.
ok "both are used" until_ok 30 that /v1/vgpus '[.vgpus[] | select(.load_pct > 10)] | length == 2'
open='[.offers[] | select(.state == "open")]'
ok "an offer is open" until_ok 30 that /v1/offers "$open | length == 1"
ok "a new vGPU is created" host_newcomer c 50
claim() { # a slow machine reads a GPU too late from time to time; then an offer ends and another one opens
  id=$(get /v1/offers "${open}[0].id")
  api POST "/v1/offers/$id/claim" "{\"id\": \"$uuid_c\", \"vm\": \"vm-c\"}" >/dev/null
  [ "$(status)" = 200 ]
}
ok "the offer can be claimed for the vGPU" until_ok 30 claim
is "with the name of its VM" "$(gojq -r '.vgpu.vm' "$dir/body")" vm-c
ok "all caps fit the GPU" until_ok 10 that /v1/gpus '.gpus[0].sum_cap_pct <= 100'
is "the GPU is oversold" "$(get /v1/gpus '.gpus[0].overbooking_ratio')" 1.5
host_load c 10
ok "the new vGPU has at least the promised cap" sh -c "[ $(host_cap c) -ge 10 ]"
is "the scheduler has the caps of the daemon" "$(host_cap a) $(host_cap b) $(host_cap c)" \
  "$(vgpu a .cap_pct) $(vgpu b .cap_pct) $(vgpu c .cap_pct)"
ok "the offer is kept" until_ok 30 that "/v1/offers?all=true" ".offers[] | select(.id == $id) | .state == \"kept\""
host_remove c
ok "after its removal the vGPU is reported as missing" until_ok 20 vgpu_is c '.state == "missing"'
is "its cap stays reserved for its return" "$(get /v1/gpus '.gpus[0].sum_cap_pct <= 90')" true
api DELETE "/v1/vgpus/$uuid_c" >/dev/null
is "a client can end its contract" "$(status)" 204
# The removal interrupted a and b too: they have their last caps, and get the rest of their contracts when they need it.
host_removes_one || {
  host_load a 100
  host_load b 100
}
ok "the cap of a returns to its contract" until_ok 20 cap_is a 50
ok "the cap of b returns to its contract" until_ok 20 cap_is b 50
is "no vGPU is on hold" "$(get /v1/vgpus '[.vgpus[].held] | any')" false
finish
