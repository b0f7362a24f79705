#!/bin/sh
# A claim that is sent again because its answer was lost in a restart of the daemon gives the same newcomer, and no
# other; who comes with another key, with that of another, or with none, is refused as before.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra='[policy]
fund_window_s = 2
[offer]
max_vgpus = 2
probation_s = 600'
tcp
sim_conf
start || exit 1
token robot operate
sell a 50 idle
ok "an offer" until_ok 20 that /v1/offers '.offers | length == 1'
id=$(get /v1/offers '.offers[0].id')
claim "$id" key-1 new
is "is sold" "$(status) $(jq -r .vgpu.id "$dir/body")" "200 new"
ok "the history knows by which key" until_ok 10 recorded "SELECT * FROM offer WHERE id = $id AND claim_key LIKE '% key-1'"
stop KILL
start || exit 1
claim "$id" key-1 new
is "the same key again: the same newcomer" "$(status) $(jq -r .vgpu.id "$dir/body")" "200 new"
claim "$id" key-2 other
is "another key is refused" "$(status)" 409
curl -sS -H "@$dir/robot.header" -H 'Idempotency-Key: key-1' -H 'Content-Type: application/json' \
  -o "$dir/body" -w '%{http_code}' -d '{"id": "new"}' "$url/v1/offers/$id/claim" >"$dir/status"
is "the key is his who claimed it" "$(status)" 409
claim "$id" '' new
is "no key too" "$(status)" 409
is "one was sold" "$(get /v1/vgpus '[.vgpus[].id] | join(" ")')" "a new"
stop
finish
