#!/bin/sh
# Contracts that cannot be written: in force, told to the client and by an alert, and written as soon as they can be.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
unsaved='[.alerts[] | select(.name == "contracts_unsaved")]'
on_disk() { jq -e ".vgpus | map(.id) | index(\"$1\") != null" "$dir/state/contracts.json" >/dev/null; }
sell a 50
is "a contract is made" "$(status)" 201
mkdir "$dir/state/contracts.json.new" # where the next file is written, for root too
sell b 20
is "one that cannot be put on disk" "$(status)" 507
ok "says so" jq -e '.status == 507 and (.detail | contains("not on disk"))' "$dir/body"
is "is in force" "$(get /v1/vgpus/b .cap_pct)" 20
ok "an alert names the file" until_ok 10 that /v1/alerts "$unsaved | length == 1 and (.[0].text | contains(\"contracts.json\"))"
ok "the old file stands whole" on_disk a
is "the log tells it once" "$(grep -c 'Failed to write' "$dir/log")" 1
api PATCH /v1/vgpus/a '{"target_fps": 30}' >/dev/null
is "a change is told likewise" "$(status)" 507
rmdir "$dir/state/contracts.json.new"
ok "it can be written again: it is" until_ok 10 on_disk b
ok "with the change" jq -e '.vgpus[] | select(.id == "a") | .target_fps == 30' "$dir/state/contracts.json"
ok "and the alert clears" until_ok 10 alerts 0 contracts_unsaved
stop KILL
start || exit 1
is "nothing is lost over a restart" "$(get /v1/vgpus '[.vgpus[] | "\(.id) \(.target_fps)"] | join(", ")')" "a 30, b 0"
stop

# The caps file is on a full disk.
rm "$dir/state/caps"
ln -s /dev/full "$dir/state/caps"
start || exit 1
api POST /v1/vgpus '{"id": "c", "initial_cap_pct": 10}' >/dev/null
is "a vGPU whose cap cannot be stored" "$(status)" 507
ok "the detail names the cause" jq -e '.detail | contains("No space left on device")' "$dir/body"
is "is not created" "$(get /v1/vgpus '[.vgpus[].id] | join(" ")')" "a b"
stop
finish
