#!/bin/sh
# A held offer does not expire, only its holder can claim it, and it survives kill -9, also without the history. When the
# hold ends, the offer expires. Each change of a hold is an event.
. "$(dirname "$0")/../lib.sh"

conf_extra='[policy]
fund_window_s = 2
[offer]
flavor_cap_pct = 50
ttl_s = 3
max_vgpus = 3'
start_sim
for v in a b; do sell $v 50 idle; done
open='[.offers[] | select(.state == "open")]'
hold() { # hold HOLDER SECONDS
  api POST "/v1/offers/$id/hold" "{\"holder\": \"$1\", \"ttl_s\": $2}" >"$dir/body"
}
state() { get '/v1/offers?all=true' ".offers[] | select(.id == $id) | .state"; }
expired() { [ "$(state)" = expired ]; }
is_lapsed() { get /v1/offers ".offers[] | select(.id == $id) | .held_by" | grep -qx null || [ "$(state)" = expired ]; }

"$B/gover-ctl" --socket "$sock" watch --kinds offer >"$dir/watched" 2>/dev/null &
watch=$!
cleanup="kill $watch 2>/dev/null; $cleanup"
ok "a GPU makes an offer, which is not held" until_ok 20 \
  that /v1/offers "$open | map([.held_by, .held_until]) == [[null, null]]"
# Again with the next offer if this one expires first.
hold_open() {
  id=$(get /v1/offers "${open}[0].id")
  hold vm-1 600
  [ "$(status) $(gojq -r .held_by "$dir/body")" = "200 vm-1" ]
}
ok "an offer can be held" until_ok 20 hold_open
ok "it does not expire before the hold ends" gojq -e '.expires_at >= .held_until' "$dir/body"
hold vm-2 5
is "another holder is rejected" "$(status)" 409
ok "with the name of the holder" grep -q "held by vm-1" "$dir/body"
hold vm-1 1
is "a repeated hold is not shorter" "$(status) $(get /v1/offers ".offers[0] | (.held_until | sub(\"\\\\.[0-9]*Z\";\"Z\") | fromdate) - now > 500")" "200 true"
ok "gover-ctl shows the holder" sh -c "'$B/gover-ctl' --socket '$sock' offers | grep -q vm-1"
ok "the hold is an event" until_ok 10 grep -q "held by vm-1" "$dir/watched"
claim "$id" vm-2 new '"labels": {"workload": "idle"}'
is "a claim with another key is rejected" "$(status)" 409
claim "$id" "" new '"labels": {"workload": "idle"}'
is "a claim without a key is rejected" "$(status)" 409
periods 5
is "the offer outlives its own time" "$(state)" open

restart KILL
is "after kill -9 the offer is open and held" "$(get /v1/offers ".offers[] | select(.id == $id) | \"\(.state) \(.held_by)\"")" "open vm-1"
claim "$id" vm-2 new '"labels": {"workload": "idle"}'
is "and another key is rejected" "$(status)" 409
stop KILL
rm "$dir"/state/history.db*
start || exit 1
is "without the history, too" "$(get /v1/offers ".offers[] | select(.id == $id) | \"\(.state) \(.held_by) \(.flavor)\"")" "open vm-1 default"
periods 8
is "the offer stays open" "$(state)" open
claim "$id" vm-1 new '"labels": {"workload": "idle"}'
is "the holder claims it" "$(status) $(gojq -r .vgpu.id "$dir/body")" "200 new"
is "a claim ends the hold" "$(gojq -r .offer.held_by "$dir/body")" null
api DELETE /v1/vgpus/new >/dev/null
restart KILL
is "the hold does not return after the vGPU was removed" "$(get /v1/offers '[.offers[] | select(.held_by)] | length')" 0

ok "a GPU makes another offer" until_ok 20 that /v1/offers "$open | length == 1"
id=$(get /v1/offers "${open}[0].id")
hold vm-3 4
ok "a hold ends after its time" until_ok 20 is_lapsed
ok "and the offer expires" until_ok 20 expired
ok "a GPU makes an offer again" until_ok 20 that /v1/offers "$open | length == 1"
id=$(get /v1/offers "${open}[0].id")
hold vm-4 600
api DELETE "/v1/offers/$id" >/dev/null
is "a held offer can be withdrawn" "$(status)" 204
is "the reason names the holder" "$(get '/v1/offers?all=true' ".offers[] | select(.id == $id) | .reason")" \
  "withdrawn by a client while it was held by vm-4"
finish
