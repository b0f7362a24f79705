#!/bin/sh
# A vGPU above the overload threshold for three periods receives one fifth of the unused cap of the lightest vGPU,
# in the tick of the third breach. The sum of the caps does not change.
. "$(dirname "$0")/../lib.sh"

# The receiver bought 50 % but starts with the free 20 %. The donor uses little of its 80 %.
period_ms=500 speed=2
conf_extra="$unfunded
[offer]
max_vgpus = 2"
start_sim
sell a 80 load:pct=10
is "a contract is created" "$(status)" 201
sell b 50 idle
is "the second vGPU begins with the free cap" "$(get /v1/vgpus/b .cap_pct)" 20
load b busy
is "a label changes the load" "$(status)" 200

ok "a steal is decided" until_ok 15 that /v1/decisions '[.decisions[] | select(.kind == "steal")] | length > 0'
steal=$(get /v1/decisions '[.decisions[] | select(.kind == "steal")][0]')
is "the overloaded vGPU receives" "$(echo "$steal" | gojq -r .vgpu)" b
is "the lightest vGPU gives" "$(echo "$steal" | gojq -r .donor)" a
is "the decision is written" "$(echo "$steal" | gojq -r .result)" written
is "donor and receiver change by the same amount" "$(echo "$steal" | gojq '[.moves[] | .to_pct - .from_pct] | add')" 0
ok "the move is one fifth of the unused cap, in whole steps" \
  sh -c "echo '$steal' | gojq -e '[.moves[] | select(.vgpu == \"b\") | .to_pct - .from_pct][0] | . >= 13 and . <= 14'"
ok "the reason names both vGPUs" sh -c "echo '$steal' | gojq -e '.why | contains(\"a\") and contains(\"b\")'"
ok "the cap read back is the decided cap" \
  sh -c "echo '$steal' | gojq -e '[.moves[] | .to_pct == .read_back_pct] | all'"
is "the caps still add up to 100" "$(get /v1/gpus '.gpus[0].sum_cap_pct')" 100

# Find the tick of the third breach in the samples. A late tick, or a sample below the threshold, restarts the count.
ok "the history contains the decision" until_ok 10 recorded "SELECT * FROM decision WHERE kind = 'steal'"
breaches=$(history "
  WITH b AS (SELECT s.* FROM sample s JOIN vgpu v ON v.num = s.vgpu
    WHERE v.id = 'b' AND s.ts_ms <= (SELECT min(ts_ms) FROM decision WHERE kind = 'steal'))
  SELECT count(*) FROM b
  WHERE ts_ms > (SELECT max(ts_ms) FROM b WHERE gap OR util_pct IS NULL OR util_pct <= 95)")
is "the three samples up to the steal are above the threshold" "$breaches" 3
ok "gover-ctl why b prints the steal" sh -c "'$B/gover-ctl' --socket '$sock' why b | grep -qi steal"
ok "b rises to its contract and not above" until_ok 40 that /v1/vgpus/b '.cap_pct == 50'
ok "at its contract, the alert contract_limit is raised" until_ok 20 alerts 1 contract_limit b
finish
