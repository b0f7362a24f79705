#!/bin/sh
# A vGPU above the overload threshold for three periods gets one fifth of the unused cap of the lightest vGPU. In the
# end the cap of this vGPU equals its contract, and the caps in the scheduler equal those in the daemon.
. "$(dirname "$0")/../host.sh"

# A new vGPU gets exactly the free cap, also on a slow machine.
conf_extra='[policy]
fund_fraction = 0
[offer]
max_vgpus = 2'
host_vfs='a:80 b:20'
start_loop
ok "a has 80 %, all of its contract" host_vgpu a 80
host_load a 10
ok "b has 20 % of its 50 %" host_vgpu b 20 50
host_load b 100
ok "a steal is decided" until_ok 30 sh -c "curl -sS --unix-socket '$sock' http://gover/v1/decisions |
  gojq -e '[.decisions[] | select(.kind == \"steal\")] | length > 0'"
steal=$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "steal")][0]')
is "from the lightest vGPU to the overloaded one" "$(echo "$steal" | gojq -r '.vgpu + " " + .donor')" "$uuid_b $uuid_a"
is "the caps are written and read back" \
  "$(echo "$steal" | gojq -r '.result + " " + ([.moves[] | .to_pct == .read_back_pct] | all | tostring)')" "written true"
is "the sum of the moves is 0" "$(echo "$steal" | gojq '[.moves[] | .to_pct - .from_pct] | add')" 0
ok "the move is one fifth of the unused cap" sh -c "echo '$steal' | gojq -e '[.moves[] | .to_pct - .from_pct] | max | . >= 12 and . <= 15'"
ok "b rises to its contract" until_ok 40 cap_is b 50
is "a has the rest" "$(host_cap a)" 50
is "the daemon reports the same caps" "$(vgpu a .cap_pct) $(vgpu b .cap_pct)" "50 50"
ok "b uses its new cap" until_ok 20 vgpu_is b '.load_pct > 45'
ok "its contract is the limit then, and an alert reports it" \
  until_ok 20 that /v1/alerts '[.alerts[] | select(.name == "contract_limit")] | length == 1'
is "no vGPU is on hold" "$(get /v1/vgpus '[.vgpus[].held] | any')" false
stop
is "a clean stop" "$stopped" 0
host_ok "it does not change the caps" cap_is b 50
finish
