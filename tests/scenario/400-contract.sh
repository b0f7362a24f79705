#!/bin/sh
# The life of a contract from the command line: made, seen, changed, held, released, ended; each step says what it
# did, and the daemon has it so.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra='[flavor small]
cap_pct = 20
target_fps = 30
price_per_cap_hour = 2'
sim_conf
start || exit 1

says() { # says "text" PART command...: the command succeeds and prints PART
  text=$1 part=$2
  shift 2
  # shellcheck disable=SC2016 # expanded by the inner shell
  ok "$text" sh -c '"$@" | grep -F -q -e "$0"' "$part" "$B/gover-ctl" --socket "$sock" "$@"
}

says "an empty host says so" "No vGPU is under contract" vgpu list
says "a contract is made" "added: web1 (vm db-7) on gpu0: cap 50 % of 50 % sold" \
  vgpu add web1 --cap 50 --target-fps 60 --vm db-7 --label tenant=x --label workload=idle --min-cap 5 --weight 2
is "with what was asked for" \
  "$(get /v1/vgpus/web1 '[.initial_cap_pct, .target_fps, .vm, .labels.tenant, .min_cap_pct, .weight, .burst] | tostring')" \
  '[50,60,"db-7","x",5,2,false]'
says "it is in the list" "web1 gpu0 db-7" vgpu list
says "of its GPU too" "web1 gpu0" vgpu list --gpu gpu0
says "and shown whole" "under contract since" vgpu show web1
says "the host at a glance names it" "web1" status
row() { ctl vgpu show web1 | sed -n "s/^$1  *//p"; }
is "its floor is the contract's" "$(row 'floor, %')" 5
ctl vgpu set web1 --min-cap 0 >/dev/null
ctl policy set cap_floor_pct=3 >/dev/null
is "where that says none, the policy's" "$(row 'floor, %')" 3
ctl policy set cap_floor_pct=default >/dev/null

says "a change says the new terms" "of 60 % sold" vgpu set web1 --cap 60
says "the cap sold has a second name" "of 55 % sold" vgpu set web1 --initial-cap 55
says "labels are put over those that stand" "changed:" vgpu set web1 --label tenant= --label rack=7 --burst
is "one went, one came, the others stay" \
  "$(get /v1/vgpus/web1 '[.labels.tenant, .labels.rack, .labels.workload, .burst] | tostring')" '[null,"7","idle",true]'
says "burst is taken back" "changed:" vgpu set web1 --no-burst
is "and is gone" "$(get /v1/vgpus/web1 .burst)" false

says "a hold fixes the cap" "held" vgpu hold web1 --cap 30
is "in the daemon too" "$(get /v1/vgpus/web1 '[.held, .cap_pct] | tostring')" '[true,30]'
says "the list notes it" "held" vgpu list
says "a release ends it" "released: web1" vgpu release web1
is "in the daemon too" "$(get /v1/vgpus/web1 .held)" false
says "why tells the hold" "hold" why web1
says "and decisions can be asked for one vGPU" "web1" decisions --vgpu web1 --limit 5

ctl --json vgpu show web1 >"$dir/show.json"
api GET /v1/vgpus/web1 >"$dir/rest.json"
is "--json is the REST answer" "$(jq -r '[.id, .created_at] | tostring' <"$dir/show.json")" \
  "$(jq -r '[.id, .created_at] | tostring' <"$dir/rest.json")"
ok "--json may follow the verb" sh -c "'$B/gover-ctl' --socket '$sock' status --json | jq -e '.vgpus[0].id == \"web1\"'"
ok "the socket may come from the environment" env "GOVER_SOCKET=$sock" "$B/gover-ctl" status

is "it is of the flavour on sale" "$(row flavour)" default
says "another prices it from now on" "of 55 % sold" vgpu set web1 --flavor small
is "and is shown" "$(row flavour)" small
ok "one there is none of is refused" sh -c "'$B/gover-ctl' --socket '$sock' vgpu set web1 --flavor huge 2>&1 |
  grep -q 'huge is not allowed: there is default, small'"
says "a flavour says the cap that is sold" "of 20 % sold" vgpu add web2 --flavor small
is "and the target" "$(get /v1/vgpus/web2 '[.flavor, .target_fps] | tostring')" '["small",30]'
stop
start || exit 1
is "over a restart it is kept" "$(get /v1/vgpus/web2 .flavor)" small
ctl vgpu remove web2 >/dev/null

says "a contract is ended" "removed: web1" vgpu remove web1
is "the daemon has it no more" "$(get /v1/vgpus '.vgpus | length')" 0
stop
is "a clean stop" "$stopped" 0
finish
