#!/bin/sh
# A contract with burst may pass what was sold while nobody else wants it; without, what was sold is the limit. Taken
# back, the cap comes under the contract at once.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra='[policy]
overload_pct = 80
[offer]
max_vgpus = 2'
sim_conf
start || exit 1
sell a 30 busy
sell b 40 load:pct=5
ok "without burst the contract is the limit" until_ok 20 alerts 1 contract_limit a
is "though there is a pool" "$(get /v1/vgpus/a .cap_pct) $(get /v1/gpus '.gpus[0].free_pct')" "30 30"
ctl vgpu set a --burst >/dev/null
ok "with burst it gets the pool" until_ok 20 that '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "pool" and .vgpu == "a")] | length == 1'
ok "and then what b does not use" until_ok 20 that /v1/vgpus/a '.cap_pct > 70'
ok "no limit is told any more" until_ok 20 alerts 0 contract_limit a
is "all caps together are the GPU" "$(get /v1/gpus '.gpus[0].sum_cap_pct')" 100
is "what was sold is still that" "$(get /v1/gpus '.gpus[0].sum_initial_cap_pct')" 70
ctl vgpu set a --no-burst >/dev/null
is "taken back: what was sold, and b has its own again" "$(get /v1/vgpus '[.vgpus[] | "\(.id) \(.cap_pct)"] | join(", ")')" "a 30, b 40"
ok "the decision says why" that '/v1/decisions?limit=1000' \
  '[.decisions[] | select(.kind == "set" and .moves != [])][-1] | .vgpu == "a" and .result == "written" and (.why | contains("contract of a allows 1 to 30 %"))'
ok "the limit is told again" until_ok 20 alerts 1 contract_limit a
stop
finish
