#!/bin/sh
# kill -9 and a restart: contracts, holds, caps, GPU modes and changed settings are restored, and the log reports what
# was restored. The simulated vGPUs end with the daemon and are created again; softgpu/restart.sh tests vGPUs that remain.
. "$(dirname "$0")/../lib.sh"

conf_extra="$unfunded
[offer]
max_vgpus = 2"
start_sim
api POST /v1/vgpus '{"id": "a", "initial_cap_pct": 80, "vm": "vm-a", "target_fps": 30, "labels": {"workload": "load:pct=10", "customer": "7"}}' >/dev/null
sell b 50 busy
ok "a steal changes the caps" until_ok 20 that /v1/vgpus/b '.cap_pct > 25'
api PATCH /v1/vgpus/a '{"held": true}' >/dev/null
api PATCH /v1/gpus/gpu0 '{"selling": "off"}' >/dev/null
is "GPU settings are accepted" "$(status)" 200
api PATCH /v1/policy '{"overload_pct": 90}' >/dev/null
is "a parameter is changed" "$(status)" 200
ok "the change is written to the database" until_ok 10 recorded "SELECT * FROM setting WHERE value = 90"
caps=$(get /v1/vgpus '[.vgpus[].cap_pct] | sort | join(" ")')
last=$(get '/v1/decisions?limit=1' '.decisions[-1].id')
stop KILL
is "the daemon is killed" "$stopped" 137
start || exit 1
is "caps are restored" "$(get /v1/vgpus '[.vgpus[].cap_pct] | sort | join(" ")')" "$caps"
is "contracts are restored" "$(get /v1/vgpus/a '"\(.initial_cap_pct) \(.target_fps) \(.vm) \(.labels.customer) \(.held)"')" "80 30 vm-a 7 true"
is "no vGPU is put on hold" "$(get /v1/vgpus/b .held)" false
is "selling is still off" "$(get /v1/gpus '.gpus[0].selling')" off
is "the changed parameter is restored" "$(get /v1/policy '.params.overload_pct')" 90
is "the changed parameter is marked" "$(get /v1/policy '.differs | join(" ")')" overload_pct
ok "ids of decisions continue" that '/v1/decisions?limit=1' ".decisions[-1].id > $last"
ok "the log lists the adopted vGPUs" grep -q "vGPU a did not exist and was created again\|vGPU a was adopted" "$dir/log"
finish
