#!/bin/sh
# A GPU with little room offers a small flavour only, another GPU offers two flavours at once. One of them is claimed,
# or the offer is withdrawn. A flavour that can no longer be funded is removed from the open offer. A held offer keeps
# its flavours over a crash, also without the history.
. "$(dirname "$0")/../lib.sh"

conf_extra='[policy]
name = static
static_ratio = 1
[offer]
flavor = half
flavor_cap_pct = 50
flavor_target_fps = 60
ttl_s = 600
probation_s = 600
[flavor quarter]
cap_pct = 25
target_fps = 30
offered = on
[flavor hidden]
cap_pct = 12'
sim_conf
printf '[gpu second]\nbackend = sim\nspeed = 10\n' >>"$conf"
start || exit 1
add() { api POST /v1/vgpus "{\"id\": \"$1\", \"gpu\": \"$2\", \"initial_cap_pct\": $3, \"labels\": {\"workload\": \"idle\"}}" >/dev/null; }
open() { printf '.offers[] | select(.state == "open" and .gpu == "%s")' "$1"; }
listed() { get /v1/offers "$(open "$1") | \"\(.flavor): \([.flavors[].flavor] | join(\",\"))\""; }
lists() { [ "$(listed "$1")" = "$2" ]; }
withdraw() { api DELETE "/v1/offers/$(get /v1/offers "$(open "$1") | .id")" >/dev/null; }
metric() { api GET /metrics | grep "^gover_open_offers{gpu=\"$1\",flavor=\"$2\"}" | cut -d ' ' -f 2; }

ok "a GPU with room offers both flavours, the largest leads" until_ok 20 lists second "half: half,quarter"
is "each flavour has its own terms" \
  "$(get /v1/offers "$(open second) | .flavors[] | \"\(.initial_cap_pct) \(.target_fps) \(.fundable_pct)\"" | tr '\n' ' ')" "50 60 50 25 30 25 "
is "the offer has the terms of the leading flavour" \
  "$(get /v1/offers "$(open second) | \"\(.initial_cap_pct) \(.target_fps) \(.fundable_pct)\"")" "50 60 50"
is "it counts for each flavour" "$(metric second half) $(metric second quarter) $(metric second hidden)" "1 1 0"
ok "gover-ctl lists the smaller flavour" sh -c "'$B/gover-ctl' --socket '$sock' offers | grep -q 'quarter 25 %'"

ok "the other GPU, too" until_ok 20 lists gpu0 "half: half,quarter"
add old gpu0 60
ok "a flavour that can no longer be funded is removed" until_ok 20 lists gpu0 "quarter: quarter"
is "the other flavour leads" "$(get /v1/offers "$(open gpu0) | .initial_cap_pct")" 25
claim "$(get /v1/offers "$(open gpu0) | .id")" key-0 new '"flavor": "half"'
is "the removed flavour cannot be claimed" "$(status)" 409
ok "the answer names the flavours" grep -q 'does not list half (allowed: quarter)' "$dir/body"
withdraw gpu0
is "the offer can be withdrawn" "$(status)" 204
ok "a GPU with little room offers the small flavour only" until_ok 20 lists gpu0 "quarter: quarter"

id=$(get /v1/offers "$(open second) | .id")
api POST "/v1/offers/$id/hold" '{"holder": "vm-1", "ttl_s": 600}' >/dev/null
is "an offer of two flavours can be held" "$(status)" 200
stop KILL
rm "$dir"/state/history.db*
start || exit 1
is "after kill -9 and without the history it lists them" "$(get /v1/offers ".offers[] | select(.id == $id) | \"\(.state) \(.held_by) \([.flavors[].flavor] | join(\",\"))\"")" \
  "open vm-1 half,quarter"
periods 8
claim "$id" vm-1 new '"flavor": "hidden"'
is "a flavour that is not offered cannot be claimed" "$(status)" 409
claim "$id" vm-1 new '"flavor": "quarter"'
is "the smaller flavour can be claimed" "$(status) $(gojq -r '.vgpu | "\(.flavor) \(.initial_cap_pct) \(.target_fps) \(.cap_pct)"' "$dir/body")" "200 quarter 25 30 25"
is "the offer has the terms of the sold flavour" "$(gojq -r '.offer | "\(.state) \(.flavor) \(.initial_cap_pct) \([.flavors[].flavor] | join(","))"' "$dir/body")" \
  "probation quarter 25 quarter"
claim "$id" vm-1 new '"flavor": "quarter"'
is "a repeated claim gets the same vGPU" "$(status) $(gojq -r .vgpu.id "$dir/body")" "200 new"
claim "$id" vm-2 other '"flavor": "half"'
is "the other flavour is not sold, too" "$(status) $(get /v1/vgpus '.vgpus | length')" "409 2"
restart KILL
is "after kill -9, the sold flavour is known" "$(get /v1/offers ".offers[] | select(.id == $id) | \"\(.state) \(.flavor) \(.initial_cap_pct)\"")" "probation quarter 25"
id=$(get /v1/offers "$(open gpu0) | .id")
[ "$id" ] || until_ok 20 lists gpu0 "quarter: quarter"
id=$(get /v1/offers "$(open gpu0) | .id")
ok "gover-ctl claims the leading flavour" ctl claim "$id" --id lead
is "without a name" "$(get /v1/vgpus/lead .flavor)" quarter
finish
