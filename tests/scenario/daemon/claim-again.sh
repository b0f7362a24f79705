#!/bin/sh
# A claim that is repeated after a restart returns the same vGPU. A claim with another body, another key, another client's
# key, or no key is rejected.
. "$(dirname "$0")/../lib.sh"

conf_extra='[policy]
fund_window_s = 2
[offer]
max_vgpus = 2
probation_s = 600'
tcp
start_sim
token robot operate
sell a 50 idle
ok "an offer is made" until_ok 20 that /v1/offers '.offers | length == 1'
id=$(get /v1/offers '.offers[0].id')
claim "$id" key-1 new
is "the offer is claimed" "$(status) $(gojq -r .vgpu.id "$dir/body")" "200 new"
claim "$id" key-1 new '"vm": "other"'
is "another body is rejected" "$(status)" 422
restart KILL
claim "$id" key-1 new
is "the same key returns the same vGPU" "$(status) $(gojq -r .vgpu.id "$dir/body")" "200 new"
claim "$id" key-1 new '"vm": "other"'
is "another body is rejected after a restart" "$(status)" 422
claim "$id" key-2 other
is "another key is rejected" "$(status)" 409
curl -sS -H "@$dir/robot.header" -H 'Idempotency-Key: key-1' -H 'Content-Type: application/json' \
  -o "$dir/body" -w '%{http_code}' -d '{"id": "new"}' "$url/v1/offers/$id/claim" >"$dir/status"
is "another client's key is rejected" "$(status)" 409
claim "$id" '' new
is "no key is rejected" "$(status)" 409
is "one vGPU was sold" "$(get /v1/vgpus '[.vgpus[].id] | join(" ")')" "a new"
is "gover-ctl repeats the claim" "$(ctl claim "$id" --id new --key key-1 | cut -d: -f1)" claimed
api DELETE /v1/vgpus/new >/dev/null
ctl claim "$id" --id new --key key-1 >"$dir/claim" 2>&1
is "after the removal gover-ctl fails" $? 1
ok "and names the vGPU and the key" grep -q "vGPU new, which was sold with key key-1, was removed" "$dir/claim"
ctl --json claim "$id" --id new --key key-1 >"$dir/claim" 2>&1
is "its JSON has the status" "$(gojq .error.status "$dir/claim")" 410
finish
