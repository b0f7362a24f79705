#!/bin/sh
# Another program locks the database: the loop goes on, an alert says so and clears, and no record is lost.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
failing='[.alerts[] | select(.name == "history_failing")]'
ok "a history is written" until_ok 10 that /v1/host '.history.written > 0'
mkfifo "$dir/sql"
sqlite3 "$dir/state/history.db" <"$dir/sql" >"$dir/sql.out" 2>&1 &
exec 3>"$dir/sql"
echo "BEGIN IMMEDIATE; SELECT 'locked';" >&3
ok "somebody locks it" until_ok 10 grep -q locked "$dir/sql.out"
ok "an alert says so" until_ok 20 that /v1/alerts "$failing | length == 1"
ok "the loop goes on" periods 5
api POST /v1/vgpus '{"id": "a", "initial_cap_pct": 50}' >/dev/null
is "and sells" "$(status)" 201
echo "ROLLBACK;" >&3
exec 3>&-
ok "unlocked: the alert clears" until_ok 20 that /v1/alerts "$failing | length == 0"
is "nothing was lost" "$(get /v1/host .history.dropped)" 0
ok "what happened meanwhile is in it" until_ok 10 sh -c \
  "sqlite3 -readonly '$dir/state/history.db' \"SELECT kind FROM decision WHERE vgpu = 'a'\" | grep -q add"
stop
finish
