#!/bin/sh
# The cap of a vGPU with burst can exceed the sold cap if capacity is unused. Without burst, the sold cap is the
# limit. When burst is removed, the cap returns to the contract at once.
. "$(dirname "$0")/../lib.sh"

conf_extra='[policy]
overload_pct = 80
[offer]
max_vgpus = 2'
start_sim
sell a 30 busy
sell b 40 load:pct=5
ok "without burst the contract is the limit" until_ok 20 alerts 1 contract_limit a
is "without burst a vGPU gets nothing from the pool" "$(get /v1/vgpus/a .cap_pct) $(get /v1/gpus '.gpus[0].free_pct')" "30 30"
ctl vgpu set a --burst >/dev/null
ok "with burst a vGPU gets the pool" until_ok 20 that '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "pool" and .vgpu == "a")] | length == 1'
ok "with burst a vGPU gets unused cap of b" until_ok 20 that /v1/vgpus/a '.cap_pct > 70'
ok "contract_limit clears" until_ok 20 alerts 0 contract_limit a
is "the caps add up to 100" "$(get /v1/gpus '.gpus[0].sum_cap_pct')" 100
is "the sum of the sold caps does not change" "$(get /v1/gpus '.gpus[0].sum_initial_cap_pct')" 70
ctl vgpu set a --no-burst >/dev/null
is "without burst again, both have their contracts" "$(get /v1/vgpus '[.vgpus[] | "\(.id) \(.cap_pct)"] | join(", ")')" "a 30, b 40"
ok "the decision has a reason" that '/v1/decisions?limit=1000' \
  '[.decisions[] | select(.kind == "set" and .moves != [])][-1] | .vgpu == "a" and .result == "written" and (.why | contains("new contract of a allows caps from 1 to 30 %"))'
ok "contract_limit is raised again" until_ok 20 alerts 1 contract_limit a
finish
