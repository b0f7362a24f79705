#!/bin/sh
# What is decided again in every period and not acted on is told once a minute, not once a period.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra=$unfunded
sim_conf
start || exit 1
sell a 80 load:pct=10
sell b 50 idle
api PATCH /v1/gpus/gpu0 '{"mode": "observe"}' >/dev/null
load b busy # not before: three periods may be over soon
steals='[.decisions[] | select(.kind == "steal" and .result == "observed")]'
ok "a steal is observed" until_ok 20 that '/v1/decisions?limit=1000' "$steals | length > 0"
ok "b goes on wanting it" periods 16
ok "and would be served" until_ok 10 that /v1/vgpus/b .overloaded
is "it is told once" "$(get '/v1/decisions?limit=1000' "$steals | length")" 1
is "once in the log too" "$(grep -c '^gover-d: steal' "$dir/log")" 1
is "nothing was written" "$(get /v1/vgpus/b '"\(.cap_pct) \(.cap_writes)"')" "20 0"
stop
finish
