#!/bin/sh
# A changed contract changes caps only if necessary, and the decision names the contract. A dry run creates, removes
# and saves nothing.
. "$(dirname "$0")/../lib.sh"

conf_extra='[offer]
max_vgpus = 2'
start_sim
caps() { get /v1/vgpus '[.vgpus[] | "\(.id) \(.cap_pct)"] | join(", ")'; }
since() { get "/v1/decisions?after=$id" '[.decisions[] | "\(.kind) \(.result)"] | join(", ")'; }
mark() { id=$(get '/v1/decisions?limit=1' '.decisions[0].id'); }
change() { # change ID BODY
  mark
  api PATCH "/v1/vgpus/$1" "$2" >/dev/null
}
sell a 60 idle
sell b 40 idle
ctl freeze >/dev/null
change a '{"held": true, "held_cap_pct": 20}'
change a '{"held": false}'
ctl thaw >/dev/null
is "a third of the GPU is free" "$(caps) $(get /v1/gpus '.gpus[0].free_pct')" "a 20, b 40 40"
change a '{"labels": {"workload": "idle", "customer": "7"}, "vm": "vm-a", "target_fps": 30}'
is "a change that needs no other cap moves none" "$(caps) - $(since)" "a 20, b 40 - set noted"
change a '{"initial_cap_pct": 70}'
is "a larger contract is filled from the free pool" "$(caps) - $(since)" "a 60, b 40 - set noted, return written"
change a '{"initial_cap_pct": 50}'
is "a smaller contract reduces its cap" "$(caps) - $(since)" "a 50, b 40 - set noted, set written"
change b '{"initial_cap_pct": 80, "min_cap_pct": 70}'
is "a larger floor is funded by the others" "$(caps) - $(since)" "a 30, b 70 - set noted, set written"
ok "the reason names the contract" that "/v1/decisions?after=$id" \
  '.decisions[-1].why | contains("new contract of b allows caps from 70 to 80 %") and contains("a 50 -> 30 %") and (contains("perator") | not)'
change a '{"min_cap_pct": 40}'
ok "a floor that does not fit is rejected with the largest that fits" grep -q 'largest that fits: 30 %' "$dir/body"
is "a rejected change changes nothing" "$(status) $(caps) - $(since)" "409 a 30, b 70 - "
change a '{"held_cap_pct": 20}'
is "held_cap_pct without held is rejected" "$(status) $(since)" "422 "
change a '{}'
is "a change without effect makes no decision" "$(status) $(since)" "200 "
stop

cp "$dir/state/contracts.json" "$dir/before"
start --dry-run || exit 1
sell c 10
is "a dry run creates no vGPU" "$(status)" 409
ok "the answer names the dry run" grep -q 'dry run' "$dir/body"
api DELETE /v1/vgpus/a >/dev/null
is "a dry run removes no vGPU" "$(status)" 409
change a '{"target_fps": 25}'
is "a dry run answers changes at once" "$(status) $(gojq -r .target_fps "$dir/body")" "200 25"
stop
ok "a dry run writes nothing to disk" cmp "$dir/before" "$dir/state/contracts.json"
finish
