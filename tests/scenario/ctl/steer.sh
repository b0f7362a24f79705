#!/bin/sh
# Tests the verbs freeze, thaw, drain, policy show, policy set, alerts and ack.
. "$(dirname "$0")/../lib.sh"

sim_conf
cat >>"$conf" <<EOF2
[gpu gpu1]
backend = sim
speed = 10
sharing = hard
EOF2
start || exit 1

ctl freeze >"$dir/out"
is "without a name all GPUs freeze, one line each" "$(grep -c '^gpu[01]: frozen' "$dir/out")" 2
is "all GPUs are frozen in the daemon" "$(get /v1/gpus '[.gpus[].mode] | unique | tostring')" '["frozen"]'
ok "status shows that nothing is sold, and why" sh -c "'$B/gover-ctl' --socket '$sock' status | grep -q '^nothing is sold: GPU gpu0 is in mode frozen'"
is "the setting stays" "$(get /v1/gpus '[.gpus[].selling] | unique | tostring')" '["on"]'
ok "one GPU is thawed" ctl thaw gpu1
is "the other GPU stays frozen" "$(get /v1/gpus '[.gpus[] | .mode] | tostring')" '["frozen","act"]'
ok "the other is thawed" ctl thaw gpu0
ok "one GPU is drained" ctl drain gpu0
is "a drained GPU does not sell, and its caps still change" "$(get /v1/gpus '.gpus[0] | [.mode, .selling] | tostring')" '["act","off"]'
ok "thaw resumes selling" ctl thaw
is "on all GPUs" "$(get /v1/gpus '[.gpus[].selling] | unique | tostring')" '["on"]'
is "--json prints one reply per line" "$(ctl --json freeze | gojq -r .name | tr '\n' ' ')" "gpu0 gpu1 "
ctl thaw >/dev/null

ok "policy show prints the parameters" sh -c "'$B/gover-ctl' --socket '$sock' policy show | grep -q '^  overload_pct  *95  *95'"
ok "policy set changes several" ctl policy set overload_pct=90 paper_mode=on steal_fraction=0.25
is "each with its type" "$(get /v1/policy '.params | [.overload_pct, .paper_mode, .steal_fraction] | tostring')" '[90,true,0.25]'
is "parameters that differ from the file are marked" "$(ctl policy show | grep -c '^\* ')" 3
ok "a bad value is rejected" sh -c "! '$B/gover-ctl' --socket '$sock' policy set lowload_pct=50 overload_pct=900"
is "a rejected command changes nothing" "$(get /v1/policy .params.lowload_pct)" 60
ok "default restores the values of the file" ctl policy set overload_pct=default paper_mode= steal_fraction=default
is "nothing is marked" "$(ctl policy show | grep -c '^\* ')" 0

api POST /v1/vgpus '{"id": "a", "gpu": "gpu0", "initial_cap_pct": 50, "target_fps": 60, "labels": {"workload": "busy"}}' >/dev/null
ok "an alert is raised" until_ok 20 alerts 1 fps_missing
id=$(get /v1/alerts '[.alerts[] | select(.name == "fps_missing")][0].id')
ok "the list has it" sh -c "'$B/gover-ctl' --socket '$sock' alerts | grep -q 'fps_missing'"
ok "the alert is acknowledged" ctl ack "$id"
ok "the alert stays in the list as acknowledged" sh -c "'$B/gover-ctl' --socket '$sock' alerts | grep 'fps_missing' | grep -q acknowledged"
ok "the vGPU is removed" ctl vgpu remove a
ok "the alert is cleared" until_ok 20 alerts 0 fps_missing
ok "--all still lists it" until_ok 20 sh -c "'$B/gover-ctl' --socket '$sock' alerts --all | grep 'fps_missing' | grep -q cleared"
finish
