#!/bin/sh
# freeze, thaw, drain; policy show and set; alerts and ack: an operator's levers.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
cat >>"$conf" <<EOF2
[gpu gpu1]
backend = sim
speed = 10
EOF2
start || exit 1

ctl freeze >"$dir/out"
is "without a name all GPUs freeze, each said" "$(grep -c '^gpu[01]: frozen' "$dir/out")" 2
is "in the daemon too" "$(get /v1/gpus '[.gpus[].mode] | unique | tostring')" '["frozen"]'
ok "one thaws alone" ctl thaw gpu1
is "the other stays frozen" "$(get /v1/gpus '[.gpus[] | .mode] | tostring')" '["frozen","act"]'
ok "the other too" ctl thaw gpu0
ok "one is drained" ctl drain gpu0
is "it sells no more and acts on" "$(get /v1/gpus '.gpus[0] | [.mode, .selling] | tostring')" '["act","off"]'
ok "thaw sells again" ctl thaw
is "everywhere" "$(get /v1/gpus '[.gpus[].selling] | unique | tostring')" '["on"]'
is "--json is one answer a line" "$(ctl --json freeze | jq -r .name | tr '\n' ' ')" "gpu0 gpu1 "
ctl thaw >/dev/null

ok "the policy is shown with its parameters" sh -c "'$B/gover-ctl' --socket '$sock' policy show | grep -q '^  overload_pct  *95  *95'"
ok "several are set at once" ctl policy set overload_pct=90 paper_mode=on steal_fraction=0.25
is "each of its type" "$(get /v1/policy '.params | [.overload_pct, .paper_mode, .steal_fraction] | tostring')" '[90,true,0.25]'
is "those that differ from the file are marked" "$(ctl policy show | grep -c '^\* ')" 3
ok "one bad value changes nothing" sh -c "! '$B/gover-ctl' --socket '$sock' policy set lowload_pct=50 overload_pct=900"
is "not the good one either" "$(get /v1/policy .params.lowload_pct)" 60
ok "default goes back to the file" ctl policy set overload_pct=default paper_mode= steal_fraction=default
is "nothing is marked" "$(ctl policy show | grep -c '^\* ')" 0

api POST /v1/vgpus '{"id": "a", "gpu": "gpu0", "initial_cap_pct": 50, "target_fps": 60, "labels": {"workload": "busy"}}' >/dev/null
ok "an alert is raised" until_ok 20 alerts 1 fps_missing
id=$(get /v1/alerts '[.alerts[] | select(.name == "fps_missing")][0].id')
ok "it is in the list" sh -c "'$B/gover-ctl' --socket '$sock' alerts | grep -q 'fps_missing'"
ok "it is acknowledged" ctl ack "$id"
ok "and stays, marked" sh -c "'$B/gover-ctl' --socket '$sock' alerts | grep 'fps_missing' | grep -q acknowledged"
ok "the vGPU goes" ctl vgpu remove a
ok "and its alert with it" until_ok 20 alerts 0 fps_missing
ok "--all still tells it" until_ok 20 sh -c "'$B/gover-ctl' --socket '$sock' alerts --all | grep 'fps_missing' | grep -q cleared"
stop
is "a clean stop" "$stopped" 0
finish
