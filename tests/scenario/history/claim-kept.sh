#!/bin/sh
# A repeated claim is answered with its vGPU: after kill -9 before the history was written, after its probation and a
# restart, and after the loss of the history. A different claim with its key is rejected, and each claim after the
# removal of the vGPU.
. "$(dirname "$0")/../lib.sh"

conf_extra='[policy]
fund_window_s = 2
[offer]
max_vgpus = 2
probation_s = 2'
start_sim
api POST /v1/vgpus '{"id": "a", "initial_cap_pct": 50, "labels": {"workload": "idle"}}' >/dev/null
ok "an offer is made" until_ok 20 that /v1/offers '.offers | length == 1'
id=$(get /v1/offers '.offers[0].id')
state() { get '/v1/offers?all=true' ".offers[] | select(.id == $id) | .state"; }
claim() { # claim KEY VGPU
  curl -sS --unix-socket "$sock" -X POST -H "Idempotency-Key: $1" -H 'Content-Type: application/json' \
    -o "$dir/body" -w '%{http_code}' -d "{\"id\": \"$2\", \"labels\": {\"workload\": \"idle\"}}" \
    "http://gover/v1/offers/$id/claim" >"$dir/status"
}
again() { # again HOW: repeats the claim, and tries claims with another key
  claim key-1 new
  is "$1: the same key returns the same vGPU" "$(status) $(gojq -r '"\(.offer.id) \(.vgpu.id)"' "$dir/body")" "200 $id new"
  claim key-1 other
  is "$1: the same key with another body is rejected" "$(status)" 422
  claim key-2 other
  is "$1: another key is rejected" "$(status)" 409
}

# While the database is locked, the sale cannot be stored.
ok "the history contains the offer" until_ok 10 sh -c \
  "test \"\$(sqlite3 -readonly '$dir/state/history.db' 'SELECT state FROM offer WHERE id = $id')\" = open"
mkfifo "$dir/sql"
sqlite3 "$dir/state/history.db" <"$dir/sql" >"$dir/sql.out" 2>&1 &
exec 3>"$dir/sql"
echo "BEGIN IMMEDIATE; SELECT 'locked';" >&3
ok "the database is locked" until_ok 10 grep -q locked "$dir/sql.out"
claim key-1 new
is "the offer is claimed" "$(status) $(gojq -r .vgpu.id "$dir/body")" "200 new"
stop KILL
echo "ROLLBACK;" >&3
exec 3>&-
wait
is "the history does not contain the claim" \
  "$(sqlite3 -readonly "$dir/state/history.db" "SELECT state, vgpu FROM offer WHERE id = $id")" 'open|'
start || exit 1
again "after kill -9"
ok "the probation continues to its end" until_ok 20 that '/v1/offers?all=true' ".offers[] | select(.id == $id) | .state == \"kept\""
again "kept"
restart
again "kept, and after a restart"
is "the sale remains kept" "$(state)" kept
stop
rm "$dir"/state/history.db*
start || exit 1
again "after the history is lost"
is "one vGPU was sold" "$(get /v1/vgpus '[.vgpus[].id] | join(" ")')" "a new"
api DELETE /v1/vgpus/new >/dev/null
for how in "the removal" "the removal and a restart"; do
  claim key-1 new
  is "after $how the claim is rejected" "$(status) $(gojq -r .detail "$dir/body")" \
    "410 Idempotency-Key: vGPU new, which was sold with key key-1, was removed (use a new key to sell it again)"
  is "after $how nothing is sold" "$(get /v1/vgpus '[.vgpus[].id] | join(" ")')" a
  restart KILL
done
finish
