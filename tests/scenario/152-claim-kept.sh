#!/bin/sh
# A claim is answered for as long as its vGPU stands: after kill -9 before the history heard of it, after its probation
# and a restart, and after the history is lost.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

conf_extra='[policy]
fund_window_s = 2
[offer]
max_vgpus = 2
probation_s = 2'
sim_conf
start || exit 1
api POST /v1/vgpus '{"id": "a", "initial_cap_pct": 50, "labels": {"workload": "idle"}}' >/dev/null
ok "an offer" until_ok 20 that /v1/offers '.offers | length == 1'
id=$(get /v1/offers '.offers[0].id')
state() { get '/v1/offers?all=true' ".offers[] | select(.id == $id) | .state"; }
claim() { # claim KEY VGPU
  curl -sS --unix-socket "$sock" -X POST -H "Idempotency-Key: $1" -H 'Content-Type: application/json' \
    -o "$dir/body" -w '%{http_code}' -d "{\"id\": \"$2\", \"labels\": {\"workload\": \"idle\"}}" \
    "http://gover/v1/offers/$id/claim" >"$dir/status"
}
again() { # again HOW: the claim is told again, and another comes
  claim key-1 new
  is "$1: the same key is the same newcomer" "$(status) $(jq -r '"\(.offer.id) \(.vgpu.id)"' "$dir/body")" "200 $id new"
  claim key-2 other
  is "another key is refused" "$(status)" 409
}

# Somebody locks the database: the sale cannot reach it.
ok "the history has the offer" until_ok 10 sh -c \
  "test \"\$(sqlite3 -readonly '$dir/state/history.db' 'SELECT state FROM offer WHERE id = $id')\" = open"
mkfifo "$dir/sql"
sqlite3 "$dir/state/history.db" <"$dir/sql" >"$dir/sql.out" 2>&1 &
exec 3>"$dir/sql"
echo "BEGIN IMMEDIATE; SELECT 'locked';" >&3
ok "its database is locked" until_ok 10 grep -q locked "$dir/sql.out"
claim key-1 new
is "it is sold" "$(status) $(jq -r .vgpu.id "$dir/body")" "200 new"
stop KILL
echo "ROLLBACK;" >&3
exec 3>&-
wait
is "and the history has not heard of it" \
  "$(sqlite3 -readonly "$dir/state/history.db" "SELECT state, claim_key FROM offer WHERE id = $id")" 'open|'
start || exit 1
again "after kill -9"
ok "its probation goes on to the end" until_ok 20 that '/v1/offers?all=true' ".offers[] | select(.id == $id) | .state == \"kept\""
again "kept"
stop
start || exit 1
again "kept, and after a restart"
is "kept it stays" "$(state)" kept
stop
rm "$dir"/state/history.db*
start || exit 1
again "after the history is lost"
is "one was sold" "$(get /v1/vgpus '[.vgpus[].id] | join(" ")')" "a new"
api DELETE /v1/vgpus/new >/dev/null
claim key-1 new
is "removed: the claim is known, the vGPU is gone" "$(status) $(jq -r .vgpu "$dir/body")" "200 null"
stop
finish
