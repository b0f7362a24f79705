#!/bin/sh
# The life of a contract from the command line: add, show, change, hold, release, remove. Each step prints what it did,
# and the daemon has the new state.
. "$(dirname "$0")/../lib.sh"

conf_extra='[flavor small]
cap_pct = 20
target_fps = 30
price_per_cap_hour = 2'
start_sim

prints() { # prints "text" PART command...: the command succeeds and prints PART
  text=$1 part=$2
  shift 2
  # shellcheck disable=SC2016 # expanded by the inner shell
  ok "$text" sh -c '"$@" | grep -F -q -e "$0"' "$part" "$B/gover-ctl" --socket "$sock" "$@"
}

prints "an empty host has no vGPUs" "No vGPUs" vgpu list
prints "a contract is added" "added: web1 (vm db-7) on gpu0: cap 50 %, sold 50 %" \
  vgpu add web1 --cap 50 --target-fps 60 --vm db-7 --label tenant=x --label workload=idle --min-cap 5 --weight 2
is "the contract has the values of the options" \
  "$(get /v1/vgpus/web1 '[.initial_cap_pct, .target_fps, .vm, .labels.tenant, .min_cap_pct, .weight, .burst] | tostring')" \
  '[50,60,"db-7","x",5,2,false]'
prints "the wide list has it" "web1 gpu0 db-7" vgpu list -o wide
prints "the list of its GPU has it" "web1 " vgpu list --gpu gpu0
prints "show prints all fields" "fps socket" vgpu show web1
prints "status has it" "web1" status
row() { ctl vgpu show web1 | sed -n "s/^$1  *//p"; }
is "the floor is that of the contract" "$(row 'floor, %')" 5
ctl vgpu set web1 --min-cap 0 >/dev/null
ctl policy set cap_floor_pct=3 >/dev/null
is "a vGPU without a floor has the floor of the policy" "$(row 'floor, %')" 3
ctl policy set cap_floor_pct=default >/dev/null

prints "a change prints the new contract" "sold 60 %" vgpu set web1 --cap 60
prints "--initial-cap is the same as --cap" "sold 55 %" vgpu set web1 --initial-cap 55
prints "labels are merged" "changed:" vgpu set web1 --label tenant= --label rack=7 --burst
is "one label is removed, one is added, the others stay" \
  "$(get /v1/vgpus/web1 '[.labels.tenant, .labels.rack, .labels.workload, .burst] | tostring')" '[null,"7","idle",true]'
prints "burst is turned off" "changed:" vgpu set web1 --no-burst
is "the daemon has burst off" "$(get /v1/vgpus/web1 .burst)" false

prints "a hold fixes the cap" "held" vgpu hold web1 --cap 30
is "the daemon has the hold and the cap" "$(get /v1/vgpus/web1 '[.held, .cap_pct] | tostring')" '[true,30]'
prints "the list shows the hold" "held" vgpu list
prints "a release ends it" "released: web1" vgpu release web1
is "the daemon has no hold" "$(get /v1/vgpus/web1 .held)" false
prints "why shows the hold" "hold" why web1
prints "decisions can be filtered by vGPU" "web1" decisions --vgpu web1 --limit 5

ctl --json vgpu show web1 >"$dir/show.json"
api GET /v1/vgpus/web1 >"$dir/rest.json"
is "--json prints the REST reply" "$(gojq -r '[.id, .created_at] | tostring' <"$dir/show.json")" \
  "$(gojq -r '[.id, .created_at] | tostring' <"$dir/rest.json")"
ok "--json may follow the verb" sh -c "'$B/gover-ctl' --socket '$sock' status --json | gojq -e '.vgpus[0].id == \"web1\"'"
ok "the socket may come from the environment" env "GOVER_SOCKET=$sock" "$B/gover-ctl" status

is "a vGPU without a flavour has the default one" "$(row flavour)" default
prints "the flavour can be changed" "sold 55 %" vgpu set web1 --flavor small
is "show prints it" "$(row flavour)" small
ok "an unknown flavour is rejected" sh -c "'$B/gover-ctl' --socket '$sock' vgpu set web1 --flavor huge 2>&1 |
  grep -q 'huge is not allowed (allowed: default, small)'"
prints "a flavour sets the sold cap" "sold 20 %" vgpu add web2 --flavor small
is "the daemon has the flavour and its target" "$(get /v1/vgpus/web2 '[.flavor, .target_fps] | tostring')" '["small",30]'
restart
is "a restart keeps the flavour" "$(get /v1/vgpus/web2 .flavor)" small
ctl vgpu remove web2 >/dev/null

prints "a contract is removed" "removed: web1" vgpu remove web1
is "the daemon has none" "$(get /v1/vgpus '.vgpus | length')" 0
finish
