#!/bin/sh
# A vGPU that disappears keeps its contract, raises an alert, and does not affect the other vGPUs.
. "$(dirname "$0")/../lib.sh"

start_sim
for v in a b; do
  sell "$v" 50 load:pct=20
done
: >"$dir/poke/a.gone"
ok "the vGPU has the state missing" until_ok 20 that /v1/vgpus/a '.state == "missing"'
ok "an alert names it" until_ok 20 alerts 1 vgpu_missing a
is "the contract of a missing vGPU remains" "$(get /v1/vgpus/a .initial_cap_pct)" 50
ok "the loop continues" periods 5
ok "the other vGPU is still sampled" that /v1/vgpus/b '.load_pct != null'
ok "the contract is still on disk" gojq -e '[.vgpus[].id] | index("a") != null' "$dir/state/contracts.json"
api DELETE /v1/vgpus/a >/dev/null
is "a client can remove the missing vGPU" "$(status)" 204
finish
