#!/bin/sh
# A hold on an observed or frozen GPU applies at once. The policy still does not act.
. "$(dirname "$0")/../lib.sh"

conf_extra=$unfunded
start_sim
sell a 80 idle
sell b 50 idle
ctl vgpu hold b >/dev/null
load b busy
is "b is held and overloaded" "$(get /v1/vgpus/b '"\(.held) \(.cap_pct)"')" "true 20"
cap=50
for mode in frozen observe; do
  api PATCH /v1/gpus/gpu0 "{\"mode\": \"$mode\"}" >/dev/null
  api PATCH /v1/vgpus/a "{\"held\": true, \"held_cap_pct\": $cap}" >/dev/null
  is "$mode: a hold is accepted" "$(status)" 200
  is "$mode: the hold applies" "$(get /v1/vgpus/a '"\(.held) \(.cap_pct)"')" "true $cap"
  is "$mode: the cap is written" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "hold" and .moves != [])][-1].result')" written
  api PATCH /v1/vgpus/b '{"held": false}' >/dev/null
  ok "$mode: six periods pass" periods 6
  ok "$mode: the daemon's own write is no external change" alerts 0 foreign_write
  is "$mode: b receives nothing" "$(get /v1/vgpus/b .cap_pct)" 20
  cap=40
done
ctl thaw >/dev/null
ok "act: the policy gives the free cap to b" until_ok 10 that /v1/vgpus/b '.cap_pct == 50'
is "a is held at its cap" "$(get /v1/vgpus/a .cap_pct)" 40
finish
