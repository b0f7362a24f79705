#!/bin/sh
# A vGPU that vanishes keeps its contract, is told by name, and the others go on.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
for v in a b; do
  sell "$v" 50 load:pct=20
done
: >"$dir/poke/a.gone"
ok "it is told missing" until_ok 20 that /v1/vgpus/a '.state == "missing"'
ok "an alert names it" until_ok 20 alerts 1 vgpu_missing a
is "its contract stands" "$(get /v1/vgpus/a .initial_cap_pct)" 50
ok "the loop goes on" periods 5
ok "b is still sampled" that /v1/vgpus/b '.load_pct != null'
ok "the contract is on disk too" jq -e '[.vgpus[].id] | index("a") != null' "$dir/state/contracts.json"
api DELETE /v1/vgpus/a >/dev/null
is "a client may remove what is gone" "$(status)" 204
stop
finish
