#!/bin/sh
# A claim that is sent again because its answer was lost in a restart of the daemon gives the same newcomer, and no
# other; who comes with another key, or none, is refused as before.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra='[policy]
fund_window_s = 2
[offer]
max_vgpus = 2
probation_s = 600'
sim_conf
start || exit 1
api POST /v1/vgpus '{"id": "a", "initial_cap_pct": 50, "labels": {"workload": "idle"}}' >/dev/null
ok "an offer" until_ok 20 that /v1/offers '.offers | length == 1'
id=$(get /v1/offers '.offers[0].id')
claim() { # claim KEY VGPU
  curl -sS --unix-socket "$sock" -X POST ${1:+-H "Idempotency-Key: $1"} -H 'Content-Type: application/json' \
    -o "$dir/body" -w '%{http_code}' -d "{\"id\": \"$2\"}" "http://gover/v1/offers/$id/claim" >"$dir/status"
}
claim key-1 new
is "is sold" "$(status) $(jq -r .vgpu.id "$dir/body")" "200 new"
ok "the history knows by which key" until_ok 10 sh -c \
  "test \"\$(sqlite3 -readonly '$dir/state/history.db' 'SELECT claim_key FROM offer WHERE id = $id')\" = key-1"
stop KILL
start || exit 1
claim key-1 new
is "the same key again: the same newcomer" "$(status) $(jq -r .vgpu.id "$dir/body")" "200 new"
claim key-2 other
is "another key is refused" "$(status)" 409
claim '' new
is "no key too" "$(status)" 409
is "one was sold" "$(get /v1/vgpus '[.vgpus[].id] | join(" ")')" "a new"
stop
finish
