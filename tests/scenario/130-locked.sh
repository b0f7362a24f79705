#!/bin/sh
# Another program locks the database: the loop goes on, an alert says so and clears, and no record is lost.
# shellcheck source=tests/scenario/lib.sh
. "$(dirname "$0")/lib.sh"

sim_conf
start || exit 1
ok "a history is written" until_ok 10 that /v1/host '.history.written > 0'
mkfifo "$dir/sql"
sqlite3 "$dir/state/history.db" <"$dir/sql" >"$dir/sql.out" 2>&1 &
exec 3>"$dir/sql"
echo "BEGIN IMMEDIATE; SELECT 'locked';" >&3
ok "somebody locks it" until_ok 10 grep -q locked "$dir/sql.out"
sell a 50
is "a vGPU is sold" "$(status)" 201
ok "an alert says so" until_ok 20 alerts 1 history_failing
ok "the loop goes on" periods 5
echo "ROLLBACK;" >&3
exec 3>&-
ok "unlocked: the alert clears" until_ok 20 alerts 0 history_failing
is "nothing was lost" "$(get /v1/host .history.dropped)" 0
ok "what happened meanwhile is in it" until_ok 10 recorded "SELECT * FROM decision WHERE vgpu = 'a' AND kind = 'add'"
stop
finish
