#!/bin/sh
# Who is above the overload line for three periods wins one fifth of what the lightest leaves unused; in the end it has
# what was sold to it, and what the scheduler has in force is what the daemon says.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/scenario/host.sh
. "$(dirname "$0")/host.sh"

# A newcomer has what is free, however much the machine dawdles until it comes.
conf_extra='[policy]
fund_fraction = 0
[offer]
max_vgpus = 2'
host_setup
loop_conf
start || exit 1
ok "a has 80 %, all of its contract" host_vgpu a 80
host_load a 10
ok "b has 20 % of its 50 %" host_vgpu b 20 50
host_load b 100
ok "a steal is decided" until_ok 30 sh -c "curl -sS --unix-socket '$sock' http://gover/v1/decisions |
  jq -e '[.decisions[] | select(.kind == \"steal\")] | length > 0'"
steal=$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "steal")][0]')
is "it goes to the overloaded one, from the lightest" "$(echo "$steal" | jq -r '.vgpu + " " + .donor')" "$uuid_b $uuid_a"
is "it was written, and read back as written" \
  "$(echo "$steal" | jq -r '.result + " " + ([.moves[] | .to_pct == .read_back_pct] | all | tostring)')" "written true"
is "what one gives the other gets" "$(echo "$steal" | jq '[.moves[] | .to_pct - .from_pct] | add')" 0
ok "a fifth of the unused, in whole steps" sh -c "echo '$steal' | jq -e '[.moves[] | .to_pct - .from_pct] | max | . >= 12 and . <= 15'"
ok "b rises to its contract" until_ok 40 cap_is b 50
is "and a has the rest" "$(host_cap a)" 50
is "that is what the daemon says too" "$(vgpu a .cap_pct) $(vgpu b .cap_pct)" "50 50"
ok "b uses what it was given" until_ok 20 vgpu_is b '.load_pct > 45'
ok "then its contract is the limit, and an alert says so" \
  until_ok 20 that /v1/alerts '[.alerts[] | select(.name == "contract_limit")] | length == 1'
is "nobody was put on hold" "$(get /v1/vgpus '[.vgpus[].held] | any')" false
stop
is "a clean stop" "$stopped" 0
host_ok "which changes no cap" cap_is b 50
finish
