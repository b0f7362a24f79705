#!/bin/sh
# If the contracts file cannot be written, a request is answered with 507 and changes nothing, and an alert reports the
# file. A hold after an external change is written as soon as possible.
. "$(dirname "$0")/../lib.sh"

start_sim
unsaved='[.alerts[] | select(.name == "contracts_unsaved")]'
on_disk() { gojq -e ".vgpus | map(.id) | index(\"$1\") != null" "$dir/state/contracts.json" >/dev/null; }
sell a 50
is "a contract is created" "$(status)" 201
mkdir "$dir/state/contracts.json.new" # blocks the next write, for root too
sell b 20
is "a contract that cannot be written" "$(status)" 507
ok "the detail names the file" gojq -e '.status == 507 and (.detail | contains("contracts.json cannot be written"))' "$dir/body"
is "the vGPU does not exist" "$(get /v1/vgpus/b .status)" 404
ok "an alert names the file" until_ok 10 that /v1/alerts "$unsaved | length == 1 and (.[0].text | contains(\"contracts.json\"))"
ok "the old file is intact" on_disk a
is "the failure is logged once" "$(grep -c 'contracts.json: cannot be written' "$dir/log")" 1
api PATCH /v1/vgpus/a '{"target_fps": 30}' >/dev/null
is "a change that cannot be written" "$(status) $(get /v1/vgpus/a .target_fps)" "507 0"
echo 33 >"$dir/poke/a.cap"
ok "an external change puts the vGPU on hold" until_ok 10 that /v1/vgpus/a '.held and .cap_pct == 33'
rmdir "$dir/state/contracts.json.new"
ok "the hold is written once the disk works" until_ok 10 gojq -e '.vgpus[0].held_cap_pct == 33' "$dir/state/contracts.json"
ok "the alert clears" until_ok 10 alerts 0 contracts_unsaved
sell b 20
is "a change is possible again" "$(status)" 201
restart KILL
is "nothing is lost by a restart" "$(get /v1/vgpus '[.vgpus[] | "\(.id) \(.held)"] | join(", ")')" "a true, b false"
finish
