#!/bin/sh
# An external change of a cap between two periods, followed by a request that would overwrite it: the request is refused
# and names the vGPU, the vGPU is put on hold at the new cap, and nothing else changes.
. "$(dirname "$0")/../lib.sh"

period_ms=1500 speed=1
start_sim
for v in a b; do
  api POST /v1/vgpus "{\"id\": \"$v\", \"initial_cap_pct\": 50, \"labels\": {\"workload\": \"idle\"}}" >/dev/null
done
caps() { get /v1/vgpus '[.vgpus[] | "\(.id) \(.cap_pct) \(.held)"] | join(", ")'; }
behind() { # behind VGPU PCT: write a cap externally, more than a second before the next sample
  echo "$2" >"$dir/poke/.new"
  mv "$dir/poke/.new" "$dir/poke/$1.cap"
  until_ok 20 test ! -e "$dir/poke/$1.cap"
}
ok "the cap of a is changed externally" behind a 37
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 20}' >/dev/null
is "a hold that would overwrite it is refused" "$(status)" 409
ok "the error names the vGPU, the old and the new cap" grep -q 'cap of vGPU a was just changed externally from 50 to 37 %' "$dir/body"
is "a is on hold at the new cap, b is unchanged" "$(caps)" "a 37 true, b 50 false"
is "the decisions contain no operator hold" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.vgpu == "a").kind] | join(" ")')" "add foreign_write"
ok "an alert is raised" until_ok 20 that /v1/alerts '[.alerts[] | select(.name == "foreign_write" and .vgpu == "a")] | length == 1'
is "the hold is stored on disk" "$(gojq -c '.vgpus[] | select(.id == "a") | [.held, .held_cap_pct]' "$dir/state/contracts.json")" "[true,37]"

ok "the cap of b is changed externally" behind b 45
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 50}' >/dev/null
is "a request that does not need the cap of b succeeds" "$(status) $(get /v1/vgpus/a .cap_pct)" "200 50"
ok "b is on hold in the next period" until_ok 20 that /v1/vgpus/b '.held and .cap_pct == 45'
api PATCH /v1/vgpus/b '{"held": false}' >/dev/null
ok "the cap of b is changed externally again" behind b 30
ctl vgpu add c --cap 20 >"$dir/out" 2>&1
is "a new vGPU that needs capacity of b is refused" "$?" 1
ok "the error names b" grep -q 'vGPU b was just changed externally from 50 to 30 %' "$dir/out"
is "no vGPU was added" "$(caps)" "a 50 true, b 30 true"
ctl vgpu add c --cap 20 >"$dir/out" 2>&1
is "the same request then gets free capacity" "$? $(caps)" "0 a 50 true, b 30 true, c 20 false"
finish
