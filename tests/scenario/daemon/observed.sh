#!/bin/sh
# A decision that is repeated each period without being applied is logged once a minute.
. "$(dirname "$0")/../lib.sh"

conf_extra=$unfunded
start_sim
sell a 80 load:pct=10
sell b 50 idle
api PATCH /v1/gpus/gpu0 '{"mode": "observe"}' >/dev/null
load b busy # only in mode observe, because three busy periods cause a steal
steals='[.decisions[] | select(.kind == "steal" and .result == "observed")]'
ok "a steal is observed" until_ok 20 that '/v1/decisions?limit=1000' "$steals | length > 0"
ok "the demand continues" periods 16
ok "b is still overloaded" until_ok 10 that /v1/vgpus/b .overloaded
is "the decision is recorded once" "$(get '/v1/decisions?limit=1000' "$steals | length")" 1
is "the decision is logged once" "$(grep -c '^gover-d: steal' "$dir/log")" 1
is "nothing is written" "$(get /v1/vgpus/b '"\(.cap_pct) \(.cap_writes)"')" "20 0"
finish
