#!/bin/sh
# A vGPU that stays above the overload line for three periods wins one fifth of what the lightest leaves unused,
# in the very tick of the third breach; the sum of the caps does not change.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

# Tight: the receiver is a customer of 50 % who was given 20, the donor leaves most of its 80 unused.
period_ms=500 speed=2
conf_extra="$unfunded
[offer]
max_vgpus = 2"
sim_conf
start || exit 1
sell a 80 load:pct=10
is "a contract is made" "$(status)" 201
sell b 50 idle
is "a second one begins with what is free" "$(get /v1/vgpus/b .cap_pct)" 20
load b busy
is "its load is changed by a label" "$(status)" 200

ok "a steal is decided" until_ok 15 that /v1/decisions '[.decisions[] | select(.kind == "steal")] | length > 0'
steal=$(get /v1/decisions '[.decisions[] | select(.kind == "steal")][0]')
is "it goes to the overloaded one" "$(echo "$steal" | jq -r .vgpu)" b
is "from the lightest" "$(echo "$steal" | jq -r .donor)" a
is "and was written" "$(echo "$steal" | jq -r .result)" written
is "what one gives the other gets" "$(echo "$steal" | jq '[.moves[] | .to_pct - .from_pct] | add')" 0
ok "it is one fifth of the unused cap, in whole steps" \
  sh -c "echo '$steal' | jq -e '[.moves[] | select(.vgpu == \"b\") | .to_pct - .from_pct][0] | . >= 13 and . <= 14'"
ok "the sentence names both" sh -c "echo '$steal' | jq -e '.why | contains(\"a\") and contains(\"b\")'"
ok "the cap read back is the cap decided" \
  sh -c "echo '$steal' | jq -e '[.moves[] | .to_pct == .read_back_pct] | all'"
is "the caps still add up to 100" "$(get /v1/gpus '.gpus[0].sum_cap_pct')" 100

# The tick of the third breach: the samples in the history say which it was. A late tick, or one below, begins anew.
ok "the history has the samples" until_ok 10 recorded "SELECT * FROM decision WHERE kind = 'steal'"
breaches=$(history "
  WITH b AS (SELECT s.* FROM sample s JOIN vgpu v ON v.num = s.vgpu
    WHERE v.id = 'b' AND s.ts_ms <= (SELECT min(ts_ms) FROM decision WHERE kind = 'steal'))
  SELECT count(*) FROM b
  WHERE ts_ms > (SELECT max(ts_ms) FROM b WHERE gap OR util_pct IS NULL OR util_pct <= 95)")
is "three samples above the line stand before the steal, the third with its own time stamp" "$breaches" 3
ok "why b tells the steal" sh -c "'$B/gover-ctl' --socket '$sock' why b | grep -qi steal"
ok "b rises to its contract and no further" until_ok 40 that /v1/vgpus/b '.cap_pct == 50'
ok "then its contract is the limit, and an alert says so" until_ok 20 alerts 1 contract_limit b
stop
is "a clean stop" "$stopped" 0
finish
