#!/bin/sh
# Somebody else writes a cap between two periods, and before the next one a request comes that would write over it: it
# is refused by name, that vGPU goes on hold where the other put it, and nothing else has changed.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

period_ms=1500 speed=1
sim_conf
start || exit 1
for v in a b; do
  api POST /v1/vgpus "{\"id\": \"$v\", \"initial_cap_pct\": 50, \"labels\": {\"workload\": \"idle\"}}" >/dev/null
done
caps() { get /v1/vgpus '[.vgpus[] | "\(.id) \(.cap_pct) \(.held)"] | join(", ")'; }
behind() { # behind VGPU PCT: seen by no sample yet; the next is more than a second off
  echo "$2" >"$dir/poke/.new"
  mv "$dir/poke/.new" "$dir/poke/$1.cap"
  until_ok 20 test ! -e "$dir/poke/$1.cap"
}
ok "somebody writes the cap of a" behind a 37
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 20}' >/dev/null
is "a hold that would write over it is refused" "$(status)" 409
ok "and says whose cap was changed from what to what" grep -q 'cap of vGPU a was changed from 50 to 37 % by somebody else' "$dir/body"
is "a is on hold where the other put it, b as it was" "$(caps)" "a 37 true, b 50 false"
is "no hold of an operator is told" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.vgpu == "a").kind] | join(" ")')" "add foreign_write"
ok "an alert says so" until_ok 20 that /v1/alerts '[.alerts[] | select(.name == "foreign_write" and .vgpu == "a")] | length == 1'
is "and on disk it is held too" "$(jq -c '.vgpus[] | select(.id == "a") | [.held, .held_cap_pct]' "$dir/state/contracts.json")" "[true,37]"

ok "somebody writes the cap of b" behind b 45
api PATCH /v1/vgpus/a '{"held": true, "held_cap_pct": 50}' >/dev/null
is "what needs no cap of b is done" "$(status) $(get /v1/vgpus/a .cap_pct)" "200 50"
ok "b is on hold at the next period" until_ok 20 that /v1/vgpus/b '.held and .cap_pct == 45'
api PATCH /v1/vgpus/b '{"held": false}' >/dev/null
ok "somebody writes the cap of b again" behind b 30
ctl vgpu add c --cap 20 >"$dir/out" 2>&1
is "b gives nothing to a newcomer" "$?" 1
ok "and is named" grep -q 'vGPU b was changed from 50 to 30 %' "$dir/out"
is "there is no newcomer" "$(caps)" "a 50 true, b 30 true"
ctl vgpu add c --cap 20 >"$dir/out" 2>&1
is "asked again, it gets what is free now" "$? $(caps)" "0 a 50 true, b 30 true, c 20 false"
stop
finish
