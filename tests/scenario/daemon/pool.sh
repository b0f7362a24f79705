#!/bin/sh
# Receivers get free cap before any steal, each in proportion to the cap that it needs. Capacity freed by a removed vGPU
# returns to the vGPUs below their contract; the rest is free.
. "$(dirname "$0")/../lib.sh"

conf_extra='[policy]
overload_pct = 80
fund_window_s = 2
[offer]
max_vgpus = 3'
start_sim
caps() { get /v1/vgpus '[.vgpus[] | "\(.id) \(.cap_pct)"] | join(", ")'; }
sell a 50 idle
sell b 35 idle
sell c 15 idle
is "all contracts are in force" "$(caps)" "a 50, b 35, c 15"
# The GPU is frozen, so that the cap taken from vGPUs a and b stays free.
ctl freeze >/dev/null
for v in a:20 b:15; do ctl vgpu hold "${v%:*}" --cap "${v#*:}" >/dev/null; done
for v in a b; do
  ctl vgpu release "$v" >/dev/null
  load "$v" busy
done
is "half of the GPU is free" "$(caps) $(get /v1/gpus '.gpus[0].free_pct')" "a 20, b 15, c 15 50"
ok "two vGPUs are overloaded" until_ok 20 that /v1/vgpus '[.vgpus[] | select(.overloaded).id] == ["a", "b"]'
id=$(get '/v1/decisions?limit=1' '.decisions[0].id')
ctl thaw >/dev/null
ok "cap is given from the free pool" until_ok 20 that "/v1/decisions?after=$id" '[.decisions[] | select(.kind == "pool")] | length > 0'
is "both receivers get the cap that they need" "$(get "/v1/decisions?after=$id" \
  '[.decisions[] | select(.kind == "pool")][0] | .moves | map("\(.vgpu) \(.from_pct) \(.to_pct) \(.read_back_pct)") | join(", ")')" \
  "a 20 50 50, b 15 35 35"
is "no steal and no severe warning is made" "$(get "/v1/decisions?after=$id" \
  '[.decisions[] | select(.kind == "steal" or .kind == "severe")] | length')" 0
is "the cap of c does not change" "$(get /v1/vgpus/c .cap_pct)" 15

# The contracts exceed the GPU, so the free cap is too small for both vGPUs.
ctl freeze >/dev/null
for v in a b; do ctl vgpu hold "$v" --cap 10 >/dev/null; done
ctl vgpu set a --initial-cap 90 >/dev/null
ctl vgpu set b --initial-cap 50 >/dev/null
for v in a b; do ctl vgpu release "$v" >/dev/null; done
ok "both are overloaded again" until_ok 20 that /v1/vgpus '[.vgpus[] | select(.overloaded).id] == ["a", "b"]'
id=$(get '/v1/decisions?limit=1' '.decisions[0].id')
ctl thaw >/dev/null
ok "cap is given from the free pool again" until_ok 20 that "/v1/decisions?after=$id" '[.decisions[] | select(.kind == "pool")] | length > 0'
is "65 % is divided in proportion to 80 and 40" "$(get "/v1/decisions?after=$id" \
  '[.decisions[] | select(.kind == "pool")][0] | .moves | map("\(.vgpu) \(.to_pct)") | join(", ")')" "a 53, b 32"
ok "two overloaded vGPUs without a free pool are a severe overload" until_ok 20 that "/v1/alerts" \
  '[.alerts[] | select(.name == "severe_overload")] | length == 1'
is "the caps do not change" "$(caps)" "a 53, b 32, c 15"

api DELETE /v1/vgpus/c >/dev/null
is "c is removed" "$(status)" 204
is "its 15 % is divided in proportion" "$(caps)" "a 63, b 37"
is "the decision states the freed cap" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "return")][-1] | "\(.result) \(.numbers.given_pct)"')" "written 15"
api DELETE /v1/vgpus/a >/dev/null
is "when a is removed, b gets its contract and the rest is free" "$(caps) $(get /v1/gpus '.gpus[0].free_pct')" "b 50 50"
finish
