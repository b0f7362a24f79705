#!/bin/sh
# A hold on a GPU that is observed or frozen is in force at once, as everywhere; what the policy would do is not done.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra=$unfunded
sim_conf
start || exit 1
sell a 80 idle
sell b 50 idle
ctl vgpu hold b >/dev/null
load b busy
is "b is held and hungry" "$(get /v1/vgpus/b '"\(.held) \(.cap_pct)"')" "true 20"
cap=50
for mode in frozen observe; do
  api PATCH /v1/gpus/gpu0 "{\"mode\": \"$mode\"}" >/dev/null
  api PATCH /v1/vgpus/a "{\"held\": true, \"held_cap_pct\": $cap}" >/dev/null
  is "$mode: a hold is accepted" "$(status)" 200
  is "$mode: and in force" "$(get /v1/vgpus/a '"\(.held) \(.cap_pct)"')" "true $cap"
  is "$mode: it was written" "$(get '/v1/decisions?limit=1000' '[.decisions[] | select(.kind == "hold" and .moves != [])][-1].result')" written
  api PATCH /v1/vgpus/b '{"held": false}' >/dev/null
  ok "$mode: some periods later" periods 6
  ok "$mode: our own write is nobody else's" alerts 0 foreign_write
  is "$mode: and b got nothing of it" "$(get /v1/vgpus/b .cap_pct)" 20
  cap=40
done
ctl thaw >/dev/null
ok "act: now the policy gives it what is free" until_ok 10 that /v1/vgpus/b '.cap_pct == 50'
is "and a is held where it was told" "$(get /v1/vgpus/a .cap_pct)" 40
stop
finish
